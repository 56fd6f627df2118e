package namespace

import (
	"context"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// FreeSlots returns those of the given slots whose claims have ended, because the run now has a
// higher fence or no owner. An owner cannot continue under the old fence. The slot of a dead
// owner's run remains taken until a worker takes over the run, which happens soon if the worker
// has the handler. If no worker takes it over, because the run was canceled or paused, or
// because no worker has its version, the slot becomes free when the owner has not renewed its
// lease for the length of another lease, or as soon as the store knows that the owner is dead.
func (n *Namespace) FreeSlots(
	ctx context.Context, now time.Time, slots []record.Slot, taken func(handler string) bool,
) (free map[record.Slot]bool, err error) {
	free = map[record.Slot]bool{}
	var left []record.Slot // slots whose owners have to be checked, in the order of keys
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
			continue // written by a newer version: the owner is treated as alive
		}
		if r.Version == 0 || knows && live.Dead(r.Key.ID) || b.Until.Add(b.Lease).Before(now) {
			free[left[i]] = true
		}
	}
	return free, nil
}
