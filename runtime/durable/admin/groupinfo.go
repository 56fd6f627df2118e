package admin

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A GroupInfo describes a group.
type GroupInfo struct {
	Run, Group string // Group is the group's id: the name of its policy, preceded by the scopes of the call
	JobID      string
	Policy     job.GroupPolicy // policy of the group's most recent call
	Began      time.Time
	Progress   job.Progress
	Decision   job.Decision // decision that ended the group or led to its provisional result, if any
	Ended      bool
	TimedOut   bool // whether the group's timeout has ended it
	Retries    int  // retries granted by its budget
	Refused    int  // retries refused by its budget
}

// Groups returns the groups of the run that a filter selects, or of all runs. The other
// fields of the filter are ignored. The units of a group are steps: see [StepInfo.Group].
func (c *Client) Groups(ctx context.Context, f Filter) iter.Seq2[GroupInfo, error] {
	q := storage.Query{Kind: storage.KindGroup, Space: c.ns.Space, Run: f.Run}
	return sequence(c.ns, ctx, q, func(r storage.Record) (GroupInfo, bool, error) {
		b, err := record.Decode[record.Group](r)
		if err != nil {
			return GroupInfo{}, false, err
		}
		g := GroupInfo{
			Run: r.Key.Run, Group: r.Key.ID, JobID: b.JobID, Policy: b.Policy, Began: b.Began, Progress: b.Progress,
			Ended: b.End != nil,
		}
		if d := cmp.Or(b.End, b.Early); d != nil {
			g.Decision, g.TimedOut = d.Decision, d.TimedOut
		}
		if b.Budget {
			g.Retries, g.Refused, err = c.spent(ctx, r.Key)
		}
		return g, true, err
	})
}

// spent returns how many retries the budget of a group has granted and refused.
func (c *Client) spent(ctx context.Context, group storage.Key) (granted, refused int, err error) {
	records, err := c.ns.Store.Get(ctx, []storage.Key{c.ns.Key(storage.KindBudget, group.Run, group.ID)})
	if err != nil {
		return 0, 0, err
	}
	b, err := record.Decode[record.CountBudget](records[0])
	return b.Consumed, b.Refused, err
}
