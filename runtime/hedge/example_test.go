package hedge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/retrygen/retrygen/runtime/hedge"
)

// lookup answers only the second request. The first one waits until it is canceled.
func lookup(ctx context.Context, name string) (string, error) {
	if !hedge.Is(ctx) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	return strings.ToUpper(name), nil
}

var lookupHedge = hedge.New(hedge.Policy{Name: "lookup", After: time.Millisecond})

func ExampleDo() {
	answer, err := hedge.Do(context.Background(), lookupHedge, func(ctx context.Context) (string, error) {
		return lookup(ctx, "gopher")
	})
	fmt.Println(answer, err)
	// Output: GOPHER <nil>
}

// The results of this Race must be released, including the one that is not used.
func ExampleRace() {
	release := func(answer string) {
		if answer != "" {
			fmt.Println("released", answer)
		}
	}
	find := func(ctx context.Context) (answer string, err error) {
		var race struct { // in one allocation, for both requests
			hedge.Race
			answer string
		}
		defer race.Close()
		first := race.Begin(ctx, lookupHedge, func() {
			race.Again(func(ctx context.Context) (err error) {
				race.answer, err = lookup(ctx, "gopher")
				return err
			})
		})
		answer, err = lookup(first, "gopher")
		fmt.Println("the first request:", err, errors.Is(err, hedge.ErrLost))
		switch race.End(err) {
		case hedge.First:
			release(race.answer)
		case hedge.Second:
			release(answer)
			answer, err = race.answer, nil
		}
		return answer, err
	}
	fmt.Println(find(context.Background()))
	// Output:
	// the first request: hedge: the other request succeeded first true
	// GOPHER <nil>
}
