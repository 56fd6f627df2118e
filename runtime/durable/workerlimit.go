package durable

import (
	"context"
	"maps"
	"slices"
	"time"
)

// limiting is what a claim knows of the limits of its handlers.
type limiting struct {
	handlers map[string]limits // that have some
	keys     []Key             // of their records, each once
	free     map[slot]bool     // slots whose claims have ended: they never count again
}

// limiting returns the limits of some handlers, with the bodies of their records as
// they were read. It asks the store only if there are limits.
func (w *worker) limiting(
	ctx context.Context, o *owner, handlers []string,
) (l limiting, bodies map[Key]limitBody, err error) {
	e := w.e
	e.mu.Lock()
	for _, name := range handlers {
		h := e.handlers[name]
		if !h.limits.any() {
			continue
		}
		if l.handlers == nil {
			l.handlers = map[string]limits{}
		}
		l.handlers[name] = h.limits
		if key := e.limitKey(name); !slices.Contains(l.keys, key) {
			l.keys = append(l.keys, key)
		}
	}
	e.mu.Unlock()
	if len(l.keys) == 0 {
		return l, nil, nil
	}
	records, err := e.store.Get(ctx, l.keys)
	if err != nil {
		return l, nil, err
	}
	bodies = map[Key]limitBody{}
	var slots []slot
	for _, r := range records {
		b, err := open[limitBody](r)
		if err != nil {
			return l, nil, err
		}
		bodies[r.Key] = b
		slots = append(slots, b.Executing...)
	}
	registered := e.handlerKeys()
	l.free, err = e.freeSlots(ctx, o.now(), slots, func(handler string) bool {
		return slices.Contains(registered, handler)
	})
	for key, b := range bodies {
		b.without(l.free)
		bodies[key] = b
	}
	return l, bodies, err
}

// freeSlots returns those of some slots whose claims have ended: the fence of the run
// has risen, or it has no owner. An owner cannot come back under the same fence. A run
// of a dead owner counts until a worker takes it over, as it does soon if it has the
// handler. If no worker does, since the run was canceled or paused, or its version has no
// worker, its slot is free when the owner has not renewed its lease for another one.
func (e *Engine) freeSlots(
	ctx context.Context, now time.Time, slots []slot, taken func(handler string) bool,
) (free map[slot]bool, err error) {
	free = map[slot]bool{}
	var left []slot // to their owners, in the order of keys
	var owners []Key
	for page := range slices.Chunk(slots, MaxPage) {
		keys := make([]Key, len(page))
		for i, s := range page {
			keys[i] = e.key(KindRun, s.Run, "")
		}
		runs, err := e.store.Get(ctx, keys)
		if err != nil {
			return nil, err
		}
		for i, r := range runs {
			switch {
			case r.Owner == "" || r.Fence != page[i].Fence:
				free[page[i]] = true
			case r.Status != StatusOpen || !taken(r.Handler):
				left, owners = append(left, page[i]), append(owners, e.key(KindOwner, "", r.Owner))
			}
		}
	}
	if len(owners) == 0 {
		return free, nil
	}
	records, err := e.store.Get(ctx, owners)
	if err != nil {
		return nil, err
	}
	h, knows := e.store.(Holder)
	for i, r := range records {
		b, err := open[ownerBody](r)
		if err != nil {
			continue // of a newer version: it lives
		}
		if r.Version == 0 || knows && h.Dead(r.Key.ID) || b.Until.Add(b.Lease).Before(now) {
			free[left[i]] = true
		}
	}
	return free, nil
}

// unlimited returns those of some handlers whose runs may start now, with how many of
// them if there is a limit.
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
		b := bodies[w.e.limitKey(name)]
		if room[name] = limits.room(&b, now); room[name] == 0 {
			w.sleepUntil(name, limits.wait(b.Arrival, now))
		}
		return room[name] == 0
	})
	return rest, room, l, nil
}

// sleepUntil notes that the rate of a handler lets no run start for some time.
func (w *worker) sleepUntil(handler string, wait time.Duration) {
	if wait > 0 {
		w.later[handler] = time.Now().Add(wait)
	}
}

// patience is how long a worker waits before it claims again: its poll, or less if the
// rate of a handler lets a run start before.
func (w *worker) patience() time.Duration {
	d := w.options.poll
	for _, at := range w.later {
		d = min(d, max(time.Until(at), 0))
	}
	return d
}
