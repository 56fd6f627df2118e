package admin

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A BudgetInfo describes a budget in a store: either the count budget of a run or a
// group, or a ratio budget that processes share.
type BudgetInfo struct {
	Run  string // id of the run, or "" for a ratio budget
	Name string // name of a ratio budget, id of a group, or ""

	// These fields are set for a count budget.
	Retries, PerUnit int // limits on the retries
	Consumed         int // number of retries that were granted
	Refused          int // number of retries that were refused

	// These fields are set for a ratio budget.
	Tokens   float64   // tokens that were left at Refilled and not leased
	Leased   float64   // maximum number of tokens that processes have leased: see shared.Link.Connect
	Refilled time.Time // time when tokens were last added; zero if the budget is full
}

// Budgets returns the budgets of the run that the filter names, or of the whole
// namespace, ordered by run and name. Ratio budgets have no run and come first. The only
// fields of the filter that are used are Run, Limit, AfterRun and AfterStep. AfterStep is
// the name of a budget. A ratio budget that has never been used is not in the store.
func (c *Client) Budgets(ctx context.Context, f Filter) iter.Seq2[BudgetInfo, error] {
	f = Filter{Run: f.Run, AfterRun: f.AfterRun, AfterStep: f.AfterStep, Limit: f.Limit}
	q := f.query(c.ns.Space)
	q.Kind = storage.KindBudget
	budgets := sequence(c.ns, ctx, q, func(r storage.Record) (BudgetInfo, bool, error) {
		info := BudgetInfo{Run: r.Key.Run, Name: r.Key.ID}
		if info.Run != "" {
			b, err := record.Decode[record.CountBudget](r)
			info.Retries, info.PerUnit, info.Consumed, info.Refused = b.Retries, b.PerUnit, b.Consumed, b.Refused
			return info, true, err
		}
		b, err := record.Decode[record.RatioBudget](r)
		info.Tokens, info.Refilled = b.Tokens, b.Refilled
		for _, l := range b.Leases {
			info.Leased += l.Capacity
		}
		return info, true, err
	})
	return first(budgets, f.Limit)
}

// ResetBudget refills a budget. If name is "", it refills the count budget of a run. If
// run is "", it refills a ratio budget. Steps whose retries were refused stay failed
// until they are requeued. The counts per unit are not reset. The error matches
// [ErrNotFound] if the store does not have the budget.
func (c *Client) ResetBudget(ctx context.Context, run, name string, by ...events.Operator) error {
	key := c.ns.Key(storage.KindBudget, run, name)
	if run == "" {
		return reset(ctx, c.ns, key, operator(by), func(b *record.RatioBudget) { b.Full = true })
	}
	return reset(ctx, c.ns, key, operator(by), func(b *record.CountBudget) { b.Consumed = 0 })
}

// A BreakerInfo describes a breaker that steps share.
type BreakerInfo struct {
	Name string
	breaker.Snapshot
}

// Breakers returns the breakers of the namespace, ordered by name. A breaker that has
// never seen a failure might not be in the store.
func (c *Client) Breakers(ctx context.Context) iter.Seq2[BreakerInfo, error] {
	q := storage.Query{Kind: storage.KindBreaker, Space: c.ns.Space}
	return sequence(c.ns, ctx, q, func(r storage.Record) (BreakerInfo, bool, error) {
		s, err := record.Decode[breaker.Snapshot](r)
		return BreakerInfo{Name: r.Key.ID, Snapshot: s}, true, err
	})
}

// ResetBreaker closes a breaker, even if it is escalated or was forced open. The results
// of attempts that were admitted before the reset do not count. The error matches
// [ErrNotFound] if the store does not have the breaker.
func (c *Client) ResetBreaker(ctx context.Context, name string, by ...events.Operator) error {
	return reset(ctx, c.ns, c.ns.Key(storage.KindBreaker, "", name), operator(by), func(s *breaker.Snapshot) {
		*s = breaker.Snapshot{State: breaker.Closed, Generation: s.Generation + 1, LastProbe: s.LastProbe}
	})
}

// ForceOpenBreaker opens a breaker until [Client.ResetBreaker], as
// [breaker.Breaker.ForceOpen] does. If the store does not have the breaker yet,
// ForceOpenBreaker adds it. Steps and connected processes use the stored breaker with
// this name.
func (c *Client) ForceOpenBreaker(ctx context.Context, name string, by ...events.Operator) error {
	o := sharedChange{ActionForced, events.EventForcedOpen, operator(by)}
	force := func(r *storage.Record, s *breaker.Snapshot, now time.Time) error {
		if r.Bucket.IsZero() {
			r.Bucket = record.Month(now)
		}
		breaker.Policy{}.Set(s, breaker.Snapshot{State: breaker.ForcedOpen}, now)
		return nil
	}
	return changeShared(ctx, c.ns, c.ns.Key(storage.KindBreaker, "", name), o, force)
}

// reset changes a budget or a breaker that the store has.
func reset[B any](
	ctx context.Context, n *namespace.Namespace, key storage.Key, by events.Operator, change func(*B),
) error {
	o := sharedChange{ActionReset, events.EventReset, by}
	return changeShared(ctx, n, key, o, func(r *storage.Record, b *B, _ time.Time) error {
		if r.Version == 0 {
			return fmt.Errorf("%s: %w", key, fault.ErrNotFound)
		}
		change(b)
		return nil
	})
}

// A sharedChange is what an operator does to a budget or a breaker: the words for it
// in the audit and in events.
type sharedChange struct {
	action Action
	event  events.Kind
	by     events.Operator
}

// changeShared changes the record of a budget or a breaker, and notes who did that.
func changeShared[B any](
	ctx context.Context, n *namespace.Namespace, key storage.Key, o sharedChange,
	change func(*storage.Record, *B, time.Time) error,
) error {
	err := n.Update(ctx, []storage.Key{key}, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Record(key)
		b, err := record.Decode[B](r)
		if err == nil {
			err = change(&r, &b, tx.Now)
		}
		if err != nil {
			return storage.Writes{}, err
		}
		err = record.Encode(&r, &b)
		return storage.Writes{Put: []storage.Record{r}, Add: []storage.Entry{newAudit(r, tx.Now, o.action, o.by)}}, err
	})
	if err == nil {
		n.Event(ctx, events.Event{Kind: o.event, Run: key.Run, Name: key.ID, By: o.by})
	}
	return err
}

// Accept allows all engines of the namespace to claim runs again after
// durable.ErrIncarnation, until the store's incarnation changes again. It does not wait
// for the workers. They notice the change at their next poll.
func (c *Client) Accept(ctx context.Context, by ...events.Operator) error {
	return c.ns.Update(ctx, []storage.Key{c.ns.IncarnationKey()}, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Record(c.ns.IncarnationKey())
		w, err := record.Accept(tx.Now, r, c.ns.Store.Guarantee().Incarnation)
		r.Bucket = record.Month(tx.Now)
		w.Add = append(w.Add, newAudit(r, tx.Now, ActionAccepted, operator(by)))
		return w, err
	})
}
