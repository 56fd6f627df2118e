package live

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/genapi"
)

// A Control loads versions of the policy file of one generated package. Its methods may be
// called by several goroutines simultaneously. A package should have one Control.
type Control struct {
	pkg      genapi.LivePackage
	policies []*retry.Live            // of calls and of durable steps
	compiled map[string]*retry.Policy // as generated, by name

	log      *slog.Logger
	onChange func(Change)

	mu       sync.Mutex
	file     *policy.File     // that is in force
	warnings []policy.Problem // about file
	status   Status
}

// An Option is an option of [New].
type Option func(*Control)

// Log sets the logger of changes and refusals, in place of [slog.Default].
func Log(l *slog.Logger) Option { return func(c *Control) { c.log = l } }

// OnChange sets a function that is called after each change. It may use the Control.
func OnChange(f func(Change)) Option { return func(c *Control) { c.onChange = f } }

// New returns a Control for a generated package. pkg is the result of the package's
// function LivePolicies. If another version of retrygen has generated the package and
// this version does not accept its policy file, New returns an [*Error]. It returns
// another error if the file does not have all policies of the package.
func New(pkg genapi.LivePackage, options ...Option) (*Control, error) {
	file, warnings, err := check(pkg.File, []byte(pkg.Text))
	if err != nil {
		return nil, fmt.Errorf("live: %s, from which package %s was generated: %w", pkg.File, pkg.Package, err)
	}
	c := &Control{
		pkg: pkg, compiled: map[string]*retry.Policy{}, log: slog.Default(), file: file, warnings: warnings,
		status: Status{Package: pkg.Package, File: pkg.File, Text: pkg.Text},
	}
	c.policies = slices.Concat(pkg.Policies, pkg.Steps)
	for _, l := range c.policies {
		p := l.Policy()
		if !slices.ContainsFunc(file.Policies, func(one policy.Policy) bool { return one.Name == p.Name }) {
			return nil, fmt.Errorf("live: package %s has a policy %s that is not in its %s: generate the code again",
				pkg.Package, p.Name, pkg.File)
		}
		c.compiled[p.Name] = p
	}
	for _, option := range options {
		option(c)
	}
	return c, nil
}

// A Change is a version of a policy file that has become effective.
type Change struct {
	Package  string    `json:"package"`
	File     string    `json:"file"`
	At       time.Time `json:"at"`
	By       string    `json:"by"`                 // from where: the path of a file, or who has sent it
	Settings []string  `json:"settings"`           // what differs, as in "policy read: max_attempts 3 → 5"; nil if nothing does
	Warnings []string  `json:"warnings,omitempty"` // that the version before did not have, each with its position
}

// A Status describes the version of a policy file that is in force.
type Status struct {
	Package  string    `json:"package"`
	File     string    `json:"file"`
	Text     string    `json:"-"`                     // of the policy file that is in force
	Since    time.Time `json:"since,omitzero"`        // when it became effective; zero if it is the compiled one
	Accepted int       `json:"accepted"`              // changes
	Refused  int       `json:"refused"`               // versions that had a problem
	Problem  string    `json:"problem,omitempty"`     // of the last version, if that was refused
	Last     []string  `json:"last_change,omitempty"` // the settings of the last change
}

// An Error is the error of a version that was refused and has changed nothing.
type Error struct {
	File     string
	Problems []policy.Problem // of severity Error
	text     []byte
}

// Error lists the problems, each with its position in the file.
func (e *Error) Error() string {
	const most = 10
	var lines []string
	for i, p := range e.Problems {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(e.Problems)-most))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// Print returns the problems with the lines of the file that have them, as retrygen check
// prints them.
func (e *Error) Print() string {
	var b strings.Builder
	policy.Print(&b, e.Problems, map[string][]byte{e.File: e.text}, false)
	return b.String()
}

// check reads a version of the policy file, and returns the warnings about it. Errors are
// [*Error].
func check(name string, text []byte) (file *policy.File, warnings []policy.Problem, err error) {
	file, problems := policy.Check(name, text)
	if file == nil {
		return nil, nil, &Error{File: name, Problems: policy.AtLeast(rules.Error, problems), text: text}
	}
	return file, policy.AtLeast(rules.Warning, problems), nil
}

// newWarnings returns the warnings that were not there before, perhaps at another position.
func newWarnings(warnings, before []policy.Problem) (texts []string) {
	for _, w := range warnings {
		if !slices.ContainsFunc(before, func(b policy.Problem) bool { return b.Rule == w.Rule && b.Text == w.Text }) {
			texts = append(texts, w.String())
		}
	}
	return texts
}

// Load puts a version of the policy file into force, and returns the changes. If it
// returns an [*Error], nothing has changed. by describes where the version comes from.
func (c *Control) Load(text []byte, by string) (Change, error) {
	change, err := c.load(text, by)
	switch {
	case err != nil:
		c.log.LogAttrs(context.Background(), slog.LevelError, "policy file refused", c.attrs(by, slog.Any("error", err))...)
	case len(change.Settings) > 0:
		c.log.LogAttrs(context.Background(), slog.LevelInfo, "policies changed",
			c.attrs(by, slog.Any("settings", change.Settings))...)
		if len(change.Warnings) > 0 {
			c.log.LogAttrs(context.Background(), slog.LevelWarn, "policy file has warnings",
				c.attrs(by, slog.Any("warnings", change.Warnings))...)
		}
		if c.onChange != nil {
			c.onChange(change)
		}
	}
	return change, err
}

func (c *Control) attrs(by string, more slog.Attr) []slog.Attr {
	return []slog.Attr{slog.String("package", c.pkg.Package), slog.String("file", c.pkg.File), slog.String("by", by), more}
}

func (c *Control) load(text []byte, by string) (Change, error) {
	file, warnings, err := check(c.pkg.File, text) // without the lock: it may take some time
	c.mu.Lock()
	defer c.mu.Unlock()
	var next *version
	if err == nil {
		next, err = c.compare(file, text)
	}
	if err != nil {
		c.status.Refused++
		c.status.Problem = err.Error()
		return Change{}, err
	}
	next.apply()
	change := Change{
		Package: c.pkg.Package, File: c.pkg.File, At: time.Now(), By: by, Settings: next.settings,
		Warnings: newWarnings(warnings, c.warnings),
	}
	c.file, c.warnings, c.status.Text, c.status.Problem = file, warnings, string(text), ""
	if len(next.settings) > 0 {
		c.status.Accepted++
		c.status.Since, c.status.Last = change.At, next.settings
	}
	return change, nil
}

// Reset puts the compiled version back into force, from which the package was generated.
func (c *Control) Reset(by string) (Change, error) { return c.Load([]byte(c.pkg.Text), by) }

// Status describes the version that is in force.
func (c *Control) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Counts returns the numbers of changes and of refused versions, for metrics.
func (c *Control) Counts() (pkg string, accepted, refused int) {
	s := c.Status()
	return s.Package, s.Accepted, s.Refused
}

// Policies returns the policies that can change, in the form in which calls use them now.
func (c *Control) Policies() []*retry.Policy {
	var list []*retry.Policy
	for _, l := range c.pkg.Policies {
		list = append(list, l.Load())
	}
	for _, l := range c.pkg.Steps {
		list = append(list, l.Policy())
	}
	return list
}
