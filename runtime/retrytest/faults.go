package retrytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A Call describes a call whose outcome a [Faults] decides.
type Call struct {
	Func    string // name of the function, such as Store.Get
	Number  int    // number of this call of Func, starting at 1
	Attempt int    // number of the attempt: see [retry.AttemptNumber]
	Args    []any  // arguments, without the context
}

// A Faults decides what calls do. A nil *Faults lets all calls succeed. It may be used
// by multiple goroutines simultaneously.
type Faults struct {
	decide func(Call) Outcome

	mu    sync.Mutex
	calls map[string]int // by function
	seed  uint64
	rand  *rand.Rand
	rules []rule
}

// A rule has a script or chances for some functions.
type rule struct {
	pattern string
	script  script
	chances []chance
}

// A chance is the probability of an outcome.
type chance struct {
	of float64 // from 0 to 1
	Outcome
}

// Parse returns the Faults that a script or rules describe: see the package
// documentation. errs are additional errors that the text may name; it may be nil. If the
// text has no seed, a random seed is used.
func Parse(text string, errs map[string]error) (*Faults, error) {
	f := &Faults{calls: map[string]int{}, seed: rand.Uint64()}
	split := func(r rune) bool { return r == ';' || r == '\n' }
	for part := range strings.FieldsFuncSeq(text, split) {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if number, ok := strings.CutPrefix(part, "seed "); ok {
			seed, err := strconv.ParseUint(strings.TrimSpace(number), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("faults %q: the seed is no whole number", part)
			}
			f.seed = seed
			continue
		}
		r, err := parseRule(part, errs)
		if err != nil {
			return nil, fmt.Errorf("faults %q: %w", part, err)
		}
		f.rules = append(f.rules, r)
	}
	if len(f.rules) == 0 {
		return nil, errors.New("faults: there is no script")
	}
	f.rand = rand.New(rand.NewPCG(f.seed, 0))
	f.decide = f.drawn
	return f, nil
}

func parseRule(text string, errs map[string]error) (r rule, err error) {
	r.pattern = "*"
	if pattern, rest, ok := strings.Cut(text, ":"); ok {
		r.pattern, text = strings.TrimSpace(pattern), rest
	}
	if !strings.Contains(text, "%") {
		r.script, err = parseScript(text, errs)
		return r, err
	}
	sum := 0.0
	for item := range strings.SplitSeq(text, ",") {
		percent, outcome, ok := strings.Cut(item, "%")
		of, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		if !ok || err != nil || !(of > 0 && of <= 100) {
			return r, fmt.Errorf("%q has no chance: write 5%% 503", strings.TrimSpace(item))
		}
		one, err := parseScript(outcome, errs)
		if err == nil && (len(one.list) != 1 || one.forever) {
			err = fmt.Errorf("%q is more than one outcome: separate chances by commas", strings.TrimSpace(outcome))
		}
		if err != nil {
			return r, err
		}
		if sum += of; sum > 100.000001 {
			return r, fmt.Errorf("the chances add up to more than 100%%")
		}
		r.chances = append(r.chances, chance{of / 100, one.list[0]})
	}
	return r, nil
}

// Script is like [Parse] without named errors, and panics if text cannot be parsed. Use
// it for scripts in test code.
func Script(text string) *Faults {
	f, err := Parse(text, nil)
	if err != nil {
		panic("retrytest: " + err.Error())
	}
	return f
}

// Outcomes returns a Faults that gives the calls of each function these outcomes in turn.
// Later calls succeed.
func Outcomes(list ...Outcome) *Faults {
	s := script{list: list}
	return Decide(func(c Call) Outcome { return s.at(c.Number - 1) })
}

// Decide returns a Faults that calls f to decide the outcome of each call. f may be
// called by multiple goroutines simultaneously.
func Decide(f func(Call) Outcome) *Faults {
	return &Faults{calls: map[string]int{}, decide: f}
}

// EnvFaults is the environment variable that [FromEnv] reads.
const EnvFaults = "RETRYGEN_FAULTS"

// FromEnv returns the Faults described by the environment variable RETRYGEN_FAULTS, or
// nil if the variable is empty or not set.
func FromEnv() (*Faults, error) {
	text := os.Getenv(EnvFaults)
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	f, err := Parse(text, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EnvFaults, err)
	}
	return f, nil
}

// Seed returns the seed of the random choices. Write it to a log, so that a test can
// repeat them.
func (f *Faults) Seed() uint64 { return f.seed }

// Calls returns the number of calls to the function with the given name whose outcomes f
// has decided.
func (f *Faults) Calls(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[name]
}

// total returns how many calls of all functions f was asked about.
func (f *Faults) total() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, calls := range f.calls {
		n += calls
	}
	return n
}

// Begin decides the outcome of a call, and waits or panics if the outcome requires it. A
// decorator calls it first. If before is not nil, the decorator returns it without
// calling the function. Otherwise it calls the function. If the function has succeeded
// and after is not nil, the decorator returns after.
//
// If the function has no context, pass context.Background(). In that case, a call that
// hangs never returns.
func (f *Faults) Begin(ctx context.Context, name string, args ...any) (before, after error) {
	if f == nil {
		return nil, nil
	}
	c := Call{Func: name, Attempt: retry.AttemptNumber(ctx), Args: args}
	f.mu.Lock()
	f.calls[name]++
	c.Number = f.calls[name]
	f.mu.Unlock()
	o := f.decide(c)
	recorderOf(ctx).add(Step{Kind: Attempted, Name: o.String(), Func: name})
	if o.Delay > 0 && !passed(ctx, o.Delay) {
		return ctx.Err(), nil
	}
	switch err := o.err(c); {
	case o.Panic:
		panic(err)
	case o.Hang:
		<-ctx.Done()
		return ctx.Err(), nil
	case o.Partial:
		return nil, err
	default:
		return err, nil
	}
}

// Op returns a function for [retry.Do] and for the generic functions of policies. f knows
// the function by the given name, and the function does only what f decides.
func (f *Faults) Op(name string) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) {
		before, after := f.Begin(ctx, name)
		if before == nil {
			before = after
		}
		return struct{}{}, before
	}
}

// passed waits for d, and reports whether that has passed before the end of ctx.
func passed(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// drawn returns what the rules say of a call.
func (f *Faults) drawn(c Call) Outcome {
	for i := range f.rules {
		r := &f.rules[i]
		if !matches(r.pattern, c.Func) {
			continue
		}
		if r.chances == nil {
			return r.script.at(c.Number - 1)
		}
		f.mu.Lock()
		x := f.rand.Float64()
		f.mu.Unlock()
		for _, ch := range r.chances {
			if x -= ch.of; x < 0 {
				return ch.Outcome
			}
		}
		return Outcome{}
	}
	return Outcome{}
}

// matches reports whether name matches a pattern, in which * stands for any characters.
func matches(pattern, name string) bool {
	start, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if name, star = strings.CutPrefix(name, start); !star {
		return false
	}
	for i := len(name); i >= 0; i-- {
		if matches(rest, name[i:]) {
			return true
		}
	}
	return false
}
