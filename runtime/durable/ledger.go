package durable

import (
	"context"
	"encoding/base64"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A ledger contains what an execution knows about the steps of its run outside groups, or about
// the steps of one unit of a group. The mutex of the execution protects it.
type ledger struct {
	called   map[string]storage.Status // unfinished steps that were called
	finished map[string]*finishedStep  // steps that were read ahead or executed
	pending  map[string]bool           // unfinished steps that were read ahead
	complete bool                      // finished and pending contain all recorded steps
	names    map[string]bool           // escaped names of steps that may be recorded
	size     int                       // the size of finished, in bytes
	limit    int                       // the maximum of size

	// Calls read these fields without the mutex.
	unrecorded atomic.Pointer[[]*genapi.StepPolicy] // policies whose steps have no record and no flight
	firsts     atomic.Int64                         // the number of first attempts of a unit without a flight

	// A run may have a million finished steps. These fields are allocated in blocks for many
	// steps.
	steps    []finishedStep
	text     []byte
	function string // the function of the last step that was added
}

func newLedger(limit int) *ledger {
	return &ledger{
		called: map[string]storage.Status{}, finished: map[string]*finishedStep{}, pending: map[string]bool{},
		names: map[string]bool{}, limit: limit,
	}
}

// readAhead is the maximum size, in bytes, of the finished steps that an execution keeps in
// memory. It is sufficient for a million steps with small results. A unit keeps less.
const (
	readAhead     = 256 << 20
	unitReadAhead = 1 << 20
)

// load reads the finished steps of the run in advance, except those of the units of groups, so
// that each call of a finished step does not require a read of the store. If a newer version
// has written a step, load halts the execution before it calls anything, because only the newer
// version knows what the step means for the run.
func (x *execution) load(ctx context.Context) error {
	err := x.readSteps(ctx)
	if errors.Is(err, storage.ErrFormat) {
		x.halt(err)
		return nil
	}
	return err
}

func (x *execution) readSteps(ctx context.Context) error {
	x.steps.complete = true
	q := storage.Query{Kind: storage.KindStep, Space: x.e.ns.Space, Run: x.id}
	q.BeforeID = record.InGroups
	if err := x.e.readAhead(ctx, q, x.steps); err != nil {
		return err
	}
	q.FromID, q.BeforeID = record.AfterGroups, ""
	return x.e.readAhead(ctx, q, x.steps)
}

// readAhead adds the steps that q selects to a ledger that no other goroutine uses yet.
func (e *Engine) readAhead(ctx context.Context, q storage.Query, l *ledger) error {
	q.Brief = true
	name := ""
	err := e.eachAhead(ctx, q, func(r storage.Record) error {
		if n := record.StepName(r.Key.ID); n != name {
			name = n
			l.names[name] = true
		}
		if f, ok := l.scan(&r); ok {
			return l.keep(r.Key.ID, f)
		}
		body, err := record.Decode[record.Step](r)
		if err != nil {
			return err
		}
		if !record.Finished(r.Status) {
			l.pending[r.Key.ID] = true
			return nil
		}
		return l.keep(r.Key.ID, finishedOf(r.Status, &body))
	})
	if errors.Is(err, errFull) {
		return nil
	}
	return err
}

// eachAhead does the same as Each, for a query with many records. While it calls f for the
// records of one page, it reads the next page.
func (e *Engine) eachAhead(ctx context.Context, q storage.Query, f func(storage.Record) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	records, from, err := e.ns.Store.List(ctx, q)
	for {
		if err != nil {
			return err
		}
		page := records
		if q.From = from; from != "" {
			reading.Go(func() { records, from, err = e.ns.Store.List(ctx, q) })
		}
		for _, r := range page {
			if err := f(r); err != nil {
				return err
			}
		}
		if q.From == "" {
			return nil
		}
		reading.Wait()
	}
}

// The parts of a body that [ledger.scan] finds.
const (
	scanFunction = iota
	scanArguments
	scanImported
	scanJSON
	scanBytes
)

var stepShape = record.ShapeOf(
	reflect.TypeFor[record.Step](), "", "function", "arguments", "imported", "result.json", "result.bytes",
)

// scan does the same as open and finishedOf, for steps that have succeeded and whose bodies
// have the usual form. It does not retain r, because most of the body is not needed.
func (l *ledger) scan(r *storage.Record) (f finishedStep, ok bool) {
	if r.Status != storage.StatusSucceeded {
		return f, false
	}
	found, ok := stepShape.Scan(r.Body)
	if !ok {
		return f, false
	}
	switch json, bytes := found[scanJSON], found[scanBytes]; {
	case json != nil:
		f.result = append(l.room(len(json)), json...)
	case bytes != nil:
		var err error
		room := l.room(base64.StdEncoding.DecodedLen(len(bytes)))
		if f.result, err = base64.StdEncoding.AppendDecode(room, bytes); err != nil {
			return f, false
		}
	default:
		return f, false
	}
	if l.function != string(found[scanFunction]) {
		l.function = string(found[scanFunction])
	}
	f.status, f.imported, f.function = r.Status, string(found[scanImported]) == "true", l.function
	f.arguments = append(l.room(len(found[scanArguments])), found[scanArguments]...)
	return f, true
}

// room returns an empty slice with capacity n. Small slices share an array.
func (l *ledger) room(n int) []byte {
	if n > len(l.text) {
		l.text = make([]byte, max(n, min(l.size, 64<<10)))
	}
	part := l.text[:0:n]
	l.text = l.text[n:]
	return part
}

var errFull = errors.New("no room")

// keep adds a finished step, if there is room.
func (l *ledger) keep(id string, f finishedStep) error {
	if l.size += len(id) + f.size(); l.size > l.limit {
		l.complete = false
		return errFull
	}
	if len(l.steps) == cap(l.steps) {
		l.steps = make([]finishedStep, 0, min(len(l.finished)+1, 256))
	}
	l.steps = append(l.steps, f)
	l.finished[id] = &l.steps[len(l.steps)-1]
	return nil
}

// A finishedStep is what an execution keeps of a finished step. For successful steps, of which
// a run may have very many, it is small.
type finishedStep struct {
	status    storage.Status
	imported  bool
	returned  bool         // to a caller in this execution
	function  string       // record.Step.Function
	arguments []byte       // the digest of the arguments
	result    []byte       // as written by the codec
	body      *record.Step // nil if result is sufficient
}

// finishedOf returns the finishedStep for the body of a step.
func finishedOf(s storage.Status, body *record.Step) finishedStep {
	f := finishedStep{
		status: s, imported: body.Imported, function: body.Function, arguments: []byte(body.Arguments),
	}
	if r := body.Result; s == storage.StatusSucceeded && r != nil && r.Data() != nil {
		f.result = r.Data()
		return f
	}
	kept := *body
	f.body = &kept
	return f
}

// succeeded reports whether the step has a result for its callers.
func (f *finishedStep) succeeded() bool {
	return f.status == storage.StatusSucceeded && (f.body == nil || f.body.Result == nil || f.body.Result.Refuse == "")
}

// size returns the approximate size of f, in bytes, with its entry in a map.
func (f *finishedStep) size() int {
	const entry, failure = 130, 500
	n := entry + len(f.arguments) + len(f.result)
	if f.body != nil {
		n += failure
		if e := f.body.Error; e != nil {
			n += len(e.Text)
		}
	}
	return n
}

// isComplete reports whether every recorded step is in the ledger.
func (x *execution) isComplete(l *ledger) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return l.complete
}

