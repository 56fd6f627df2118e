package namespace

import (
	"context"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Ends lists the states of runs that have ended. Their results are kept for a while.
var Ends = []storage.Status{
	storage.StatusSucceeded, storage.StatusFailed, storage.StatusCanceled, storage.StatusTimedOut,
}

// expiring lists the states of runs whose deletion may be due or unfinished: see tail.go.
var expiring = append(slices.Clone(Ends), storage.StatusExpired)

// expirePage is the number of runs that one transaction deletes. Other transactions wait for
// it, so it is small.
const expirePage = 250

// Due returns the query for the runs whose deletion is due or unfinished. Those that have been
// due longest come first.
func (n *Namespace) Due(now time.Time) storage.Query {
	return storage.Query{
		Kind: storage.KindRun, Space: n.Space, Status: expiring, DueBy: now,
		Order: storage.OrderDue, Limit: expirePage,
	}
}

// ExpireDue expires one page of the runs that are due, and reports whether there may be more.
// When stop returns true, it ends between two transactions.
func (n *Namespace) ExpireDue(ctx context.Context, now time.Time, stop func() bool) (more bool, err error) {
	runs, next, err := n.Store.List(ctx, n.Due(now))
	if err != nil {
		return false, err
	}
	_, due, err := n.Expire(ctx, runs, stop)
	return due && next != "", err
}

// Expire expires those of the given runs that are due. If a run has a tail of steps to abandon,
// Expire finishes this tail first. It deletes the other runs with their records, inputs and
// results, as many runs in one transaction as possible. If a run has more records than one
// transaction deletes, the transaction that deletes the first page marks the run as expired, so
// that the run is never executed with a part of its records. A run that has dead letters or
// steps in doubt is checked again later.
//
// Expire returns the runs that are completely deleted, and reports whether any run was still
// due. When stop returns true, it ends between two transactions.
func (n *Namespace) Expire(
	ctx context.Context, runs []storage.Record, stop func() bool,
) (expired []string, due bool, err error) {
	var rest []storage.Key
	for _, r := range runs {
		b, err := record.Decode[record.Run](r)
		switch {
		case err != nil:
			return nil, due, err
		case r.Status != storage.StatusSucceeded || !b.Tail:
			rest = append(rest, r.Key)
			continue
		}
		tail, err := n.abandon(ctx, r.Key, stop)
		if due = due || tail; err != nil {
			return nil, due, err
		}
	}
	slices.SortFunc(rest, storage.Key.Compare)
	for len(rest) > 0 && !stop() {
		p, err := n.portion(ctx, rest)
		if err == nil {
			err = p.expire(ctx)
		}
		if err != nil {
			return expired, due, err
		}
		for _, run := range p.expired {
			n.Event(ctx, events.Event{Kind: events.EventExpired, Run: run})
		}
		expired, due, rest = append(expired, p.expired...), due || p.due, rest[p.decided:]
	}
	return expired, due, nil
}

// abandon abandons the remaining unfinished steps of a run that has succeeded, which are its
// tail. It reports whether the run still had a tail.
func (n *Namespace) abandon(ctx context.Context, run storage.Key, stop func() bool) (tail bool, err error) {
	for more := true; more && err == nil && !stop(); tail = true {
		var now bool
		if now, more, err = n.AbandonPage(ctx, run); !now {
			return tail, err
		}
	}
	return tail, err
}

// A portion is the work of one transaction: some runs with all of their records, or one run
// with the first page of its records.
type portion struct {
	ns   *Namespace
	runs []storage.Key
	page []storage.Key // the first page of the run's records, or nil

	decided int      // the number of runs that were decided; the others may still be due
	expired []string // the runs that are completely deleted
	due     bool     // some of the runs were due
}

// portion returns the first portion of the given runs, of which there is at least one.
func (n *Namespace) portion(ctx context.Context, runs []storage.Key) (*portion, error) {
	p := &portion{ns: n, runs: runs}
	for _, kind := range [...]storage.Kind{storage.KindGroup, storage.KindStep} { // runs have few budgets
		records, next, err := n.Store.List(ctx, storage.Query{Kind: kind, Space: n.Space, Runs: p.ids(), Brief: true})
		if err != nil {
			return nil, err
		}
		if next == "" {
			continue
		}
		last := records[len(records)-1].Key.Run // this run may have more records
		whole := slices.IndexFunc(p.runs, func(key storage.Key) bool { return key.Run == last })
		p.runs = p.runs[:max(whole, 1)]
		if whole > 0 {
			continue
		}
		for _, r := range records {
			p.page = append(p.page, r.Key)
		}
		break
	}
	return p, nil
}

// ids returns the ids of the runs.
func (p *portion) ids() (ids []string) {
	for _, key := range p.runs {
		ids = append(ids, key.Run)
	}
	return ids
}

// expire deletes the portion.
func (p *portion) expire(ctx context.Context) error {
	sel := storage.Select{
		Keys: slices.Concat(p.runs, p.page), Queries: []storage.Query{p.ns.blockedSteps(p.ids())},
	}
	return p.ns.Store.Update(ctx, sel, p.decide)
}

// blockedStatus lists the states of steps that a person must look at before their run expires.
var blockedStatus = []storage.Status{storage.StatusDead, storage.StatusInDoubt, storage.StatusPaused}

// blockedSteps returns the query for the steps of the given runs that a person must look at
// before the runs expire.
func (n *Namespace) blockedSteps(runs []string) storage.Query {
	return storage.Query{Kind: storage.KindStep, Space: n.Space, Runs: runs, Attention: true, Status: blockedStatus}
}

// Blocked returns those of the given runs that do not expire until someone has dealt with their
// dead letters or their steps in doubt.
func (n *Namespace) Blocked(ctx context.Context, runs []string) (map[string]bool, error) {
	blocked := map[string]bool{}
	for len(runs) > 0 {
		q := n.blockedSteps(runs)
		q.Brief = true
		records, next, err := n.Store.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			blocked[r.Key.Run] = true
		}
		if next == "" {
			break
		}
		runs = slices.DeleteFunc(slices.Clone(runs), func(run string) bool { return blocked[run] })
	}
	return blocked, nil
}

