// Package bigstore fills stores with months' worth of records, for tests and measurements.
// The records are runs and steps in all states, with their histories.
package bigstore

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Size defines how much [Fill] creates.
type Size struct {
	Runs  int
	Steps int // total number of steps in all runs; most runs have about the average number
	// Until is the time of the most recent run. Earlier runs are spread over the
	// preceding months.
	Until  time.Time
	Months int // number of months; zero means six
	// Progress is called after each batch with the numbers of records so far. It may
	// be nil.
	Progress func(runs, steps int)
}

// batch is the number of records of an update.
const batch = 2000

// Fill creates runs in an empty store, in the empty namespace. The same size always
// produces the same records. They are the same records that engines write, so
// [admin.Client.Verify] accepts them.
func Fill(ctx context.Context, store storage.Store, size Size) error {
	if size.Months == 0 {
		size.Months = 6
	}
	f := &filler{
		ctx: ctx, store: store, size: size, random: rand.New(rand.NewPCG(1, 2)),
		begin: size.Until.UTC().Truncate(time.Microsecond).AddDate(0, -size.Months, 0),
	}
	for i := range size.Runs {
		left := size.Runs - i
		steps := (size.Steps - f.steps) / left
		if steps > 3 && left > 1 { // some are small, some are large
			steps = steps/2 + f.random.IntN(steps)
		}
		if err := f.run(i, steps); err != nil {
			return err
		}
	}
	for i := range 20 {
		f.breaker(i)
	}
	return f.flush()
}

// A filler fills a store.
type filler struct {
	ctx    context.Context
	store  storage.Store
	size   Size
	random *rand.Rand
	begin  time.Time

	runs, steps int
	rare        bool // there is a dead letter with the class Rare
	put         []storage.Record
	add         []storage.Entry
	err         error // of an encoding
}

// A mix is how many of 100 have a status. The last one has the rest.
type mix []struct {
	percent int
	status  storage.Status
}

func (f *filler) pick(m mix) storage.Status {
	n := f.random.IntN(100)
	for _, row := range m {
		if n -= row.percent; n < 0 {
			return row.status
		}
	}
	return m[len(m)-1].status
}

// runMix is the mix of runs.
var runMix = mix{
	{72, storage.StatusSucceeded}, {9, storage.StatusFailed}, {6, storage.StatusParked}, {4, storage.StatusPaused},
	{4, storage.StatusOpen}, {2, storage.StatusCanceled}, {1, storage.StatusTimedOut}, {2, storage.StatusExpired},
}

// stepMixes are the mixes of the steps of a run with a status.
var stepMixes = map[storage.Status]mix{
	storage.StatusSucceeded: {{99, storage.StatusSucceeded}, {1, storage.StatusDead}},
	storage.StatusFailed:    {{80, storage.StatusSucceeded}, {15, storage.StatusDead}, {5, storage.StatusFailed}},
	storage.StatusParked:    {{60, storage.StatusSucceeded}, {40, storage.StatusWaiting}},
	storage.StatusPaused:    {{90, storage.StatusSucceeded}, {6, storage.StatusInDoubt}, {4, storage.StatusPaused}},
	storage.StatusOpen:      {{70, storage.StatusSucceeded}, {15, storage.StatusExecuting}, {15, storage.StatusWaiting}},
	storage.StatusCanceled:  {{80, storage.StatusSucceeded}, {20, storage.StatusWaiting}},
	storage.StatusTimedOut:  {{70, storage.StatusSucceeded}, {30, storage.StatusWaiting}},
}