// knowsUnfinished reports whether a step is known to have an unfinished record.
func (x *execution) knowsUnfinished(c *stepCall) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return c.ledger.pending[c.key.ID] || c.ledger.called[c.key.ID] != 0
}

// knowsAny reports whether the execution knows a record of one of the given steps. If the
// ledger is complete, it knows all of them.
func (x *execution) knowsAny(l *ledger, ids []string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		if _, ok := l.finished[id]; ok || l.pending[id] || l.called[id] != 0 || x.flights[id] != nil {
			return true
		}
	}
	return false
}

// hasUnfinished reports whether a step that a unit has called is unfinished.
func (l *ledger) hasUnfinished() bool { return len(l.called) > 0 || l.firsts.Load() > 0 }

// note records that a step is unfinished. With status 0, it records that the step need not be
// finished.
func (x *execution) note(c *stepCall, s storage.Status) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c.ledger.called[c.key.ID] = s; s == 0 {
		delete(c.ledger.called, c.key.ID)
	}
}

// forget removes a step from the unfinished steps.
func (x *execution) forget(c *stepCall) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(c.ledger.called, c.key.ID)
	delete(c.ledger.pending, c.key.ID)
}

// remember stores a step that the execution has finished or read.
func (x *execution) remember(c *stepCall, f finishedStep) {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := c.ledger
	delete(l.called, c.key.ID)
	delete(l.pending, c.key.ID)
	f.returned = true
	if l.finished[c.key.ID] != nil {
		l.finished[c.key.ID] = &f
	} else {
		_ = l.keep(c.key.ID, f) // otherwise, it is read again
	}
}
