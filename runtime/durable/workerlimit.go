package durable

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// limiting contains what a claim knows about the limits of its handlers.
type limiting struct {
	handlers map[string]record.Limits // the handlers with limits
	keys     []storage.Key            // the keys of their records, without duplicates
	free     map[record.Slot]bool     // slots whose claims have ended, and that never count again
}

// limiting returns the limits of the given handlers, and the bodies of their records as read.
// It reads the store only if there are limits.
func (w *worker) limiting(
	ctx context.Context, o *owner, handlers []string,
) (l limiting, bodies map[storage.Key]record.Limit, err error) {
	e := w.e
	e.mu.Lock()
	for _, name := range handlers {
		h := e.handlers[name]
		if !h.limits.Any() {
			continue
		}
		if l.handlers == nil {
			l.handlers = map[string]record.Limits{}
		}
		l.handlers[name] = h.limits
		if key := e.ns.LimitKey(name); !slices.Contains(l.keys, key) {
			l.keys = append(l.keys, key)
		}
	}
	e.mu.Unlock()
	if len(l.keys) == 0 {
		return l, nil, nil
	}
	records, err := e.ns.Store.Get(ctx, l.keys)
	if err != nil {
		return l, nil, err
	}
	bodies = map[storage.Key]record.Limit{}
	var slots []record.Slot
	for _, r := range records {
		b, err := record.Decode[record.Limit](r)
		if err != nil {
			return l, nil, err
		}
		bodies[r.Key] = b
		slots = append(slots, b.Executing...)
	}
	registered := e.handlerKeys()
	l.free, err = e.ns.FreeSlots(ctx, o.now(), slots, func(handler string) bool {
		return slices.Contains(registered, handler)
	})
	for key, b := range bodies {
		b.Without(l.free)
		bodies[key] = b
	}
	return l, bodies, err
}

// unlimited returns those of the given handlers whose runs may start now. For handlers with a
// limit, it also returns the number of runs that may start.
func (w *worker) unlimited(
	ctx context.Context, o *owner, handlers []string,
) (rest []string, room map[string]int, l limiting, err error) {
	maps.DeleteFunc(w.later, func(_ string, at time.Time) bool { return !at.After(time.Now()) })
	for _, name := range handlers {
		if _, later := w.later[name]; !later {
			rest = append(rest, name)
		}
	}
	l, bodies, err := w.limiting(ctx, o, rest)
	if err != nil || len(l.keys) == 0 {
		return rest, nil, l, err
	}
	room, now := map[string]int{}, o.now()
	rest = slices.DeleteFunc(rest, func(name string) bool {
		limits, limited := l.handlers[name]
		if !limited {
			return false
		}
		b := bodies[w.e.ns.LimitKey(name)]
		if room[name] = limits.Room(&b, now); room[name] == 0 {
			w.sleepUntil(name, limits.Wait(b.Arrival, now))
		}
		return room[name] == 0
	})
	return rest, room, l, nil
}

// sleepUntil records that the rate of a handler allows no start for some time.
func (w *worker) sleepUntil(handler string, wait time.Duration) {
	if wait > 0 {
		w.later[handler] = time.Now().Add(wait)
	}
}

// patience returns how long a worker waits before its next claim. That is the poll interval, or
// less if the rate of a handler allows a start earlier.
func (w *worker) patience() time.Duration {
	d := w.options.poll
	for _, at := range w.later {
		d = min(d, max(time.Until(at), 0))
	}
	return d
}
