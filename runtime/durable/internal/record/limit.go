package record

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file defines the limits of handlers, and how they decide whether a run may be claimed.

// Limits are the limits of a handler.
type Limits struct {
	Bounded bool // Most limits the number of executions
	Most    int

	Rated  bool // the other fields limit the rate of starts
	Starts int
	Per    time.Duration
	Burst  int
}

// Any reports whether the handler has any limit.
func (l Limits) Any() bool { return l.Bounded || l.Rated }

// Check returns an error for limits that have no sensible meaning.
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

// The rate is the generic cell rate algorithm in the form of virtual scheduling (ITU-T I.371,
// annex A). The record contains the theoretical arrival time of the next start. A start is
// allowed if it is earlier than this time by at most the tolerance. It then moves the arrival
// time by one interval.

// interval is the time between two starts. It is rounded up, so that there are never more than
// Starts starts in Per.
func (l Limits) interval() time.Duration {
	interval := l.Per / time.Duration(l.Starts)
	if l.Per%time.Duration(l.Starts) != 0 {
		interval++
	}
	return interval
}

// tolerance is the time by which an execution may start before its theoretical arrival time.
func (l Limits) tolerance() time.Duration { return time.Duration(l.Burst-1) * l.interval() }

// ahead returns the time from now to a theoretical arrival time. The result is capped at the
// maximum for this rate: a later arrival time results from a slower rate in the past, or from a
// clock that was set back.
func (l Limits) ahead(arrival, now time.Time) time.Duration {
	return min(max(arrival.Sub(now), 0), time.Duration(l.Burst)*l.interval())
}

// stale reports whether a theoretical arrival time is later than this rate can move it. A claim
// corrects such a time, because it would otherwise stay ahead of the clock.
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

// Room returns the number of executions for which a claim is useful: those that may start now,
// in addition to those that already count. If the arrival time is stale, it is at least one.
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

// Limit is the body of the record with a handler's limit.
type Limit struct {
	Executing []Slot    `json:"executing,omitempty"` // includes executions that have ended since the last claim
	Arrival   time.Time `json:"arrival,omitzero"`    // the theoretical arrival time of the next start

	// The Limits of the last claim, for display only.
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

// Without removes the free slots.
func (b *Limit) Without(free map[Slot]bool) {
	b.Executing = slices.DeleteFunc(b.Executing, func(s Slot) bool { return free[s] })
}

// A Gate applies a handler's limit in the transaction of a claim.
type Gate struct {
	record  storage.Record
	body    Limit
	changed bool
}

// OpenGate returns the gate for the limit of a handler. The slots in free no longer count.
func OpenGate(r storage.Record, free map[Slot]bool) (*Gate, error) {
	b, err := Decode[Limit](r)
	b.Without(free)
	return &Gate{record: r, body: b}, err
}

// Admit reports whether a run may be claimed, and records the claim if so. r is the run before
// the claim, and fence is the fence of the claim. A run whose earlier claim still counts, such
// as the claim of a dead worker, needs no second slot. wait is the time until the rate allows a
// start.
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

// Write adds the record of the limit to the writes of a claim, if the claim has changed it.
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
