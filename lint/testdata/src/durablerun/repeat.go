package durablerun

import (
	"context"
	"fmt"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/directcall/orders"
	"github.com/retrygen/retrygen/lint/testdata/src/durablerun/shop"
	"github.com/retrygen/retrygen/runtime/durable"
)

func step(ctx context.Context, fetch func(context.Context) (int, error)) error {
	for range 3 {
		if _, err := durable.Step(ctx, "fetch", nil, fetch); err != nil { // want `each iteration calls the same step of Step: put what differs into its id, or into the context by durable.Scope \(RL508\)`
			return err
		}
	}
	return nil
}

func wrapper(ctx context.Context, c *orders.Client, id string, amounts []int) error {
	for _, amount := range amounts {
		receipt, err := c.RetryCharge(ctx, id) // want `each iteration calls the same step of RetryCharge: .* \(RL508\)`
		if err != nil {
			return err
		}
		fmt.Println(receipt, amount)
	}
	return nil
}

func nopeScope(ctx context.Context, fetch func(context.Context) (int, error)) error {
	for i := range 3 {
		ctx := durable.Scope(ctx, fmt.Sprint(i))
		if _, err := durable.Step(ctx, "fetch", nil, fetch); err != nil {
			return err
		}
	}
	return nil
}

func nopeOther(ctx context.Context, c *orders.Client, ids []string) error {
	for _, id := range ids {
		if _, err := c.RetryCharge(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// What an id is made of may be changed in place.
func nopeContent(ctx context.Context, c *shop.Client, name []byte, counts map[string]int) error {
	for range 3 {
		if err := shop.Pay(ctx, c, string(name), 1); err != nil {
			return err
		}
		name[0]++
	}
	for range 3 {
		if err := shop.Pay(ctx, c, fmt.Sprint(counts), 1); err != nil {
			return err
		}
		counts["paid"]++
	}
	return nil
}

// A method value has its receiver already: nothing is known of it.
func nopeMethodValues(ctx context.Context, c *shop.Client, orders []string) error {
	status, closeDay := c.RetryStatus, c.CloseDay
	for _, order := range orders {
		if _, err := status(ctx, order); err != nil {
			return err
		}
	}
	return closeDay(ctx)
}

func nopeChanged(ctx context.Context, c *orders.Client, id string) error {
	for range 3 {
		if _, err := c.RetryCharge(ctx, id); err != nil {
			return err
		}
		id += "'"
	}
	return nil
}

func answer(ctx context.Context, c *orders.Client, id string) error {
	for {
		receipt, err := c.RetryCharge(ctx, id) // want `each iteration calls the same step of RetryCharge: .* \(RL508\)`
		if err != nil {
			return err
		}
		if receipt != "" {
			break
		}
	}
	return nil
}

func poll(ctx context.Context, status func(context.Context) (string, error)) error {
	for {
		s, err := durable.Step(ctx, "status", nil, status) // want `each iteration calls the same step of Step: .* \(RL508\)`
		if err != nil || s == "done" {
			return err
		}
		if err := durable.Sleep(ctx, "a minute", time.Minute); err != nil { // want `each iteration calls the same step of Sleep: .* \(RL508\)`
			return err
		}
	}
}

func twoIDs(ctx context.Context, c *shop.Client, orders []string) error {
	for range orders {
		if err := c.RetryShip(ctx, orders[0], 1, nil); err != nil {
			return err
		}
		if err := c.RetryShip(ctx, "first", 1, nil); err != nil { // want `each iteration calls the same step of RetryShip: .* \(RL508\)`
			return err
		}
	}
	return nil
}

func noID(ctx context.Context, days []string) error {
	for _, day := range days {
		if err := shop.RetryClose(ctx, day); err != nil { // want `each iteration calls the same step of RetryClose: .* \(RL508\)`
			return err
		}
	}
	return nil
}

// A helper is seen through, in this package and in others.
func helper(ctx context.Context, c *shop.Client, orders []string) error {
	for _, order := range orders {
		if err := shop.Pay(ctx, c, "order", 100); err != nil { // want `each iteration calls the same step of Pay: .* \(RL508\)`
			return err
		}
		if err := closeDay(ctx, order); err != nil { // want `each iteration calls the same step of closeDay: .* \(RL508\)`
			return err
		}
		if err := shop.Pay(ctx, c, order, 100); err != nil {
			return err
		}
	}
	return nil
}

func closeDay(ctx context.Context, order string) error {
	ctx = durable.Scope(ctx, "closing")
	return shop.RetryClose(ctx, order)
}

func closure(ctx context.Context, c *shop.Client, id string, orders []string) error {
	charge := func(bill shop.Bill) error {
		_, err := c.RetryCharge(ctx, id, bill)
		return err
	}
	for i := range orders {
		if err := charge(shop.Bill{Cents: i}); err != nil { // want `each iteration calls the same step of this function: .* \(RL508\)`
			return err
		}
	}
	return nil
}

func sprint(ctx context.Context, c *shop.Client, day int, orders []string) error {
	for range orders {
		if err := c.RetryShip(ctx, fmt.Sprint("day-", day), 1, nil); err != nil { // want `each iteration calls the same step of RetryShip: .* \(RL508\)`
			return err
		}
	}
	return nil
}

func nopeRepeat(ctx context.Context, c *shop.Client) error {
	for {
		s, err := c.RetryStatus(ctx, "order")
		if err != nil || s == "done" {
			return err
		}
	}
}

func nopeRecordsFailures(ctx context.Context, c *shop.Client) error {
	for {
		p, err := c.RetryPrice(ctx, "order")
		if err != nil || p < 100 {
			return err
		}
	}
}

func nopeSuccessEnds(ctx context.Context, fetch func(context.Context) (int, error)) (err error) {
	for range 3 {
		if _, err = durable.Step(ctx, "fetch", nil, fetch); err == nil {
			return nil
		}
	}
	return err
}

func nopeOneOfMany(ctx context.Context, c *shop.Client, orders []string, mine string) error {
	for _, order := range orders {
		if order != mine {
			continue
		}
		if _, err := c.RetryCharge(ctx, mine, shop.Bill{}); err != nil {
			return err
		}
	}
	return nil
}

func nopeHelperScope(ctx context.Context, orders []string) error {
	for _, order := range orders {
		if err := scoped(ctx, order); err != nil {
			return err
		}
	}
	return nil
}

func scoped(ctx context.Context, order string) error {
	return shop.RetryClose(durable.Scope(ctx, order), "today")
}

func nopeUnits(ctx context.Context, c *shop.Client, orders []string) error {
	for i, order := range orders {
		if err := c.RetryShip(ctx, "order", i, []string{order}); err != nil {
			return err
		}
		if err := c.RetryShip(ctx, fmt.Sprint(order), 0, nil); err != nil {
			return err
		}
	}
	return nil
}

func nopeInStep(ctx context.Context, c *shop.Client, orders []string) error {
	_, err := durable.Step(ctx, "all", nil, func(ctx context.Context) (int, error) {
		for range orders {
			if err := shop.RetryClose(ctx, "today"); err != nil { // a plain call
				return 0, err
			}
		}
		return len(orders), nil
	})
	return err
}

// nopeCounts has a variable that a function literal reads.
func nopeCounts(ctx context.Context, fetch func(context.Context, int) (int, error)) error {
	i := 0
	for {
		last, err := durable.Step(durable.Scope(ctx, fmt.Sprint(i)), "fetch", nil, func(ctx context.Context) (int, error) {
			return fetch(ctx, i)
		})
		if err != nil || last == 0 {
			return err
		}
		i = i + 1
	}
}

// nopeDeeper derives the context of each iteration from the one before.
func nopeDeeper(ctx context.Context, c *shop.Client, pages [][]string) error {
	for i, page := range pages {
		ctx = durable.Scope(ctx, "deeper")
		for range page {
			ctx = durable.Scope(ctx, "deepest")
			if err := c.RetryShip(ctx, "order", i, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
