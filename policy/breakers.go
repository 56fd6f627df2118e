package policy

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// A Breaker is a circuit breaker that calls share.
type Breaker struct {
	Pos Pos
	breaker.Policy
	Store    bool   // whether its state is kept in a store instead of in the process
	process  bool   // the file says that its state is in the process
	From     Symbol // the Go variable that contains the breaker and its settings, or empty
	patterns []class
}

// breakerKeys are the settings of a breaker, in the order of Explain.
var breakerKeys = []string{
	"failures", "failure_rate", "slow_rate", "slow_call", "min_calls", "window", "window_calls",
	"open_for", "half_open_calls", "successes", "escalate_after", "count", "shared",
}

// breakers reads the section breakers.
func (d decoder) breakers(root *syntax.Node) (list []Breaker) {
	for _, e := range d.section(root, "breakers") {
		if e.Value.IsNull() {
			e.Value = &syntax.Node{Span: e.At, Value: map[string]any{}}
		}
		if d.isMap(e.Value, "a breaker") {
			list = append(list, d.oneBreaker(e))
		}
	}
	return list
}

func (d decoder) oneBreaker(e syntax.Entry) Breaker {
	n := e.Value
	d.unknownKeys(n, "", append([]string{"from"}, breakerKeys...)...)
	b := Breaker{Pos: posOf(e.At), Policy: breaker.Policy{Name: e.Key}, From: d.from(n)}
	if b.From.Name != "" {
		return b
	}
	b.Failures = optional(d, n, d.atLeastOne, "failures").value
	b.FailureRate = optional(d, n, d.rate, "failure_rate").value
	b.SlowRate = optional(d, n, d.rate, "slow_rate").value
	b.SlowCall = optional(d, n, d.aboveZero, "slow_call").value
	b.MinCalls = optional(d, n, d.atLeastOne, "min_calls").value
	b.Window = optional(d, n, d.aboveZero, "window").value
	b.WindowCalls = d.windowCalls(n, b.MinCalls)
	b.OpenFor, b.MaxOpenFor = d.openFor(n)
	b.HalfOpenCalls = optional(d, n, d.atLeastOne, "half_open_calls").value
	b.Successes = optional(d, n, d.atLeastOne, "successes").value
	b.EscalateAfter = optional(d, n, d.countOrZero, "escalate_after").value
	b.Store = optional(d, n, d.stored, "shared").value
	b.process = n.Written("shared") != nil && !b.Store
	b.patterns = optional(d, n, d.classes, "count").value
	for _, c := range b.patterns {
		b.Count = append(b.Count, string(c.name))
	}
	d.needRates(n)
	b.Policy = b.Effective()
	return b
}

// storeBreakers puts the breakers of durable policies in the store, unless the file
// says otherwise: runs go on after a restart, and the process forgets its breakers.
func (f *File) storeBreakers() {
	for i := range f.Policies {
		p := &f.Policies[i]
		if b := f.breakers[p.Breaker]; b != nil && p.Durable != nil && b.From.Name == "" && !b.process {
			b.Store = true
		}
	}
}

// windowCalls reads window_calls, which must not be less than min_calls.
func (d decoder) windowCalls(n *syntax.Node, minCalls int) int {
	calls := optional(d, n, d.atLeastOne, "window_calls")
	switch {
	case calls.value > breaker.MaxWindowCalls:
		d.problem(calls.at, "P102", "window_calls is at most %d", breaker.MaxWindowCalls)
	case calls.value > 0 && minCalls > calls.value:
		d.problem(calls.at, "P102",
			"window_calls %d is less than min_calls %d, so that no rate opens the breaker: raise window_calls, or lower "+
				"min_calls", calls.value, minCalls)
	}
	if e := n.Written("window"); e != nil && calls.value > 0 {
		d.problem(e.At, "P109", "window is not read with window_calls: remove one of them")
	}
	return calls.value
}

