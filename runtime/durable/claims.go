package durable

import "time"

// A claiming is what a worker claims in one transaction: runs that are due, or
// those of an owner that is dead.
type claiming struct {
	owner   string               // the id of the engine
	orphans string               // the id of the dead owner, or ""
	dead    bool                 // its process is known to be dead
	waits   map[string]time.Time // until when its runs only wait
	slots   int                  // how many runs may be claimed
	active  map[string]bool      // runs that the engine has not left yet
}

// A taking is the result of a claiming.
type taking struct {
	now        time.Time // of the store
	runs       []claimed
	selected   map[string]int   // how many runs of each handler were looked at
	unreadable map[string]error // runs that a newer version has written
}

// A claimed run is one that a worker owns, or has ended.
type claimed struct {
	claim
	key     Key
	handler string
}

// keys returns the records that are locked before the runs: the owner of orphans,
// too, which must not renew its lease meanwhile.
func (c *claiming) keys(e *Engine) []Key {
	keys := []Key{e.key(KindOwner, "", c.owner)}
	if c.orphans != "" {
		keys = append(keys, e.key(KindOwner, "", c.orphans))
	}
	return keys
}

// decide decides which of the selected runs the engine claims: in their order, as
// long as there are slots.
func (c *claiming) decide(tx Tx) (w Writes, t taking, err error) {
	t = taking{now: tx.Now, selected: map[string]int{}, unreadable: map[string]error{}}
	if err := leased(tx.Records[0]); err != nil {
		return w, t, err
	}
	runs := tx.Records[1:]
	var last crash
	if c.orphans != "" {
		if last, err = crashOf(tx.Records[1], time.Time{}); err != nil {
			return w, t, err
		}
		if runs = runs[1:]; !c.dead {
			_, left, err := leaseOf(tx.Now, &tx.Records[1], &w)
			if err != nil || left > 0 {
				return w, t, err
			}
		}
	}
	slots := c.slots
	for _, r := range runs {
		t.selected[r.Handler]++
		b, err := open[runBody](r)
		switch {
		case err != nil:
			t.unreadable[r.Key.Run] = err
			continue
		case slots == 0 || c.active[r.Key.Run]:
			continue
		case c.orphans == "" && (r.Owner != "" || r.Due.IsZero() || r.Due.After(tx.Now)):
			continue // the clock of this process is ahead
		}
		last.waits = c.waits[r.Key.Run]
		put, taken, err := take(tx.Now, c.owner, r, b, last)
		if err != nil {
			return Writes{}, t, err
		}
		if taken.err == nil {
			slots--
		}
		w.Put = append(w.Put, put)
		t.runs = append(t.runs, claimed{claim: taken, key: r.Key, handler: r.Handler})
	}
	return w, t, nil
}