// run adds a run with its steps. The steps of an expired run are gone: others have
// more.
func (f *filler) run(i, steps int) error {
	status := f.pick(runMix)
	span := f.size.Until.Sub(f.begin)
	created := f.begin.Add(time.Duration(float64(span) * float64(i) / float64(f.size.Runs))).UTC()
	name := [...]string{"settle", "import", "mails", "invoices", "sync"}[i%5]
	r := storage.Record{
		Key:     storage.Key{Kind: storage.KindRun, Run: fmt.Sprintf("%s-%s-%05d", name, created.Format(time.DateOnly), i)},
		Version: 1, Status: status, Fence: 1 + uint64(f.random.IntN(3)), Handler: name,
		Attention: status == storage.StatusPaused, Created: created,
		Bucket: record.Month(created),
	}
	const keep = 30 * 24 * time.Hour
	b := record.Run{Claimed: created.Add(time.Second), Retention: keep, Recovered: int(r.Fence - 1), Budget: i%10 == 0}
	ended := created.Add(time.Duration(1+f.random.IntN(120)) * time.Minute)
	switch status {
	case storage.StatusOpen:
		r.Due = ended
	case storage.StatusParked:
		r.Due = f.size.Until.UTC().Add(time.Duration(f.random.IntN(3600)) * time.Second)
	case storage.StatusPaused:
		b.Ended = ended
	case storage.StatusSucceeded:
		b.Ended, r.Due = ended, ended.Add(keep)
	default:
		b.Ended = ended
	}
	if status == storage.StatusFailed {
		b.Error = "attempts exhausted: " + failures[i%len(failures)].text
	}
	f.queue(&r, record.Encode(&r, &b))
	if b.Budget {
		budget := storage.Record{Key: storage.Key{Kind: storage.KindBudget, Run: r.Key.Run}, Version: 1, Bucket: r.Bucket}
		body := record.CountBudget{Retries: 100, PerUnit: 3, Consumed: f.random.IntN(100), Refused: f.random.IntN(3)}
		f.queue(&budget, record.Encode(&budget, &body))
	}
	f.runs++
	if status == storage.StatusExpired {
		steps = 0
	}
	for n := range steps {
		if err := f.step(&r, created, n); err != nil {
			return err
		}
	}
	return f.flushFull()
}

// Rare is the error class of a single dead letter, the first one in the second half of
// the runs. No other error has this class.
const Rare retry.Class = "quota"

// failures are what attempts fail with.
var failures = []struct {
	class retry.Class
	text  string
}{
	{retry.ClassNetwork, "dial tcp 10.0.%d.7:5432: connect: connection refused"},
	{retry.ClassTimeout, "context deadline exceeded after %dms"},
	{retry.ClassServerError, "HTTP 503 from bank-%d.example.com"},
	{retry.ClassRateLimit, "HTTP 429: retry in %ds"},
	{"", "no such account: %d"},
	{"", "validation: field amount of order %d is negative"},
}

// step adds a step with its history.
func (f *filler) step(r *storage.Record, created time.Time, n int) error {
	status := f.pick(stepMixes[r.Status])
	name := [...]string{"Payments.Charge", "Mail.Send", "Ledger.Book"}[n%3]
	s := storage.Record{
		Key:     storage.Key{Kind: storage.KindStep, Run: r.Key.Run, ID: fmt.Sprintf("%s/%07d", name, n)},
		Version: 1, Status: status, Fence: r.Fence, Bucket: r.Bucket,
	}
	first := created.Add(time.Duration(n) * 50 * time.Millisecond)
	b := record.Step{Name: name, Arguments: f.token(12), Policy: "default", First: first}
	switch {
	case status == storage.StatusDead || status == storage.StatusFailed || status == storage.StatusPaused:
		b.Attempts = 5
	case status != storage.StatusSucceeded:
		b.Attempts = 1 + f.random.IntN(4)
	case f.random.IntN(100) < 8: // some needed several attempts
		b.Attempts = 2 + f.random.IntN(3)
	default:
		b.Attempts = 1
	}
	at := f.history(&s, &b)
	switch status {
	case storage.StatusSucceeded:
		b.Ended, b.Result = at, &record.Payload{JSON: fmt.Appendf(nil, `{"receipt":"%s","cents":%d}`, f.token(8), n)}
	case storage.StatusDead:
		b.Reason, b.Ended, b.Dead = retry.ErrAttempts, at, at
	case storage.StatusFailed, storage.StatusPaused:
		b.Reason, b.Ended = retry.ErrAttempts, at
	case storage.StatusWaiting:
		b.Delay, b.NextAt = 10*time.Minute, at.Add(10*time.Minute)
	case storage.StatusExecuting:
		b.Open = &record.OpenAttempt{Token: f.token(8), Fence: r.Fence, Owner: owner, Started: at}
	}
	f.queue(&s, record.EncodeStep(&s, &b))
	f.steps++
	return f.flushFull()
}

