package durable

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// This file has the limits of a handler over all workers. A handler with one has a
// record, which is read and changed in the transactions that claim its runs. Nothing
// else changes it: a slot is an entry with the run and the fence of a claim, and is
// free as soon as the record of the run says that this claim has ended. So neither the
// end of an execution nor a crash has a slot to give back that could be lost.

// Concurrency limits how many runs of a handler are executed at a time by all workers
// of the store together, whatever the versions of the handler: [Version]. The runs
// over the limit stay due, and workers execute runs of other handlers meanwhile. A run
// counts from its claim until the end of its execution is recorded. It does not count
// while it is parked, paused, or waits for a retry without a process; a wait that the
// process sits out counts. After the death of a worker, its runs count until another
// worker takes them over, and then as runs of that one.
//
// Workers may register different limits, as during a deployment: each claim of a run
// keeps the limit of the worker that makes it. Each claim reads the records of the runs
// that are executed, so limits above some hundreds make claims slow. Each shard of a
// [Sharded] has a limit of its own. Handle panics if n is less than 1.
func Concurrency(n int) RunOption {
	return func(o *runOptions) { o.limits.bounded, o.limits.most = true, n }
}

// StartRate limits how often executions of the runs of a handler start on all workers of the
// store together: n times in a period of per, evenly spaced. After a pause, as many as
// burst may start at once: with a burst of 1, no period of per has more than n starts,
// with others none has more than n + burst - 1. An execution that goes on with a parked
// run, or with one of a dead worker, is a start like the first one. The runs over the
// limit stay due, and workers sleep until the next one may start, by the clock of the
// store. See [Concurrency] for different limits and shards. Handle panics if n or burst
// is less than 1, or per is not positive.
func StartRate(n int, per time.Duration, burst int) RunOption {
	return func(o *runOptions) {
		o.limits.rated, o.limits.starts, o.limits.per, o.limits.burst = true, n, per, burst
	}
}

// limits are the limits of a handler.
type limits struct {
	bounded bool // by most
	most    int

	rated  bool // by the rest
	starts int
	per    time.Duration
	burst  int
}

func (l limits) any() bool { return l.bounded || l.rated }

// check returns an error for limits that have no sense.
func (l limits) check() error {
	switch {
	case l.bounded && l.most < 1:
		return fmt.Errorf("Concurrency(%d) lets no run start: give at least 1", l.most)
	case l.rated && (l.starts < 1 || l.per <= 0 || l.burst < 1):
		return fmt.Errorf("StartRate(%d, %v, %d) lets no run start: give positive values", l.starts, l.per, l.burst)
	case l.rated && time.Duration(l.burst) > math.MaxInt64/l.interval():
		return fmt.Errorf("StartRate(%d, %v, %d): the burst is too large", l.starts, l.per, l.burst)
	}
	return nil
}

// refuse returns an error for options that are not those of Handle.
func (l limits) refuse() error {
	if l.any() {
		return errors.New("Concurrency and StartRate are options of Handle")
	}
	return nil
}

// The rate is the generic cell rate algorithm in the form of virtual scheduling (ITU-T
// I.371, annex A): the record has the theoretical arrival time of the next start. A
// start is allowed if it is at most the tolerance before that time, which it moves by
// one interval.

// interval is the time between two starts, rounded up: never more than starts in per.
func (l limits) interval() time.Duration {
	interval := l.per / time.Duration(l.starts)
	if l.per%time.Duration(l.starts) != 0 {
		interval++
	}
	return interval
}

// tolerance is how far before its theoretical arrival time an execution may start.
func (l limits) tolerance() time.Duration { return time.Duration(l.burst-1) * l.interval() }

// ahead returns how far a theoretical arrival time is ahead of now. One that is further
// than this rate can move it is left from a slower rate, or the clock was set back.
func (l limits) ahead(arrival, now time.Time) time.Duration {
	return min(max(arrival.Sub(now), 0), time.Duration(l.burst)*l.interval())
}

// stale reports whether a theoretical arrival time is further ahead of now than this
// rate can move it. A claim brings it back, or it would stay ahead of each now.
func (l limits) stale(arrival, now time.Time) bool {
	return l.rated && arrival.Sub(now) > time.Duration(l.burst)*l.interval()
}

