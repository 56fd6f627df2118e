package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/runtime/job"
)

// The ids of the steps of groups begin with a slash. No other id does, because the name of a
// step is not empty and its slashes are escaped. A resumed run omits these steps when it reads
// its steps ahead.
const (
	InGroups    = "/"
	AfterGroups = "0" // the character after the slash
)

// GroupIDs contains the ids of the records of a group.
type GroupIDs struct {
	Group string // the id of the group's record: the scopes and the name
	Units string // the prefix of the steps that record the ends of units
	scope string // the prefix of the scopes of the units, which contain the steps that the units call
}

// NewGroupIDs returns the ids of the group with the given name in the given scopes.
func NewGroupIDs(scopes, name string) GroupIDs {
	return GroupIDsOf(scopes + Escape(name))
}

// GroupIDsOf returns the ids of the group whose record has the given id.
func GroupIDsOf(group string) GroupIDs {
	return GroupIDs{Group: group, Units: "/" + group + "/", scope: "/" + group + ":/"}
}

// Note returns the id under which messages refer to a group that has not ended. No step has
// this id.
func (g *GroupIDs) Note() string { return "/" + g.Group }

// Unit returns the id of the step that records the end of a unit.
func (g *GroupIDs) Unit(name string) string { return g.Units + Escape(name) }

// Steps returns the prefix of the steps of a unit.
func (g *GroupIDs) Steps(name string) string { return g.scope + Escape(name) + ":" }

// Name returns the name of the unit whose record has the given id.
func (g *GroupIDs) Name(id string) string { return Unescape(id[len(g.Units):]) }

// GroupOf returns the id of the group whose unit has a record with the given id.
func GroupOf(unit string) string { return unit[1:strings.LastIndexByte(unit, '/')] }

// Following returns the first id after all ids with the given prefix.
func Following(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}

// Unescape is the inverse of [Escape].
func Unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// Group is the body of the record of a group.
type Group struct {
	JobID  string          `json:"job_id,omitempty"`
	Policy job.GroupPolicy `json:"policy"` // the policy of the latest call of the group
	Began  time.Time       `json:"began"`
	Units  string          `json:"units,omitempty"` // the digest of the list of units, after all have records
	Budget bool            `json:"budget,omitempty"`

	Started  int            `json:"started,omitempty"` // number of units whose runs have not ended
	Progress job.Progress   `json:"progress"`
	Seq      int            `json:"seq,omitempty"`     // number of ends of units
	Kept     []string       `json:"kept,omitempty"`    // failed units, unless the policy collects all
	Removed  int            `json:"removed,omitempty"` // number of units that are no longer in the list
	Early    *GroupDecision `json:"early,omitempty"`   // the provisional result
	Passed   bool           `json:"passed,omitempty"`  // Early was passed on to the caller
	End      *GroupDecision `json:"end,omitempty"`
	// Closed reports that the units that had not ended were abandoned. If End is not set, they
	// are being made executable again.
	Closed bool `json:"closed,omitempty"`
}

// A GroupDecision is a decision that completes a group, with the last end of a unit that it
// takes into account.
type GroupDecision struct {
	Decision job.Decision `json:"decision"`
	Seq      int          `json:"seq"` // the number of that end
	TimedOut bool         `json:"timed_out,omitempty"`
}

// Unit contains the fields of a unit's record that the records of other steps do not have.
type Unit struct {
	Counted job.UnitStatus `json:"counted,omitempty"` // the status with which the group counts it
	Seq     int            `json:"seq,omitempty"`     // the number of its end in the group
	// Requeued reports that the unit is executed although the group has ended: an operator has
	// requeued it, or it was added to the list.
	Requeued bool `json:"requeued,omitempty"`
	Removed  bool `json:"removed,omitempty"` // it is no longer in the list
	Started  bool `json:"started,omitempty"` // its run has not ended
}