// owner is the engine of all attempts.
const owner = "6f1c0de5a11ba5eba11c0ffee0ddf00d"

// history adds the attempts of a step, and returns the time after the last one. The
// attempt of an executing step has not ended, and the attempt of one in doubt was lost.
func (f *filler) history(s *storage.Record, b *record.Step) time.Time {
	at := b.First
	failure := failures[f.random.IntN(len(failures))]
	if s.Status == storage.StatusDead && !f.rare && f.runs > f.size.Runs/2 {
		failure.class, f.rare = Rare, true
	}
	for n := 1; n <= b.Attempts; n++ {
		last := n == b.Attempts
		took := time.Duration(5+f.random.IntN(400)) * time.Millisecond
		e := record.Entry{Outcome: events.OutcomeFailed, Started: at, Duration: took, Owner: owner, Fence: s.Fence}
		switch {
		case last && s.Status == storage.StatusExecuting:
			return at
		case last && s.Status == storage.StatusSucceeded:
			e.Outcome = events.OutcomeSucceeded
		case last && s.Status == storage.StatusInDoubt:
			e.Outcome, e.Duration = events.OutcomeLost, 0
			b.Call.Lost++
		default:
			e.Class, e.Error = failure.class, fmt.Sprintf(failure.text, f.random.IntN(256))
			b.Error = &record.Error{Class: failure.class, Text: e.Error}
			b.Call.Attempts++
			if !last {
				e.Wait = time.Duration(n) * time.Second
				b.Call.Waited += e.Wait
			} else if s.Status != storage.StatusWaiting {
				e.Reason = retry.ErrAttempts
			}
			if b.Correlation == "" {
				b.Correlation = f.token(8)
			}
		}
		e.Correlation = b.Correlation
		at = at.Add(took)
		f.add = append(f.add, record.NewEntry(*s, at, n, 0, e))
		at = at.Add(e.Wait)
	}
	if s.Status == storage.StatusSucceeded {
		b.Error = nil
	}
	return at
}

// breaker adds a breaker that processes share.
func (f *filler) breaker(i int) {
	s := breaker.Snapshot{State: breaker.State(i % 4), Failures: f.random.IntN(10), Generation: uint64(i)}
	if s.State == breaker.Open {
		s.OpenUntil = f.size.Until.UTC().Add(time.Minute)
	}
	key := storage.Key{Kind: storage.KindBreaker, ID: fmt.Sprintf("server-%02d", i)}
	r := storage.Record{Key: key, Version: 1, Bucket: record.Month(f.begin)}
	f.queue(&r, record.Encode(&r, &s))
}

// queue adds a record whose body was encoded with this error.
func (f *filler) queue(r *storage.Record, err error) {
	f.err = cmp.Or(f.err, err)
	f.put = append(f.put, *r)
}

// token returns a random identifier.
func (f *filler) token(bytes int) string {
	b := make([]byte, bytes)
	for i := range b {
		b[i] = byte(f.random.Uint32())
	}
	return hex.EncodeToString(b)
}

func (f *filler) flushFull() error {
	if len(f.put) < batch {
		return nil
	}
	return f.flush()
}

// flush writes what was added in one update.
func (f *filler) flush() error {
	if f.err != nil {
		return f.err
	}
	keys := make([]storage.Key, len(f.put))
	for i, r := range f.put {
		keys[i] = r.Key
	}
	err := f.store.Update(f.ctx, storage.Select{Keys: keys}, func(tx storage.Tx) (storage.Writes, error) {
		w := storage.Writes{Add: f.add}
		for i, r := range f.put {
			r.Version = tx.Records[i].Version
			w.Put = append(w.Put, r)
		}
		return w, nil
	})
	f.put, f.add = nil, nil
	if err == nil && f.size.Progress != nil {
		f.size.Progress(f.runs, f.steps)
	}
	return err
}
