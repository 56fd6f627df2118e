package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// By names the person who makes a change and gives the reason. It is an option of
// [Client.Cancel] and the other methods for operators. Both strings are stored with the
// change. If a step was changed, they are in the step's history. For all other changes,
// [Client.Audit] returns them.
func By(name, reason string) events.Operator { return events.Operator{Name: name, Reason: reason} }

// operator returns the last of some options, as a record keeps it.
func operator(by []events.Operator) events.Operator {
	if len(by) == 0 {
		return events.Operator{}
	}
	o := by[len(by)-1]
	return events.Operator{Name: record.Clip(o.Name), Reason: record.Clip(o.Reason)}
}

// An Action is what an operator did to a run, a budget, a breaker or a store.
type Action string

// The actions.
const (
	ActionCanceled Action = "canceled"
	ActionPaused   Action = "paused"
	ActionResumed  Action = "resumed"
	ActionReset    Action = "reset"
	ActionForced   Action = "forced open"
	ActionExpired  Action = "expired"  // the run was deleted before its retention period had passed: see [Client.Expire]
	ActionImported Action = "imported" // steps from another system were imported: see [Client.Import]
	ActionAccepted Action = "accepted" // the store's incarnation was accepted: see [Client.Accept]

	ActionOverrode Action = "overrode"          // an override was stored: see [Client.Override]
	ActionEnded    Action = "ended an override" // an override was ended: see [Client.EndOverride]
)

// An AuditEntry describes a change that an operator made to a run, a budget, a breaker or
// the whole store.
type AuditEntry struct {
	Kind   storage.Kind // KindRun, KindBudget, KindBreaker, KindIncarnation or KindOverrides
	Run    string       // id of the run, or "" for something that runs share
	Name   string       // name of the budget or the breaker
	Action Action
	Detail string // what an override does
	At     time.Time
	By     events.Operator
}

// Audit returns the changes that operators have made to a run, a budget or a breaker,
// oldest first. name is "" for a run and for a run's budget. run is "" for a budget or a
// breaker that runs share. Both are "" for [storage.KindIncarnation] and
// [storage.KindOverrides]. Changes to a step are in its history: see [Client.Attempts].
func (c *Client) Audit(ctx context.Context, kind storage.Kind, run, name string) iter.Seq2[AuditEntry, error] {
	return func(yield func(AuditEntry, error) bool) {
		for entry, err := range c.ns.Entries(ctx, c.ns.Key(kind, run, name)) {
			var a AuditEntry
			if err == nil {
				a, err = auditEntry(entry)
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}

// auditBody is the body of the entry of an action.
type auditBody struct {
	Action Action          `json:"action"`
	Detail string          `json:"detail,omitempty"`
	By     events.Operator `json:"by,omitzero"`
}

// newAudit returns the entry of an action on a record that is written with it:
// its number is the next version of the record.
func newAudit(r storage.Record, now time.Time, action Action, by events.Operator) storage.Entry {
	return newDetailedAudit(r, now, auditBody{Action: action, By: by})
}

// newDetailedAudit returns the entry with a body.
func newDetailedAudit(r storage.Record, now time.Time, b auditBody) storage.Entry {
	body, _ := json.Marshal(b) // of strings
	return storage.Entry{Step: r.Key, Part: int(r.Version + 1), At: now, Bucket: r.Bucket, Body: body}
}

func auditEntry(entry storage.Entry) (AuditEntry, error) {
	var b auditBody
	if err := json.Unmarshal(entry.Body, &b); err != nil {
		return AuditEntry{}, fmt.Errorf("%w: an action on %s: %w", storage.ErrFormat, entry.Step, err)
	}
	return AuditEntry{
		Kind: entry.Step.Kind, Run: entry.Step.Run, Name: entry.Step.ID, Action: b.Action, Detail: b.Detail,
		At: entry.At, By: b.By,
	}, nil
}
