package hedge

import "context"

// Do calls request, and calls it a second time if the first call takes longer than the
// delay of h. It returns the result of the call that succeeds first. If both fail, it
// returns the result and the error of the first call. request must be idempotent and safe
// for concurrent calls. It should return soon after its context ends, because Do does not
// return until both calls have returned. The other result is dropped. If results must be
// released, use a [Race].
func Do[T any](ctx context.Context, h *Hedge, request func(context.Context) (T, error)) (T, error) {
	var race struct {
		Race
		second T
	}
	defer race.Close()
	first := race.Begin(ctx, h, func() {
		race.Again(func(ctx context.Context) (err error) {
			race.second, err = request(ctx)
			return err
		})
	})
	value, err := request(first)
	if race.End(err) == Second {
		return race.second, nil
	}
	return value, err
}
