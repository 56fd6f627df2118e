package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"
)

// An Operator is who changes runs and steps by hand, and why: see [By].
type Operator struct {
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// By says who makes a change, and why: an option of [Engine.Cancel] and the
// other methods for operators. Both texts are kept with the change: for a step in
// its history, otherwise for [Engine.Audit].
func By(name, reason string) Operator { return Operator{Name: name, Reason: reason} }

// String returns the name and the reason for messages.
func (o Operator) String() string {
	switch {
	case o.Reason == "":
		return o.Name
	case o.Name == "":
		return o.Reason
	}
	return o.Name + ": " + o.Reason
}

// operator returns the last of some options, as a record keeps it.
func operator(by []Operator) Operator {
	if len(by) == 0 {
		return Operator{}
	}
	o := by[len(by)-1]
	return Operator{Name: clip(o.Name), Reason: clip(o.Reason)}
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
	ActionExpired  Action = "expired"  // before its time: see [Engine.Expire]
	ActionImported Action = "imported" // steps of another system: see [Engine.Import]
	ActionAccepted Action = "accepted" // the incarnation of the store: see [Engine.Accept]
)

// An AuditEntry is something that an operator did to a run, a budget or a breaker,
// or to the whole store.
type AuditEntry struct {
	Kind   Kind   // KindRun, KindBudget, KindBreaker or KindIncarnation
	Run    string // or "" for what runs share
	Name   string // of the budget or the breaker
	Action Action
	At     time.Time
	By     Operator
}

// Audit returns what operators did to a run, or to a budget or a breaker, from
// the first to the last. name is "" for a run and for the budget of a run, run is
// "" for what runs share; both are "" for [KindIncarnation]. What they did to a step is in its history: see
// [Engine.Attempts].
func (e *Engine) Audit(ctx context.Context, kind Kind, run, name string) iter.Seq2[AuditEntry, error] {
	return func(yield func(AuditEntry, error) bool) {
		for entry, err := range e.entries(ctx, e.key(kind, run, name)) {
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
	Action Action   `json:"action"`
	By     Operator `json:"by,omitzero"`
}

// newAudit returns the entry of an action on a record that is written with it:
// its number is the next version of the record.
func newAudit(r Record, now time.Time, action Action, by Operator) Entry {
	body, _ := json.Marshal(auditBody{Action: action, By: by}) // of strings
	return Entry{Step: r.Key, Part: int(r.Version + 1), At: now, Bucket: r.Bucket, Body: body}
}

func auditEntry(entry Entry) (AuditEntry, error) {
	var b auditBody
	if err := json.Unmarshal(entry.Body, &b); err != nil {
		return AuditEntry{}, fmt.Errorf("%w: an action on %s: %w", ErrFormat, entry.Step, err)
	}
	return AuditEntry{
		Kind: entry.Step.Kind, Run: entry.Step.Run, Name: entry.Step.ID, Action: b.Action, At: entry.At, By: b.By,
	}, nil
}
