package namespace

import (
	"context"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// FreeSlots returns the slots among some whose claims have ended: the fence of the run
// has risen, or it has no owner. An owner cannot come back under the same fence. A run
// of a dead owner counts until a worker takes it over, as it does soon if it has the
// handler. If no worker does, since the run was canceled or paused, or its version has no
// worker, its slot is free when the owner has not renewed its lease for another one.
func (n *Namespace) FreeSlots(
	ctx context.Context, now time.Time, slots []record.Slot, taken func(handler string) bool,
) (free map[record.Slot]bool, err error) {
	free = map[record.Slot]bool{}
	var left []record.Slot // to their owners, in the order of keys
	var owners []storage.Key
	for page := range slices.Chunk(slots, storage.MaxPage) {
		keys := make([]storage.Key, len(page))
		for i, s := range page {
			keys[i] = n.Key(storage.KindRun, s.Run, "")
		}
		runs, err := n.Store.Get(ctx, keys)
		if err != nil {
			return nil, err
		}
		for i, r := range runs {
			switch {
			case r.Owner == "" || r.Fence != page[i].Fence:
				free[page[i]] = true
			case r.Status != storage.StatusOpen || !taken(r.Handler):
				left, owners = append(left, page[i]), append(owners, n.Key(storage.KindOwner, "", r.Owner))
			}
		}
	}
	if len(owners) == 0 {
		return free, nil
	}
	records, err := n.Store.Get(ctx, owners)
	if err != nil {
		return nil, err
	}
	live, knows := n.Store.(storage.Liveness)
	for i, r := range records {
		b, err := record.Decode[record.Owner](r)
		if err != nil {
			continue // of a newer version: it lives
		}
		if r.Version == 0 || knows && live.Dead(r.Key.ID) || b.Until.Add(b.Lease).Before(now) {
			free[left[i]] = true
		}
	}
	return free, nil
}
