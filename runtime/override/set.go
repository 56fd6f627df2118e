package override

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/genapi"
)

// A Set applies overrides to generated packages. Its methods may be called by multiple
// goroutines simultaneously.
type Set struct {
	packages []genapi.LivePackage

	mu        sync.Mutex
	own       map[string]Override // by ID
	followed  map[string]Override // of a store
	timer     *time.Timer         // of the next end, or nil
	closed    bool
	observers []func(Event)
	holding   bool // a goroutine holds and releases breakers: see hold
	stale     bool // it has to do that again
}

// lookEvery is the greatest time between two looks at the clock while an override is in force.
// A timer alone would be late if the machine is suspended, or if somebody sets the clock.
const lookEvery = time.Minute

// NewSet returns a set without overrides for generated packages. Pass it the results of
// their LivePolicies functions. Do not give a package to more than one set, because a set
// controls all policy limits and all breaker holds of its packages.
func NewSet(packages ...genapi.LivePackage) *Set {
	return &Set{packages: packages, own: map[string]Override{}, followed: map[string]Override{}}
}

// MaxOverrides is the maximum number of active overrides that were added with [Set.Put].
const MaxOverrides = 100

// Errors that [Set.Put] returns: ErrClosed after [Set.Close], and ErrManyOverrides if the
// set already has [MaxOverrides] overrides.
var (
	ErrClosed        = errors.New("the set of overrides is closed")
	ErrManyOverrides = errors.New("the program has as many overrides as it can have: end some of them")
)

// A TargetError means that an override would change nothing in this program.
type TargetError struct {
	Target string
	Kind   string   // policy or breaker
	Names  []string // the existing names, sorted
	// Step reports whether the target is a policy of durable steps, whose attempts
	// overrides do not limit.
	Step bool
}

// Error lists the policies or breakers that exist.
func (e *TargetError) Error() string {
	if e.Step {
		return fmt.Sprintf("policy %s is one of durable steps, which keep their attempts: pause their runs", e.Target)
	}
	if len(e.Names) == 0 {
		return fmt.Sprintf("no %s can be overridden: policy files need reload: true", e.Kind)
	}
	const most = 20
	names := e.Names
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return fmt.Sprintf("no %s matches %q: there are %s", e.Kind, e.Target, strings.Join(names, ", "))
}

// Put adds an override and returns it with its ID. A policy override applies to calls that
// begin from now on, and a breaker override to attempts that begin from now on. If several
// overrides apply to one policy, the lowest limit counts. If several overrides hold the
// same breaker, open takes precedence over closed. Put returns the error of
// [Override.Validate], a [*TargetError], [ErrClosed], or [ErrManyOverrides].
func (s *Set) Put(o Override) (Override, error) {
	now := time.Now()
	if err := o.Validate(now); err != nil {
		return Override{}, err
	}
	if err := s.find(&o); err != nil {
		return Override{}, err
	}
	o.ID, o.At = NewID(), now.Round(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return Override{}, ErrClosed
	case len(s.own) >= MaxOverrides:
		return Override{}, ErrManyOverrides
	}
	s.own[o.ID] = o
	s.apply(now, Event{Override: o, Began: true})
	return o, nil
}

// NewID returns an ID for an override.
func NewID() string { return "o-" + strings.ToLower(rand.Text()[:10]) }

// find returns an error if an override selects nothing.
func (s *Set) find(o *Override) error {
	e := &TargetError{Target: o.Target, Kind: "policy"}
	if o.Breaker != "" {
		e.Kind = "breaker"
	}
	for i := range s.packages {
		p := &s.packages[i]
		var names []string
		if o.Breaker == "" {
			for _, l := range p.Policies {
				names = append(names, l.Load().Name)
			}
			for _, l := range p.Steps {
				e.Step = e.Step || o.selects(p.Package, l.Policy().Name)
			}
		} else {
			for _, shared := range p.Shared {
				for _, b := range shared.Breakers {
					names = append(names, b.Policy().Name)
				}
			}
		}
		if slices.ContainsFunc(names, func(name string) bool { return o.selects(p.Package, name) }) {
			return nil
		}
		e.Names = append(e.Names, names...)
	}
	e.Names = slices.Compact(slices.Sorted(slices.Values(e.Names)))
	return e
}

// Remove ends an override early if it was added with [Set.Put], and reports whether there
// was one. It does not end overrides that come from a store.
func (s *Set) Remove(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.own[id]
	if ok {
		delete(s.own, id)
		s.apply(time.Now(), Event{Override: o})
	}
	return ok
}

// Follow replaces the overrides that come from a store. An override with a given ID never
// changes. Overrides that select nothing in this program are ignored, because they are
// meant for other programs. Overrides without an ID, and overrides that
// [Override.Validate] does not accept, are ignored as well.
func (s *Set) Follow(list []Override) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now() // under mu, so that what expire has removed is not added again
	next := map[string]Override{}
	for _, o := range list {
		if o.ID != "" && o.Validate(now) == nil && s.find(&o) == nil {
			next[o.ID] = o
		}
	}
	same := maps.EqualFunc(next, s.followed, func(Override, Override) bool { return true }) // by their IDs
	if s.closed || same {
		return
	}
	var events []Event
	for id, o := range s.followed {
		if _, ok := next[id]; !ok {
			events = append(events, Event{Override: o})
		}
	}
	for id, o := range next {
		if _, ok := s.followed[id]; !ok {
			events = append(events, Event{Override: o, Began: true})
		}
	}
	s.followed = next
	s.apply(now, events...)
}