// decide expires the runs that are still due. A run is no longer due if it was requeued, if
// another engine has expired it, or if it has just succeeded with a tail.
func (p *portion) decide(tx storage.Tx) (w storage.Writes, err error) {
	p.decided, p.expired, p.due = len(p.runs), nil, false
	blocked := map[string]bool{}
	for _, r := range tx.Records[len(p.runs):] {
		if slices.Contains(blockedStatus, r.Status) {
			blocked[r.Key.Run] = true
		}
	}
	if len(tx.Records) == len(p.runs)+len(p.page)+storage.MaxPage { // there may be more blocked steps
		last := tx.Records[len(tx.Records)-1].Key.Run
		p.decided = 1 + slices.IndexFunc(p.runs, func(key storage.Key) bool { return key.Run == last })
	}
	for _, r := range tx.Records[:p.decided] {
		b, err := record.Decode[record.Run](r)
		if err != nil {
			return w, err
		}
		switch {
		case !isExpiring(&r, &b, tx.Now):
			continue
		case r.Status != storage.StatusExpired && blocked[r.Key.Run]:
			r.Due = tx.Now.Add(max(b.RetentionAfter(r.Status), blockedKeep))
		default:
			r.Status, r.Due, b.Result, b.Input, b.Job = storage.StatusExpired, time.Time{}, nil, nil, nil
			if b.Tail = len(p.page) > 0; b.Tail {
				r.Due, w.Delete, p.decided = tx.Now, p.page, 0
			} else {
				w.Clear, p.expired = append(w.Clear, r.Key), append(p.expired, r.Key.Run)
			}
		}
		if err := record.Encode(&r, &b); err != nil {
			return w, err
		}
		w.Put, p.due = append(w.Put, r), true
	}
	return w, nil
}

// isExpiring reports whether the deletion of a run is due or unfinished.
func isExpiring(r *storage.Record, b *record.Run, now time.Time) bool {
	return slices.Contains(expiring, r.Status) && !r.Due.IsZero() && !r.Due.After(now) &&
		(r.Status == storage.StatusExpired || !b.Tail)
}

// blockedKeep is the minimum time after which a run with blocked steps is checked again.
const blockedKeep = time.Hour

// ownerKeep is the time for which the records of dead engines are kept.
const ownerKeep = time.Hour

// ExpireOwners deletes the records of engines that died long ago and whose runs were
// taken over.
func (n *Namespace) ExpireOwners(ctx context.Context, now time.Time) error {
	q := storage.Query{Kind: storage.KindOwner, Space: n.Space, DueBy: now.Add(-ownerKeep)}
	return n.Each(ctx, q, func(o storage.Record) error {
		runs, _, err := n.Store.List(ctx, storage.Query{Kind: storage.KindRun, Space: n.Space, Owner: o.Key.ID, Limit: 1})
		if err != nil || len(runs) > 0 {
			return err
		}
		return n.Update(ctx, []storage.Key{o.Key}, func(tx storage.Tx) (storage.Writes, error) {
			if tx.Record(o.Key).Due.After(tx.Now.Add(-ownerKeep)) {
				return storage.Writes{}, nil // the engine is alive
			}
			return storage.Writes{Delete: []storage.Key{o.Key}}, nil
		})
	})
}
