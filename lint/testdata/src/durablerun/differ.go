package durablerun

import (
	"context"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/durablerun/shop"
	"github.com/retrygen/retrygen/lint/testdata/src/uuid"
	"github.com/retrygen/retrygen/runtime/durable"
)

func register(engine *durable.Engine, s *service) {
	durable.Handle(engine, "bill", s.bill)
	durable.Handle(engine, "night", night)
	durable.Handle(engine, "late", late)
	durable.Handle(engine, "lists", lists)
	durable.Handle(engine, "nope", nopeDiffers)
	durable.Handle(engine, "order", nopeOrder)
	durable.Handle(engine, "fail", nopeFails)
}

type service struct {
	engine *durable.Engine
	shop   *shop.Client
	stock  map[string]int
}

func (s *service) bill(ctx context.Context, order string) (string, error) {
	now := time.Now()
	bill := shop.Bill{Cents: 100, Due: now.Add(24 * time.Hour)}
	if _, err := s.shop.RetryCharge(ctx, order, bill); err != nil { // want `an argument of RetryCharge depends on the time: a resumed run passes another one, and the call fails; read the time in a step \(RL510; library\)`
		return "", err
	}
	if err := s.shop.RetryShip(ctx, order+now.Format(time.DateOnly), 0, nil); err != nil { // want `the id of RetryShip depends on the time: a resumed run calls another step; read the time in a step \(RL510; library\)`
		return "", err
	}
	if err := s.shop.RetryShip(ctx, "p", rand.IntN(10), nil); err != nil { // want `the id of RetryShip depends on a random value: .* \(RL510; library\)`
		return "", err
	}
	key := uuid.New().String()
	if err := shop.Pay(ctx, s.shop, "order-"+key, 1); err != nil { // want `the id of Pay depends on a random value: .* \(RL510; library\)`
		return "", err
	}
	if err := s.send(ctx, order, time.Since(now)); err != nil { // want `an argument of send depends on the time: .* \(RL510; library\)`
		return "", err
	}
	if err := shop.RetryClose(durable.Scope(ctx, key), "today"); err != nil { // want `the id of RetryClose depends on a random value: .* \(RL510; library\)`
		return "", err
	}
	if err := shop.Remind(ctx, s.shop, order); err != nil { // want `an argument of bill in Remind depends on the time: .* \(RL510; library\)`
		return "", err
	}
	if err := durable.Start(ctx, s.engine, "copy", "copy-"+key, order); err != nil { // want `the id of Start depends on a random value: .* \(RL510; library\)`
		return "", err
	}
	return key, s.passed(ctx)
}

// send is called in a run.
func (s *service) send(ctx context.Context, order string, took time.Duration) error {
	return s.shop.RetryShip(ctx, order, 1, []string{took.String()})
}

// passed is called in a run, and gets no time from its caller.
func (s *service) passed(ctx context.Context) error {
	return durable.SleepUntil(ctx, "evening", tomorrow()) // want `an argument of SleepUntil depends on the time: .* \(RL510; library\)`
}

func tomorrow() time.Time { return time.Now().Add(24 * time.Hour) }

func night(ctx context.Context, order string) (int, error) {
	if time.Now().Hour() < 6 { // want `the time decides whether the run calls RetryClose: a resumed run may decide otherwise; read the time in a step \(RL510; library\)`
		return 0, shop.RetryClose(ctx, "today")
	}
	return 0, nil
}