// wait returns how long it takes until an execution may start.
func (l limits) wait(arrival, now time.Time) time.Duration {
	if !l.rated {
		return 0
	}
	return max(l.ahead(arrival, now)-l.tolerance(), 0)
}

// room returns for how many executions a claim is worth while: those that may start now,
// in addition to those that count. With a stale arrival time, it is at least one.
func (l limits) room(b *limitBody, now time.Time) int {
	room := math.MaxInt
	if l.bounded {
		room = max(l.most-len(b.Executing), 0)
	}
	if l.rated {
		starts := 0
		if ahead := l.ahead(b.Arrival, now); ahead <= l.tolerance() {
			starts = 1 + int((l.tolerance()-ahead)/l.interval())
		}
		if l.stale(b.Arrival, now) {
			starts = max(starts, 1)
		}
		room = min(room, starts)
	}
	return room
}

// limitBody is the body of the limit of a handler.
type limitBody struct {
	Executing []slot    `json:"executing,omitempty"` // with those that have ended since the last claim
	Arrival   time.Time `json:"arrival,omitzero"`    // the theoretical one of the next start

	// The limits of the last claim, for people.
	Most   int           `json:"most,omitempty"`
	Starts int           `json:"starts,omitempty"`
	Per    time.Duration `json:"per,omitempty"`
	Burst  int           `json:"burst,omitempty"`
}

// A slot is a claim that counts.
type slot struct {
	Run   string `json:"run"`
	Fence uint64 `json:"fence"`
}

// limits returns the limits of the last claim.
func (b *limitBody) limits() limits {
	return limits{
		bounded: b.Most > 0, most: b.Most, rated: b.Starts > 0, starts: b.Starts, per: b.Per, burst: b.Burst,
	}
}

// without removes the slots that are free.
func (b *limitBody) without(free map[slot]bool) {
	b.Executing = slices.DeleteFunc(b.Executing, func(s slot) bool { return free[s] })
}

// A gate is the limit of a handler in the transaction of a claim.
type gate struct {
	record  Record
	body    limitBody
	changed bool
}

// openGate opens the limit of a handler. The slots in free are.
func openGate(r Record, free map[slot]bool) (*gate, error) {
	b, err := open[limitBody](r)
	b.without(free)
	return &gate{record: r, body: b}, err
}

// admit reports whether a run may be claimed, and notes the claim. r is the run before
// the claim, and fence that of the claim. A run whose claim counted before, as that of a
// dead worker does, needs no further slot. wait is until the rate allows a start.
func (g *gate) admit(l limits, r Record, fence uint64, now time.Time) (ok bool, wait time.Duration) {
	i := slices.Index(g.body.Executing, slot{r.Key.Run, r.Fence})
	if l.stale(g.body.Arrival, now) {
		g.body.Arrival, g.changed = now.Add(l.ahead(g.body.Arrival, now)), true
	}
	if wait = l.wait(g.body.Arrival, now); wait > 0 {
		return false, wait
	}
	if l.bounded && i < 0 && len(g.body.Executing) >= l.most {
		return false, 0
	}
	if l.rated {
		g.body.Arrival = now.Add(l.ahead(g.body.Arrival, now) + l.interval())
	}
	if i >= 0 {
		g.body.Executing = slices.Delete(g.body.Executing, i, i+1)
	}
	if l.bounded {
		g.body.Executing = append(g.body.Executing, slot{r.Key.Run, fence})
	}
	g.body.Most, g.body.Starts, g.body.Per, g.body.Burst = l.most, l.starts, l.per, l.burst
	g.changed = true
	return true, 0
}

// write adds the record of the limit to the writes of a claim that has changed it.
func (g *gate) write(w *Writes, now time.Time) error {
	if !g.changed {
		return nil
	}
	if g.record.Version == 0 {
		g.record.Bucket = month(now)
	}
	err := write(&g.record, &g.body)
	w.Put = append(w.Put, g.record)
	return err
}

// limitKey returns the key of the limit of a handler, which its versions share.
func (e *Engine) limitKey(handler string) Key {
	name, _, _ := strings.Cut(handler, "@")
	return e.key(KindLimit, "", name)
}
