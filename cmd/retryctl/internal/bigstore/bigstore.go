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
	"github.com/retrygen/retrygen/runtime/durable"
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
// [durable.Engine.Verify] checks.
func Fill(ctx context.Context, store durable.Store, size Size) error {
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
	store  durable.Store
	size   Size
	random *rand.Rand
	begin  time.Time

	runs, steps int
	rare        bool // there is a dead letter with the class Rare
	put         []durable.Record
	add         []durable.Entry
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
	Outcome     durable.Outcome `json:"outcome"`
	Started     time.Time       `json:"started,omitzero"`
	Duration    time.Duration   `json:"duration,omitempty"`
	Class       retry.Class     `json:"class,omitempty"`
	Error       string          `json:"error,omitempty"`
	Wait        time.Duration   `json:"wait,omitempty"`
	Reason      retry.Reason    `json:"reason,omitempty"`
	Owner       string          `json:"owner,omitempty"`
	Fence       uint64          `json:"fence,omitempty"`
	Correlation string          `json:"correlation,omitempty"`
}

// A mix is how many of 100 have a status. The last one has the rest.
type mix []struct {
	percent int
	status  durable.Status
}

func (f *filler) pick(m mix) durable.Status {
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
	{72, durable.StatusSucceeded}, {9, durable.StatusFailed}, {6, durable.StatusParked}, {4, durable.StatusPaused},
	{4, durable.StatusOpen}, {2, durable.StatusCanceled}, {1, durable.StatusTimedOut}, {2, durable.StatusExpired},
}

// stepMixes are the mixes of the steps of a run with a status.
var stepMixes = map[durable.Status]mix{
	durable.StatusSucceeded: {{99, durable.StatusSucceeded}, {1, durable.StatusDead}},
	durable.StatusFailed:    {{80, durable.StatusSucceeded}, {15, durable.StatusDead}, {5, durable.StatusFailed}},
	durable.StatusParked:    {{60, durable.StatusSucceeded}, {40, durable.StatusWaiting}},
	durable.StatusPaused:    {{90, durable.StatusSucceeded}, {6, durable.StatusInDoubt}, {4, durable.StatusPaused}},
	durable.StatusOpen:      {{70, durable.StatusSucceeded}, {15, durable.StatusExecuting}, {15, durable.StatusWaiting}},
	durable.StatusCanceled:  {{80, durable.StatusSucceeded}, {20, durable.StatusWaiting}},
	durable.StatusTimedOut:  {{70, durable.StatusSucceeded}, {30, durable.StatusWaiting}},
}