func late(ctx context.Context, end time.Time) (int, error) {
	for i := 0; time.Now().Before(end); i++ { // want `the time decides whether the run calls RetryClose: .* \(RL510; library\)`
		if err := shop.RetryClose(durable.Scope(ctx, fmt.Sprint(i)), "today"); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func lists(ctx context.Context, s *service) (int, error) {
	n := 0
	for item := range s.stock {
		if err := s.shop.RetryShip(ctx, "order", n, []string{item}); err != nil { // want `the id of RetryShip depends on the order of a map: a resumed run calls another step; sort the keys \(RL510\)`
			return 0, err
		}
		n++
	}
	if err := s.shop.RetryShip(ctx, "keys", 0, slices.Collect(maps.Keys(s.stock))); err != nil { // want `an argument of RetryShip depends on the order of a map: .* \(RL510; library\)`
		return 0, err
	}
	var items []string
	for item := range s.stock {
		items = append(items, item)
	}
	return n, s.shop.RetryShip(ctx, "items", len(items), items) // want `an argument of RetryShip depends on the order of a map: .* \(RL510\)`
}

// How many items there are, and which, is the same in any order.
func nopeOrder(ctx context.Context, s *service) (int, error) {
	n := 0
	var items []string
	for item, count := range s.stock {
		parts := append([]string{"item"}, item)
		if err := s.shop.RetryShip(ctx, strings.Join(parts, "-"), 0, nil); err != nil {
			return 0, err
		}
		if count > 0 {
			n++
			items = append(items, item)
		}
	}
	if n > 1 || slices.Contains(items, "book") {
		if err := shop.RetryClose(ctx, "today"); err != nil {
			return 0, err
		}
	}
	return n, s.shop.RetryShip(ctx, "items", len(items), nil)
}

func nopeDiffers(ctx context.Context, s *service) (string, error) {
	now, err := durable.Step(ctx, "now", nil, func(context.Context) (time.Time, error) { return time.Now(), nil })
	if err != nil {
		return "", err
	}
	if _, err := s.shop.RetryCharge(ctx, "1", shop.Bill{Due: now}); err != nil {
		return "", err
	}
	if err := s.shop.RetryTell(ctx, "1", time.Now()); err != nil { // on_changed: report
		return "", err
	}
	start := time.Now()
	b := shop.Bill{Due: now}
	measured := struct {
		cents int
		at    time.Time
	}{at: start}
	b.Cents = measured.cents
	if _, err := s.shop.RetryCharge(ctx, "2", b); err != nil {
		return "", err
	}
	if time.Since(start) > time.Second {
		log.Print("slow")
	}
	for item := range s.stock { // the ids are the same in any order
		if err := s.shop.RetryShip(ctx, item, 0, nil); err != nil {
			return "", err
		}
	}
	items := slices.Collect(maps.Keys(s.stock))
	slices.Sort(items)
	if err := s.shop.RetryShip(ctx, "items", 0, items); err != nil {
		return "", err
	}
	if err := s.shop.RetryShip(ctx, "sorted", 0, slices.Sorted(maps.Keys(s.stock))); err != nil {
		return "", err
	}
	if err := s.shop.RetryShip(ctx, uuid.MustParse("1").String(), 0, nil); err != nil {
		return "", err
	}
	return "", s.shop.RetryShip(ctx, "drawn", rand.New(rand.NewPCG(1, 2)).IntN(10), nil)
}

// nopeFails ends with an error when it is too late, and a later execution goes on.
func nopeFails(ctx context.Context, end time.Time) (int, error) {
	if time.Now().After(end) {
		return 0, context.DeadlineExceeded
	}
	return 0, shop.RetryClose(ctx, "today")
}

// nopeInStepDiffers calls a step within a step, which is a plain call.
func nopeInStepDiffers(ctx context.Context, c *shop.Client) error {
	_, err := durable.Step(ctx, "all", nil, func(ctx context.Context) (string, error) {
		return c.RetryCharge(ctx, "1", shop.Bill{Due: time.Now()})
	})
	return err
}

// It may be called in a step.
func caller(ctx context.Context, c *shop.Client) error {
	_, err := c.RetryCharge(ctx, "1", shop.Bill{Due: time.Now()}) // want `an argument of RetryCharge depends on the time: .* \(RL510; named\)`
	return err
}

// nopeStarts chooses the id of a run, which a client may do, and may be called by one.
func nopeStarts(ctx context.Context, engine *durable.Engine) error {
	return durable.Start(ctx, engine, "copy", "copy-"+uuid.New().String(), time.Now())
}

// nopeID chooses the id of a run, outside of it.
func nopeID(ctx context.Context, engine *durable.Engine) error {
	return engine.Run(ctx, "day-"+time.Now().Format(time.DateOnly), func(ctx context.Context) error {
		return shop.RetryClose(ctx, "today")
	})
}
