package override

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Longest is the maximum time from now to the end of an override. A change that should
// last longer belongs in a policy file.
const Longest = 7 * 24 * time.Hour

// MaxText is the maximum length of Target, Reason and By, in bytes.
const MaxText = 1000

// An Override changes what policies or breakers do until a given time. It is plain data.
// Exactly one of MaxAttempts and Breaker is set.
type Override struct {
	ID string `json:"id"` // unique within its set; set by Put
	// Package is the import path of the generated package to which the override applies.
	// Empty means all packages.
	Package string `json:"package,omitempty"`
	// Target selects policies if MaxAttempts is set, and breakers if Breaker is set. It
	// is a name or a pattern for [path.Match], such as * for all.
	Target string `json:"target"`
	// MaxAttempts limits the attempts of each call. A value of 1 turns retries off.
	MaxAttempts int `json:"max_attempts,omitempty"`
	// Breaker holds the breakers open or closed.
	Breaker Hold `json:"breaker,omitempty"`
	// Until is the time at which the override ends automatically, by each process's
	// clock. It is at most [Longest] from now.
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"` // the reason, for other operators
	By     string    `json:"by,omitempty"`     // name of the operator
	At     time.Time `json:"at,omitzero"`      // when the override was added; set by Put
}

// A Hold defines what an override does to breakers.
type Hold string

// The holds.
const (
	HoldOpen   Hold = "open"   // the breakers refuse all attempts
	HoldClosed Hold = "closed" // the breakers admit all attempts
)

// Action describes what the override does: retries off, at most 2 attempts, breakers held
// open or breakers held closed.
func (o *Override) Action() string {
	switch {
	case o.Breaker != "":
		return "breakers held " + string(o.Breaker)
	case o.MaxAttempts == 1:
		return "retries off"
	}
	return fmt.Sprintf("at most %d attempts", o.MaxAttempts)
}

// Summary describes the override, as in "retries off for read* until 2006-01-02T15:04:05Z".
func (o *Override) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %s", o.Action(), o.Target)
	if o.Package != "" {
		fmt.Fprintf(&b, " of %s", o.Package)
	}
	fmt.Fprintf(&b, " until %s", o.Until.UTC().Format(time.RFC3339))
	return b.String()
}

// Validate returns nil, or an error that explains why the override is not valid at the
// time now.
func (o *Override) Validate(now time.Time) error {
	switch {
	case o.Target == "":
		return errors.New("the override has no target: name a policy or a breaker, or write * for all")
	case badPattern(o.Target):
		return fmt.Errorf("the target %q is not a pattern of path.Match", o.Target)
	case len(o.Target) > MaxText, len(o.Reason) > MaxText, len(o.By) > MaxText, len(o.Package) > MaxText:
		return fmt.Errorf("a text of the override is longer than %d bytes", MaxText)
	case !utf8.ValidString(o.Target + o.Reason + o.By + o.Package):
		return errors.New("a text of the override is not UTF-8")
	case o.Breaker != "" && o.Breaker != HoldOpen && o.Breaker != HoldClosed:
		return fmt.Errorf("breakers are held open or closed, not %q", o.Breaker)
	case o.MaxAttempts < 0:
		return fmt.Errorf("max_attempts is %d: the least is 1, which turns retries off", o.MaxAttempts)
	case (o.MaxAttempts > 0) == (o.Breaker != ""):
		return errors.New("an override either limits attempts (max_attempts) or holds breakers (breaker): set one of them")
	case o.Until.IsZero():
		return errors.New("the override has no end: set until")
	case !o.Until.After(now):
		return fmt.Errorf("the override would have ended at %s", o.Until.UTC().Format(time.RFC3339))
	case o.Until.After(now.Add(Longest)):
		return fmt.Errorf("the override would end after more than %d days: write what shall hold for longer in a policy file",
			Longest/(24*time.Hour))
	}
	return nil
}

// ended reports whether the override has ended at a time. A time that a program makes from
// [time.Now] also has a reading of the monotonic clock, which goes on when somebody sets the
// clock, and stops while the machine is suspended: the earlier of both ends counts.
func (o *Override) ended(now time.Time) bool {
	return !o.Until.After(now) || !o.Until.Round(0).After(now.Round(0))
}

func badPattern(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err != nil
}

// selects reports whether the override applies to something with a name in a package.
func (o *Override) selects(pkg, name string) bool {
	if o.Package != "" && o.Package != pkg {
		return false
	}
	matched, err := path.Match(o.Target, name)
	return matched && err == nil
}