// Elapsed returns the time since the start of the group.
func (b *Group) Elapsed(now time.Time) time.Duration { return max(now.Sub(b.Began), 0) }

// Decide applies the policy at the given time. It returns the decision if that completes the
// group, provisionally or finally.
func (b *Group) Decide(now time.Time) *GroupDecision {
	var d job.Decision
	b.Progress, d = b.Progress.Decide(&b.Policy, b.Elapsed(now))
	return b.decided(d, now)
}

// decided stores a decision. It returns the decision if that completes the group.
func (b *Group) decided(d job.Decision, now time.Time) *GroupDecision {
	decision := &GroupDecision{Decision: d, Seq: b.Seq}
	timeout := b.Policy.Timeout
	switch {
	case d.Final():
		b.End = decision
	case timeout > 0 && b.Elapsed(now) >= timeout:
		decision.TimedOut = true
		b.End = decision
	case d.Complete:
		b.Early = decision
	default:
		return nil
	}
	if b.End != nil && b.Progress.Pending == 0 {
		b.Closed = true
	}
	return decision
}

// Due returns the next time at which a decision depends only on the time, or zero.
func (b *Group) Due() (at time.Time) {
	if t := b.Policy.Timeout; t > 0 {
		at = b.Began.Add(t)
	}
	if e := b.Policy.BestEffort; e != nil {
		if end := b.Began.Add(e.Effective().Deadline); Earlier(end, at) {
			at = end
		}
	}
	return at
}

// Report counts the end of a unit whose record has the given body. It returns the decision if
// that completes the group.
func (b *Group) Report(body *Step, to job.UnitStatus, now time.Time) *GroupDecision {
	u := body.Unit
	if u.Requeued {
		b.Progress.Ended, b.End = 0, nil // its end counts, whatever was decided before
	}
	var d job.Decision
	b.Progress, d = b.Progress.Report(&b.Policy, u.Counted, to, b.Elapsed(now))
	b.Seq++
	if u.Started {
		b.Started--
	}
	u.Counted, u.Seq, u.Requeued, u.Started = to, b.Seq, false, false
	return b.decided(d, now)
}

// KeepFailure adds a unit to the failed units whose errors are in the outcome. When a batch is
// complete, KeepFailure returns it.
func (b *Group) KeepFailure(unit string) (batch []string) {
	switch c := b.Policy.Collect; {
	case c == job.CollectAll:
		return nil
	case c < 0:
		if len(b.Kept) == 0 {
			b.Kept = []string{unit}
		}
		return nil
	default:
		if b.Kept = append(b.Kept, unit); len(b.Kept) < int(c) {
			return nil
		}
		batch, b.Kept = b.Kept, nil
		return batch
	}
}

// ListDigest returns a digest of a list of units.
func ListDigest(units []string) string {
	h := sha256.New()
	length := make([]byte, 0, 20)
	for _, unit := range units {
		h.Write(append(strconv.AppendInt(length[:0], int64(len(unit)), 10), ':'))
		h.Write([]byte(unit))
	}
	return fmt.Sprintf("%d:%s", len(units), hex.EncodeToString(h.Sum(nil)[:16]))
}

// unitOf returns the id of the record of the unit in which a step is called, or "".
func unitOf(step string) string {
	i := strings.LastIndex(step, ":/") // slashes in names are escaped
	if i < 0 {
		return ""
	}
	name, _, _ := strings.Cut(step[i+len(":/"):], ":")
	return step[:i] + "/" + name
}

// UnitsOf returns the ids of the records of all units in which a step is called, beginning with
// the innermost. unit reports whether the step itself is the record of a unit.
func UnitsOf(step string, unit bool) (units []string) {
	for {
		if unit {
			step = step[len(InGroups):] // leaves the id of the group, which may have been called in another unit
		}
		if step, unit = unitOf(step), true; step == "" {
			return units
		}
		units = append(units, step)
	}
}
