// Package bigstore fills stores for tests and measurements with what months of work
// leave: runs and steps in all states, with their histories.
package bigstore

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Size is how much [Fill] creates.
type Size struct {
	Runs  int
	Steps int // of all runs; most have about the average
	// Until is the time of the last run. Earlier ones are spread over the months
	// before.
	Until  time.Time
	Months int // 0: six
	// Progress is called after each batch with the numbers of records so far. It may
	// be nil.
	Progress func(runs, steps int)
}

// batch is the number of records of an update.
const batch = 2000

// Fill creates runs in an empty store, in the empty namespace. The same size leads to
// the same records. The records are those that engines write, which
// [admin.Client.Verify] checks.
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

// The records below have the fields of those in package durable.
type runBody struct {
	Claimed   time.Time     `json:"claimed,omitzero"`
	Ended     time.Time     `json:"ended,omitzero"`
	Deadline  time.Time     `json:"deadline,omitzero"`
	Keep      time.Duration `json:"keep,omitempty"`
	Recovered int           `json:"recovered,omitempty"`
	Budget    bool          `json:"budget,omitempty"`
	Error     string        `json:"error,omitempty"`
}

type budgetBody struct {
	Retries  int `json:"retries,omitempty"`
	PerUnit  int `json:"per_unit,omitempty"`
	Consumed int `json:"consumed,omitempty"`
	Refused  int `json:"refused,omitempty"`
}

type stepBody struct {
	Name        string          `json:"name"`
	Arguments   string          `json:"arguments,omitempty"`
	Policy      string          `json:"policy,omitempty"`
	Call        retry.CallState `json:"call,omitzero"`
	Attempts    int             `json:"attempts"`
	Open        *openAttempt    `json:"open,omitempty"`
	First       time.Time       `json:"first,omitzero"`
	Ended       time.Time       `json:"ended,omitzero"`
	NextAt      time.Time       `json:"next_at,omitzero"`
	Delay       time.Duration   `json:"delay,omitempty"`
	Correlation string          `json:"correlation,omitempty"`
	Result      *payload        `json:"result,omitempty"`
	Error       *recordedError  `json:"error,omitempty"`
	Reason      retry.Reason    `json:"reason,omitempty"`
	Dead        time.Time       `json:"dead,omitzero"`
}

type openAttempt struct {
	Token   string    `json:"token"`
	Fence   uint64    `json:"fence"`
	Owner   string    `json:"owner"`
	Started time.Time `json:"started"`
}

type payload struct {
	JSON json.RawMessage `json:"json,omitempty"`
}

type recordedError struct {
	Class retry.Class `json:"class,omitempty"`
	Text  string      `json:"text"`
}

type entryBody struct {
	Outcome     events.Outcome `json:"outcome"`
	Started     time.Time      `json:"started,omitzero"`
	Duration    time.Duration  `json:"duration,omitempty"`
	Class       retry.Class    `json:"class,omitempty"`
	Error       string         `json:"error,omitempty"`
	Wait        time.Duration  `json:"wait,omitempty"`
	Reason      retry.Reason   `json:"reason,omitempty"`
	Owner       string         `json:"owner,omitempty"`
	Fence       uint64         `json:"fence,omitempty"`
	Correlation string         `json:"correlation,omitempty"`
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
		Bucket: time.Date(created.Year(), created.Month(), 1, 0, 0, 0, 0, time.UTC),
	}
	const keep = 30 * 24 * time.Hour
	b := runBody{Claimed: created.Add(time.Second), Keep: keep, Recovered: int(r.Fence - 1), Budget: i%10 == 0}
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
	f.record(r, &b)
	if b.Budget {
		budget := storage.Record{Key: storage.Key{Kind: storage.KindBudget, Run: r.Key.Run}, Version: 1, Bucket: r.Bucket}
		f.record(budget, &budgetBody{Retries: 100, PerUnit: 3, Consumed: f.random.IntN(100), Refused: f.random.IntN(3)})
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

// Rare is the class of the error of one dead letter, the first one in the second half
// of the runs. No other error has it.
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
	b := stepBody{Name: name, Arguments: f.token(12), Policy: "default", First: first}
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
		b.Ended, b.Result = at, &payload{json.RawMessage(fmt.Sprintf(`{"receipt":"%s","cents":%d}`, f.token(8), n))}
	case storage.StatusDead:
		b.Reason, b.Ended, b.Dead = retry.ErrAttempts, at, at
	case storage.StatusFailed, storage.StatusPaused:
		b.Reason, b.Ended = retry.ErrAttempts, at
	case storage.StatusWaiting:
		b.Delay, b.NextAt = 10*time.Minute, at.Add(10*time.Minute)
	case storage.StatusExecuting:
		b.Open = &openAttempt{Token: f.token(8), Fence: r.Fence, Owner: owner, Started: at}
	}
	s.Attention = status != storage.StatusSucceeded && status != storage.StatusFailed
	if status == storage.StatusDead {
		s.Label = "dead letter: " + string(b.Error.Class)
	}
	f.record(s, &b)
	f.steps++
	return f.flushFull()
}

// owner is the engine of all attempts.
const owner = "6f1c0de5a11ba5eba11c0ffee0ddf00d"

// history adds the attempts of a step, and returns the time after the last one. The
// attempt of an executing step has not ended, and that of one in doubt was lost.
func (f *filler) history(s *storage.Record, b *stepBody) time.Time {
	at := b.First
	failure := failures[f.random.IntN(len(failures))]
	if s.Status == storage.StatusDead && !f.rare && f.runs > f.size.Runs/2 {
		failure.class, f.rare = Rare, true
	}
	for n := 1; n <= b.Attempts; n++ {
		last := n == b.Attempts
		took := time.Duration(5+f.random.IntN(400)) * time.Millisecond
		e := entryBody{Outcome: events.OutcomeFailed, Started: at, Duration: took, Owner: owner, Fence: s.Fence}
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
			b.Error = &recordedError{failure.class, e.Error}
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
		body, err := json.Marshal(&e)
		if err != nil {
			f.err = err
		}
		at = at.Add(took)
		f.add = append(f.add, storage.Entry{Step: s.Key, Attempt: n, At: at, Bucket: s.Bucket, Body: body})
		at = at.Add(e.Wait)
	}
	if s.Status == storage.StatusSucceeded {
		b.Error = nil
	}
	return at
}

// breaker adds a breaker that processes share.
func (f *filler) breaker(i int) {
	s := retry.BreakerSnapshot{State: retry.BreakerState(i % 4), Failures: f.random.IntN(10), Generation: uint64(i)}
	if s.State == retry.StateOpen {
		s.OpenUntil = f.size.Until.UTC().Add(time.Minute)
	}
	month := time.Date(f.begin.Year(), f.begin.Month(), 1, 0, 0, 0, 0, time.UTC)
	key := storage.Key{Kind: storage.KindBreaker, ID: fmt.Sprintf("server-%02d", i)}
	f.record(storage.Record{Key: key, Version: 1, Bucket: month}, &s)
}

// record adds a record.
func (f *filler) record(r storage.Record, body any) {
	var err error
	if r.Body, err = json.Marshal(body); err != nil {
		f.err = err
	}
	f.put = append(f.put, r)
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
