package durable

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/runtime/job"
)

// The ids of the steps of groups begin with a slash, which no other id does: the
// name of a step is not empty, and its slashes are escaped. A resumed run leaves
// them out when it reads its steps ahead.
const (
	inGroups    = "/"
	afterGroups = "0" // follows the slash
)

// groupIDs are the ids of the records of a group.
type groupIDs struct {
	group string // of its record of KindGroup: the scopes and the name
	units string // the prefix of the steps that record the ends of units
	scope string // the prefix of the scopes of the units, with the steps they call
}

func newGroupIDs(scopes, name string) groupIDs {
	return idsOf(scopes + escape(name))
}

// idsOf returns the ids of a group whose record has an id.
func idsOf(group string) groupIDs {
	return groupIDs{group: group, units: "/" + group + "/", scope: "/" + group + ":/"}
}

// note is what messages call a group that has not ended: the id of no step.
func (g *groupIDs) note() string { return "/" + g.group }

// unit returns the id of the step that records the end of a unit.
func (g *groupIDs) unit(name string) string { return g.units + escape(name) }

// steps returns the prefix of the steps of a unit.
func (g *groupIDs) steps(name string) string { return g.scope + escape(name) + ":" }

// name returns the name of the unit whose record has an id.
func (g *groupIDs) name(id string) string { return unescape(id[len(g.units):]) }

// groupOf returns the id of the group of the unit whose record has an id.
func groupOf(unit string) string { return unit[1:strings.LastIndexByte(unit, '/')] }

// following returns the first id after those with a prefix.
func following(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}

// unescape is the inverse of escape.
func unescape(s string) string {
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

// groupBody is the body of a group.
type groupBody struct {
	JobID  string          `json:"job_id,omitempty"`
	Policy job.GroupPolicy `json:"policy"` // with which the group was called last
	Began  time.Time       `json:"began"`
	Units  string          `json:"units,omitempty"` // the digest of their list, once all have records
	Budget bool            `json:"budget,omitempty"`

	Started  int            `json:"started,omitempty"` // units whose runs have not ended
	Progress job.Progress   `json:"progress"`
	Seq      int            `json:"seq,omitempty"`     // the number of ends of units
	Kept     []string       `json:"kept,omitempty"`    // failed units, unless the policy collects all
	Removed  int            `json:"removed,omitempty"` // units that are not in the list any more
	Early    *groupDecision `json:"early,omitempty"`   // the provisional result
	Passed   bool           `json:"passed,omitempty"`  // Early was passed on
	End      *groupDecision `json:"end,omitempty"`
	// Closed means that the units are abandoned that had not ended. Without End,
	// they are being made executable again.
	Closed bool `json:"closed,omitempty"`
}

// A groupDecision is a decision that completes a group, and which ends of units
// it is about.
type groupDecision struct {
	Decision job.Decision `json:"decision"`
	Seq      int          `json:"seq"` // of the last end
	TimedOut bool         `json:"timed_out,omitempty"`
}

// unitBody is what the record of a unit has in addition to that of other steps.
type unitBody struct {
	Counted job.UnitStatus `json:"counted,omitempty"` // as what the group counts it
	Seq     int            `json:"seq,omitempty"`     // of its end in the group
	// Requeued means that it is executed although the group has ended: by an
	// operator, or since it was added to the list.
	Requeued bool `json:"requeued,omitempty"`
	Removed  bool `json:"removed,omitempty"` // it is not in the list any more
	Started  bool `json:"started,omitempty"` // its run has not ended
}

// elapsed returns the time since the start of the group.
func (b *groupBody) elapsed(now time.Time) time.Duration { return max(now.Sub(b.Began), 0) }

// decide applies the policy at a time. It returns the decision if it completes
// the group, provisionally or not.
func (b *groupBody) decide(now time.Time) *groupDecision {
	var d job.Decision
	b.Progress, d = b.Progress.Decide(&b.Policy, b.elapsed(now))
	return b.decided(d, now)
}

// decided keeps a decision, and returns it if it completes the group.
func (b *groupBody) decided(d job.Decision, now time.Time) *groupDecision {
	decision := &groupDecision{Decision: d, Seq: b.Seq}
	timeout := b.Policy.Timeout
	switch {
	case d.Final():
		b.End = decision
	case timeout > 0 && b.elapsed(now) >= timeout:
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

// due returns the time at which a decision depends on the time alone, or zero.
func (b *groupBody) due() (at time.Time) {
	if t := b.Policy.Timeout; t > 0 {
		at = b.Began.Add(t)
	}
	if e := b.Policy.BestEffort; e != nil {
		if end := b.Began.Add(e.Effective().Deadline); earlier(end, at) {
			at = end
		}
	}
	return at
}

// report counts the end of a unit, whose record is body, and returns the decision
// if it completes the group.
func (b *groupBody) report(body *stepBody, to job.UnitStatus, now time.Time) *groupDecision {
	u := body.Unit
	if u.Requeued {
		b.Progress.Ended, b.End = 0, nil // it counts, whatever was decided before
	}
	var d job.Decision
	b.Progress, d = b.Progress.Report(&b.Policy, u.Counted, to, b.elapsed(now))
	b.Seq++
	if u.Started {
		b.Started--
	}
	u.Counted, u.Seq, u.Requeued, u.Started = to, b.Seq, false, false
	return b.decided(d, now)
}

// keep adds a failed unit to those of which the outcome has the errors. It returns
// a batch that is complete.
func (b *groupBody) keep(unit string) (batch []string) {
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

// listDigest identifies a list of units.
func listDigest(units []string) string {
	h := sha256.New()
	length := make([]byte, 0, 20)
	for _, unit := range units {
		h.Write(append(strconv.AppendInt(length[:0], int64(len(unit)), 10), ':'))
		h.Write([]byte(unit))
	}
	return fmt.Sprintf("%d:%s", len(units), hex.EncodeToString(h.Sum(nil)[:16]))
}
