package record

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file has the limits of handlers, and what a claim decides by them.

// Limits are the limits of a handler.
type Limits struct {
	Bounded bool // by Most
	Most    int

	Rated  bool // by the rest
	Starts int
	Per    time.Duration
	Burst  int
}

// Any reports whether the handler has any limit.
func (l Limits) Any() bool { return l.Bounded || l.Rated }

// Check returns an error for limits that make no sense.
func (l Limits) Check() error {
	switch {
	case l.Bounded && l.Most < 1:
		return fmt.Errorf("Concurrency(%d) lets no run start: give at least 1", l.Most)
	case l.Rated && (l.Starts < 1 || l.Per <= 0 || l.Burst < 1):
		return fmt.Errorf("StartRate(%d, %v, %d) lets no run start: give positive values", l.Starts, l.Per, l.Burst)
	case l.Rated && time.Duration(l.Burst) > math.MaxInt64/l.interval():
		return fmt.Errorf("StartRate(%d, %v, %d): the burst is too large", l.Starts, l.Per, l.Burst)
	}
	return nil
}

// The rate is the generic cell rate algorithm in the form of virtual scheduling (ITU-T
// I.371, annex A): the record has the theoretical arrival time of the next start. A
// start is allowed if it is at most the tolerance before that time, which it moves by
// one interval.

// interval is the time between two starts, rounded up: never more than starts in per.
func (l Limits) interval() time.Duration {
	interval := l.Per / time.Duration(l.Starts)
	if l.Per%time.Duration(l.Starts) != 0 {
		interval++
	}
	return interval
}

// tolerance is how far before its theoretical arrival time an execution may start.
func (l Limits) tolerance() time.Duration { return time.Duration(l.Burst-1) * l.interval() }

// ahead returns how far a theoretical arrival time is ahead of now. One that is further
// than this rate can move it is left from a slower rate, or the clock was set back.
func (l Limits) ahead(arrival, now time.Time) time.Duration {
	return min(max(arrival.Sub(now), 0), time.Duration(l.Burst)*l.interval())
}

// stale reports whether a theoretical arrival time is further ahead of now than this
// rate can move it. A claim brings it back, or it would stay ahead of each now.
func (l Limits) stale(arrival, now time.Time) bool {
	return l.Rated && arrival.Sub(now) > time.Duration(l.Burst)*l.interval()
}

// Wait returns the time until an execution may start.
func (l Limits) Wait(arrival, now time.Time) time.Duration {
	if !l.Rated {
		return 0
	}
	return max(l.ahead(arrival, now)-l.tolerance(), 0)
}

// Room returns for how many executions a claim is worth while: those that may start now,
// in addition to those that count. With a stale arrival time, it is at least one.
func (l Limits) Room(b *Limit, now time.Time) int {
	room := math.MaxInt
	if l.Bounded {
		room = max(l.Most-len(b.Executing), 0)
	}
	if l.Rated {
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

// Limit is the body of the limit of a handler.
type Limit struct {
	Executing []Slot    `json:"executing,omitempty"` // with those that have ended since the last claim
	Arrival   time.Time `json:"arrival,omitzero"`    // the theoretical one of the next start

	// The Limits of the last claim, for people.
	Most   int           `json:"most,omitempty"`
	Starts int           `json:"starts,omitempty"`
	Per    time.Duration `json:"per,omitempty"`
	Burst  int           `json:"burst,omitempty"`
}

// A Slot is a claim that counts toward the limit.
type Slot struct {
	Run   string `json:"run"`
	Fence uint64 `json:"fence"`
}

// Limits returns the limits of the last claim.
func (b *Limit) Limits() Limits {
	return Limits{
		Bounded: b.Most > 0, Most: b.Most, Rated: b.Starts > 0, Starts: b.Starts, Per: b.Per, Burst: b.Burst,
	}
}

// Without removes the slots that are free.
func (b *Limit) Without(free map[Slot]bool) {
	b.Executing = slices.DeleteFunc(b.Executing, func(s Slot) bool { return free[s] })
}

// A Gate is a handler's limit within the transaction of a claim.
type Gate struct {
	record  storage.Record
	body    Limit
	changed bool
}

// OpenGate opens the limit of a handler. The slots in free are.
func OpenGate(r storage.Record, free map[Slot]bool) (*Gate, error) {
	b, err := Decode[Limit](r)
	b.Without(free)
	return &Gate{record: r, body: b}, err
}

// Admit reports whether a run may be claimed, and notes the claim. r is the run before
// the claim, and fence that of the claim. A run whose claim counted before, as that of a
// dead worker does, needs no further slot. wait is until the rate allows a start.
func (g *Gate) Admit(l Limits, r storage.Record, fence uint64, now time.Time) (ok bool, wait time.Duration) {
	i := slices.Index(g.body.Executing, Slot{r.Key.Run, r.Fence})
	if l.stale(g.body.Arrival, now) {
		g.body.Arrival, g.changed = now.Add(l.ahead(g.body.Arrival, now)), true
	}
	if wait = l.Wait(g.body.Arrival, now); wait > 0 {
		return false, wait
	}
	if l.Bounded && i < 0 && len(g.body.Executing) >= l.Most {
		return false, 0
	}
	if l.Rated {
		g.body.Arrival = now.Add(l.ahead(g.body.Arrival, now) + l.interval())
	}
	if i >= 0 {
		g.body.Executing = slices.Delete(g.body.Executing, i, i+1)
	}
	if l.Bounded {
		g.body.Executing = append(g.body.Executing, Slot{r.Key.Run, fence})
	}
	g.body.Most, g.body.Starts, g.body.Per, g.body.Burst = l.Most, l.Starts, l.Per, l.Burst
	g.changed = true
	return true, 0
}

// Write adds the record of the limit to the writes of a claim that has changed it.
func (g *Gate) Write(w *storage.Writes, now time.Time) error {
	if !g.changed {
		return nil
	}
	if g.record.Version == 0 {
		g.record.Bucket = Month(now)
	}
	err := Encode(&g.record, &g.body)
	w.Put = append(w.Put, g.record)
	return err
}