// run adds a run with its steps. The steps of an expired run are gone: others have
// more.
func (f *filler) run(i, steps int) error {
	status := f.pick(runMix)
	span := f.size.Until.Sub(f.begin)
	created := f.begin.Add(time.Duration(float64(span) * float64(i) / float64(f.size.Runs))).UTC()
	name := [...]string{"settle", "import", "mails", "invoices", "sync"}[i%5]
	r := durable.Record{
		Key:     durable.Key{Kind: durable.KindRun, Run: fmt.Sprintf("%s-%s-%05d", name, created.Format(time.DateOnly), i)},
		Version: 1, Status: status, Fence: 1 + uint64(f.random.IntN(3)), Handler: name,
		Attention: status == durable.StatusPaused, Created: created,
		Bucket: time.Date(created.Year(), created.Month(), 1, 0, 0, 0, 0, time.UTC),
	}
	const keep = 30 * 24 * time.Hour
	b := runBody{Claimed: created.Add(time.Second), Keep: keep, Recovered: int(r.Fence - 1), Budget: i%10 == 0}
	ended := created.Add(time.Duration(1+f.random.IntN(120)) * time.Minute)
	switch status {
	case durable.StatusOpen:
		r.Due = ended
	case durable.StatusParked:
		r.Due = f.size.Until.UTC().Add(time.Duration(f.random.IntN(3600)) * time.Second)
	case durable.StatusPaused:
		b.Ended = ended
	case durable.StatusSucceeded:
		b.Ended, r.Due = ended, ended.Add(keep)
	default:
		b.Ended = ended
	}
	if status == durable.StatusFailed {
		b.Error = "attempts exhausted: " + failures[i%len(failures)].text
	}
	f.record(r, &b)
	if b.Budget {
		budget := durable.Record{Key: durable.Key{Kind: durable.KindBudget, Run: r.Key.Run}, Version: 1, Bucket: r.Bucket}
		f.record(budget, &budgetBody{Retries: 100, PerUnit: 3, Consumed: f.random.IntN(100), Refused: f.random.IntN(3)})
	}
	f.runs++
	if status == durable.StatusExpired {
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
func (f *filler) step(r *durable.Record, created time.Time, n int) error {
	status := f.pick(stepMixes[r.Status])
	name := [...]string{"Payments.Charge", "Mail.Send", "Ledger.Book"}[n%3]
	s := durable.Record{
		Key:     durable.Key{Kind: durable.KindStep, Run: r.Key.Run, ID: fmt.Sprintf("%s/%07d", name, n)},
		Version: 1, Status: status, Fence: r.Fence, Bucket: r.Bucket,
	}
	first := created.Add(time.Duration(n) * 50 * time.Millisecond)
	b := stepBody{Name: name, Arguments: f.token(12), Policy: "default", First: first}
	switch {
	case status == durable.StatusDead || status == durable.StatusFailed || status == durable.StatusPaused:
		b.Attempts = 5
	case status != durable.StatusSucceeded:
		b.Attempts = 1 + f.random.IntN(4)
	case f.random.IntN(100) < 8: // some needed several attempts
		b.Attempts = 2 + f.random.IntN(3)
	default:
		b.Attempts = 1
	}
	at := f.history(&s, &b)
	switch status {
	case durable.StatusSucceeded:
		b.Ended, b.Result = at, &payload{json.RawMessage(fmt.Sprintf(`{"receipt":"%s","cents":%d}`, f.token(8), n))}
	case durable.StatusDead:
		b.Reason, b.Ended, b.Dead = retry.ErrAttempts, at, at
	case durable.StatusFailed, durable.StatusPaused:
		b.Reason, b.Ended = retry.ErrAttempts, at
	case durable.StatusWaiting:
		b.Delay, b.NextAt = 10*time.Minute, at.Add(10*time.Minute)
	case durable.StatusExecuting:
		b.Open = &openAttempt{Token: f.token(8), Fence: r.Fence, Owner: owner, Started: at}
	}
	s.Attention = status != durable.StatusSucceeded && status != durable.StatusFailed
	if status == durable.StatusDead {
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
func (f *filler) history(s *durable.Record, b *stepBody) time.Time {
	at := b.First
	failure := failures[f.random.IntN(len(failures))]
	if s.Status == durable.StatusDead && !f.rare && f.runs > f.size.Runs/2 {
		failure.class, f.rare = Rare, true
	}
	for n := 1; n <= b.Attempts; n++ {
		last := n == b.Attempts
		took := time.Duration(5+f.random.IntN(400)) * time.Millisecond
		e := entryBody{Outcome: durable.OutcomeFailed, Started: at, Duration: took, Owner: owner, Fence: s.Fence}
		switch {
		case last && s.Status == durable.StatusExecuting:
			return at
		case last && s.Status == durable.StatusSucceeded:
			e.Outcome = durable.OutcomeSucceeded
		case last && s.Status == durable.StatusInDoubt:
			e.Outcome, e.Duration = durable.OutcomeLost, 0
			b.Call.Lost++
		default:
			e.Class, e.Error = failure.class, fmt.Sprintf(failure.text, f.random.IntN(256))
			b.Error = &recordedError{failure.class, e.Error}
			b.Call.Attempts++
			if !last {
				e.Wait = time.Duration(n) * time.Second
				b.Call.Waited += e.Wait
			} else if s.Status != durable.StatusWaiting {
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
		f.add = append(f.add, durable.Entry{Step: s.Key, Attempt: n, At: at, Bucket: s.Bucket, Body: body})
		at = at.Add(e.Wait)
	}
	if s.Status == durable.StatusSucceeded {
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
	key := durable.Key{Kind: durable.KindBreaker, ID: fmt.Sprintf("server-%02d", i)}
	f.record(durable.Record{Key: key, Version: 1, Bucket: month}, &s)
}

// record adds a record.
func (f *filler) record(r durable.Record, body any) {
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
	keys := make([]durable.Key, len(f.put))
	for i, r := range f.put {
		keys[i] = r.Key
	}
	err := f.store.Update(f.ctx, durable.Select{Keys: keys}, func(tx durable.Tx) (durable.Writes, error) {
		w := durable.Writes{Add: f.add}
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
