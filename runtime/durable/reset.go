package durable

import (
	"context"
	"fmt"
	"iter"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A BudgetInfo describes a budget in a store: the count budget of a run or a group,
// or a ratio budget that processes share.
type BudgetInfo struct {
	Run  string // or "" for a ratio budget
	Name string // of a ratio budget, or the id of a group, or ""

	// Of a count budget.
	Retries, PerUnit int // the limits
	Consumed         int // retries that were granted
	Refused          int // retries that were refused

	// Of a ratio budget.
	Tokens   float64   // that were left at Refilled, and that nobody had leased
	Leased   float64   // the most that processes have leased of it: see [Link.Connect]
	Refilled time.Time // or zero: it is full
}

// Budgets returns the budgets of the run that a filter selects, or of the namespace,
// by run and name: ratio budgets, which have no run, are the first ones. Run,
// AfterRun and AfterStep, the latter for a name, and Limit of the filter are looked
// at. A ratio budget that nobody has used is not in the store.
func (e *Engine) Budgets(ctx context.Context, f Filter) iter.Seq2[BudgetInfo, error] {
	f = Filter{Run: f.Run, AfterRun: f.AfterRun, AfterStep: f.AfterStep, Limit: f.Limit}
	q := f.query(e.space)
	q.Kind = KindBudget
	budgets := sequence(e, ctx, q, func(r Record) (BudgetInfo, bool, error) {
		info := BudgetInfo{Run: r.Key.Run, Name: r.Key.ID}
		if info.Run != "" {
			b, err := open[budgetBody](r)
			info.Retries, info.PerUnit, info.Consumed, info.Refused = b.Retries, b.PerUnit, b.Consumed, b.Refused
			return info, true, err
		}
		b, err := open[ratioBody](r)
		info.Tokens, info.Refilled = b.Tokens, b.Refilled
		for _, l := range b.Leases {
			info.Leased += l.Capacity
		}
		return info, true, err
	})
	return first(budgets, f.Limit)
}

// ResetBudget fills a budget: the count budget of a run, with the name "", or a
// ratio budget, with the run "". The retries that were refused before stay so:
// requeue their steps. The limit per unit counts on. The error matches
// [ErrNotFound] if the store does not have the budget.
func (e *Engine) ResetBudget(ctx context.Context, run, name string, by ...Operator) error {
	key := e.key(KindBudget, run, name)
	if run == "" {
		return reset(ctx, e, key, operator(by), func(b *ratioBody) { b.Full = true })
	}
	return reset(ctx, e, key, operator(by), func(b *budgetBody) { b.Consumed = 0 })
}

// A BreakerInfo describes a breaker that steps share.
type BreakerInfo struct {
	Name string
	retry.BreakerSnapshot
}

// Breakers returns the breakers of the namespace, by name. A breaker that has
// never seen a failure may not be in the store.
func (e *Engine) Breakers(ctx context.Context) iter.Seq2[BreakerInfo, error] {
	return sequence(e, ctx, Query{Kind: KindBreaker, Space: e.space}, func(r Record) (BreakerInfo, bool, error) {
		s, err := open[retry.BreakerSnapshot](r)
		return BreakerInfo{Name: r.Key.ID, BreakerSnapshot: s}, true, err
	})
}

// ResetBreaker closes a breaker, also one that is escalated or was forced open. The
// results of attempts that it has admitted before do not count. The error matches
// [ErrNotFound] if the store does not have the breaker.
func (e *Engine) ResetBreaker(ctx context.Context, name string, by ...Operator) error {
	return reset(ctx, e, e.key(KindBreaker, "", name), operator(by), func(s *retry.BreakerSnapshot) {
		*s = retry.BreakerSnapshot{State: retry.StateClosed, Generation: s.Generation + 1, LastProbe: s.LastProbe}
	})
}

// ForceOpenBreaker opens a breaker until [Engine.ResetBreaker], as
// [retry.Breaker.ForceOpen] does. The store need not have the breaker yet: steps
// and connected processes with a breaker of this name use the record.
func (e *Engine) ForceOpenBreaker(ctx context.Context, name string, by ...Operator) error {
	o := sharedChange{ActionForced, EventForcedOpen, operator(by)}
	force := func(r *Record, s *retry.BreakerSnapshot, now time.Time) error {
		if r.Bucket.IsZero() {
			r.Bucket = month(now)
		}
		retry.BreakerPolicy{}.Set(s, retry.BreakerSnapshot{State: retry.StateForcedOpen}, now)
		return nil
	}
	return changeShared(ctx, e, e.key(KindBreaker, "", name), o, force)
}

// reset changes a budget or a breaker that the store has.
func reset[B any](ctx context.Context, e *Engine, key Key, by Operator, change func(*B)) error {
	return changeShared(ctx, e, key, sharedChange{ActionReset, EventReset, by}, func(r *Record, b *B, _ time.Time) error {
		if r.Version == 0 {
			return fmt.Errorf("%s: %w", key, ErrNotFound)
		}
		change(b)
		return nil
	})
}

// A sharedChange is what an operator does to a budget or a breaker: the words for it
// in the audit and in events.
type sharedChange struct {
	action Action
	event  EventKind
	by     Operator
}

// changeShared changes the record of a budget or a breaker, and notes who did that.
func changeShared[B any](
	ctx context.Context, e *Engine, key Key, o sharedChange, change func(*Record, *B, time.Time) error,
) error {
	err := e.update(ctx, []Key{key}, func(tx Tx) (Writes, error) {
		r := tx.Record(key)
		b, err := open[B](r)
		if err == nil {
			err = change(&r, &b, tx.Now)
		}
		if err != nil {
			return Writes{}, err
		}
		err = write(&r, &b)
		return Writes{Put: []Record{r}, Add: []Entry{newAudit(r, tx.Now, o.action, o.by)}}, err
	})
	if err == nil {
		e.event(ctx, Event{Kind: o.event, Run: key.Run, Name: key.ID, By: o.by})
	}
	return err
}