// openFor reads open_for: a duration, or the first and the longest one.
func (d decoder) openFor(n *syntax.Node) (initial, longest time.Duration) {
	e := n.Written("open_for")
	if e == nil || !e.Value.IsMap() || e.Value.Get("secs") != nil {
		return optional(d, n, d.aboveZero, "open_for").value, 0
	}
	d.unknownKeys(e.Value, "", "initial", "max")
	initial = optional(d, e.Value, d.aboveZero, "initial").value
	most := optional(d, e.Value, d.aboveZero, "max")
	if first := (breaker.Policy{OpenFor: initial}).Effective().OpenFor; 0 < most.value && most.value < first {
		d.problem(most.at, "P102", "max %s is shorter than initial %s: raise max, or lower initial",
			duration.Format(most.value), duration.Format(first))
	}
	return initial, most.value
}

// rate reads a share of calls, above 0 and up to 1.
func (d decoder) rate(e *syntax.Entry) (float64, bool) {
	value, ok := number(e.Value)
	if !ok || value <= 0 || value > 1 {
		d.problem(e.Value.Span, "P102", "%s is a share above 0, up to 1, not %s", e.Key, e.Value.Describe())
		return 0, false
	}
	return value, true
}

// needRates reports rate settings of a breaker that are incomplete.
func (d decoder) needRates(n *syntax.Node) {
	if e := n.Written("slow_rate"); e != nil && n.Written("slow_call") == nil {
		d.problem(e.At, "P102", "slow_rate needs slow_call: write the duration above which a call is slow")
	}
	if e := n.Written("slow_call"); e != nil && n.Written("slow_rate") == nil {
		d.problem(e.At, "P109", "slow_call is not read without slow_rate: write slow_rate, or remove slow_call")
	}
	if n.Written("failure_rate") != nil || n.Written("slow_rate") != nil {
		return
	}
	for _, key := range []string{"min_calls", "window", "window_calls"} {
		if e := n.Written(key); e != nil {
			d.problem(e.At, "P109", "%s is not read without failure_rate or slow_rate: write one of them, or remove %[1]s", key)
		}
	}
}

// Explain describes when the breaker opens, closes and escalates. file is the name of the
// policy file to print. Errors from w are ignored.
func (b *Breaker) Explain(w io.Writer, file string) {
	fmt.Fprintf(w, "breaker %s (%s:%d)\n\n", b.Name, file, b.Pos.Line)
	if b.Store {
		fmt.Fprintln(w, "  is shared by all processes that use its store")
	}
	if b.From.Name != "" {
		fmt.Fprintf(w, "  is the Go variable %s, which has the settings\n", b.From.Name)
		return
	}
	if b.Failures > 0 {
		fmt.Fprintf(w, "  opens after %s in a row\n", plural(b.Failures, "failure"))
	}
	calls := fmt.Sprintf("of %d or more calls in %s", b.MinCalls, duration.Format(b.Window))
	if b.WindowCalls > 0 {
		calls = fmt.Sprintf("of the last %s, %d or more,", plural(b.WindowCalls, "call"), b.MinCalls)
	}
	if b.FailureRate > 0 {
		fmt.Fprintf(w, "  opens when %.4g %% %s failed\n", 100*b.FailureRate, calls)
	}
	if b.SlowRate > 0 {
		fmt.Fprintf(w, "  opens when %.4g %% %s took longer than %s\n", 100*b.SlowRate, calls, duration.Format(b.SlowCall))
	}
	longer := ""
	if b.MaxOpenFor > 0 {
		longer = ", and twice as long each time that it opens again, up to " + duration.Format(b.MaxOpenFor)
	}
	fmt.Fprintf(w, "  open: refuses calls for %s%s\n", duration.Format(b.OpenFor), longer)
	opens := "failure"
	if b.SlowRate > 0 {
		opens = "failed or slow call"
	}
	fmt.Fprintf(w, "  half-open: admits %s at a time, closes after %s, opens again after one %s\n",
		plural(b.HalfOpenCalls, "call"), plural(b.Successes, "success"), opens)
	if b.EscalateAfter > 0 {
		fmt.Fprintf(w, "  escalated: refuses calls until Reset, after %s in a row\n", plural(b.EscalateAfter, "failure"))
	}
	fmt.Fprintf(w, "  counts %s\n", classNames(b.Count,
		"errors that the policy retries and transient ones, except statuses due to the request, such as 409"))
}

// plural formats a number and a noun, as "1 call" or "3 calls".
func plural(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