// List returns the active overrides in the order in which they were added.
func (s *Set) List() []Override {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inForce(time.Now())
}

// inForce returns the overrides that have not ended at a time. The caller holds mu.
func (s *Set) inForce(now time.Time) []Override {
	list := slices.AppendSeq(slices.Collect(maps.Values(s.own)), maps.Values(s.followed))
	list = slices.DeleteFunc(list, func(o Override) bool { return o.ended(now) })
	slices.SortFunc(list, func(a, b Override) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return list
}

// Close ends all overrides. After that, the set accepts no new ones.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	clear(s.own)
	clear(s.followed)
	s.apply(time.Now())
}

// apply applies the overrides that have not ended at a time, sets the timer for the next end,
// and reports events. The caller holds mu, which is unlocked while observers are called.
func (s *Set) apply(now time.Time, events ...Event) {
	list := s.inForce(now)
	for i := range s.packages {
		p := &s.packages[i]
		for _, l := range p.Policies {
			l.Limit(limitOf(list, p.Package, l.Load().Name))
		}
	}
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if len(list) > 0 {
		next := slices.MinFunc(list, func(a, b Override) int { return a.Until.Compare(b.Until) })
		s.timer = time.AfterFunc(min(next.Until.Sub(now), lookEvery), s.expire)
	}
	s.stale = true
	s.hold()
	s.report(events)
}

// hold holds and releases the breakers while that is to be done. The caller holds mu, which is
// unlocked meanwhile: a breaker reports its change to observers, which may use the set. If
// another goroutine is at it, or an observer has called, hold leaves it to that call of hold.
func (s *Set) hold() {
	if s.holding {
		return
	}
	s.holding = true
	defer func() { s.holding = false }() // an observer may panic
	for s.stale {
		s.stale = false
		s.holdAll(s.inForce(time.Now()))
	}
}

// holdAll holds and releases the breakers as a list of overrides says. It unlocks mu meanwhile.
func (s *Set) holdAll(list []Override) {
	s.mu.Unlock()
	defer s.mu.Lock()
	for i := range s.packages {
		p := &s.packages[i]
		for _, shared := range p.Shared {
			for _, b := range shared.Breakers {
				switch hold, until := holdOf(list, p.Package, b.Policy().Name); hold {
				case HoldOpen:
					b.HoldOpen(until)
				case HoldClosed:
					b.HoldClosed(until)
				default:
					b.EndHold()
				}
			}
		}
	}
}

// limitOf returns the least limit of attempts for a policy, or 0.
func limitOf(list []Override, pkg, name string) (limit int) {
	for _, o := range list {
		if n := o.MaxAttempts; n > 0 && (limit == 0 || n < limit) && o.selects(pkg, name) {
			limit = n
		}
	}
	return limit
}

// holdOf returns how a breaker is held, and until when.
func holdOf(list []Override, pkg, name string) (hold Hold, until time.Time) {
	for _, o := range list {
		switch {
		case o.Breaker == "" || !o.selects(pkg, name):
		case hold == "", hold == HoldClosed && o.Breaker == HoldOpen, hold == o.Breaker && o.Until.After(until):
			hold, until = o.Breaker, o.Until
		}
	}
	return hold, until
}

// expire removes the overrides that have ended.
func (s *Set) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var events []Event
	for _, list := range []map[string]Override{s.own, s.followed} {
		for id, o := range list {
			if o.ended(now) {
				delete(list, id)
				events = append(events, Event{Override: o, Expired: true})
			}
		}
	}
	s.apply(now, events...)
}

// An Event is the start or the end of an override.
type Event struct {
	Override Override
	Began    bool // the override has begun; otherwise it has ended
	Expired  bool // the override has ended automatically
}

// Observe adds a function that is called when an override begins or ends. It may be
// called by multiple goroutines, and may use the set. Observe panics if f is nil.
func (s *Set) Observe(f func(Event)) {
	if f == nil {
		panic("override: Observe of a nil function")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observers = append(s.observers, f)
}

// report calls the observers. The caller holds mu, which is unlocked meanwhile.
func (s *Set) report(events []Event) {
	slices.SortFunc(events, func(a, b Event) int { return cmp.Compare(a.Override.ID, b.Override.ID) })
	observers := slices.Clone(s.observers)
	s.mu.Unlock()
	defer s.mu.Lock()
	for _, e := range events {
		for _, f := range observers {
			f(e)
		}
	}
}

// Log returns an observer for [Set.Observe] that writes each event to l at level Warn.
func Log(l *slog.Logger) func(Event) {
	return func(e Event) {
		text := "override ended"
		switch {
		case e.Began:
			text = "override began"
		case e.Expired:
			text = "override ended by itself"
		}
		o := &e.Override
		l.LogAttrs(context.Background(), slog.LevelWarn, text,
			slog.String("id", o.ID), slog.String("action", o.Action()), slog.String("target", o.Target),
			slog.Time("until", o.Until), slog.String("reason", o.Reason), slog.String("by", o.By))
	}
}
