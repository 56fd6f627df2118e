package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// An ErrorClass is an error class that the file defines. An error belongs to the
// class if any of its tests (Is, As, HTTP, GRPC, Pattern) matches.
type ErrorClass struct {
	Name        string
	Pos         Pos
	Is, As      []Symbol // Go variables and types; a pointer type begins with *
	HTTP        [][2]int // ranges of status codes, including both ends
	GRPC        []Symbol // names of status codes, such as UNAVAILABLE
	Pattern     *regexp.Regexp
	Action      retry.Action
	Unprocessed bool // the server has not processed requests that fail with this error
}

// Repeats reports whether p retries errors for which the server may already have done the
// work.
func (f *File) Repeats(p *Policy) bool {
	_, ambiguous := rules.Ambiguous(p.RetryOn, func(class retry.Class) bool {
		return slices.ContainsFunc(f.Errors, func(c ErrorClass) bool { return c.Name == string(class) && c.Unprocessed })
	})
	return ambiguous
}

// A Symbol is a name with its position in the policy file.
type Symbol struct {
	Name string
	Pos  Pos
}

// class is an item of retry_on, abort_on or count.
type class struct {
	name    retry.Class
	pattern *regexp.Regexp
}

// builtinClasses are the classes of the runtime, in the order in which they are
// tested.
var builtinClasses = []string{"network", "timeout", "server_error", "rate_limit", "canceled", "breaker_open",
	"limited", "rate_limited", "throttled", "transient", "unknown", "any"}

// BuiltinClasses returns the names of the classes that the runtime defines. A policy file
// cannot define them.
func BuiltinClasses() []string { return slices.Clone(builtinClasses) }

var classKeys = []string{"is", "as", "http", "grpc", "pattern", "retryable", "unprocessed", "action"}

// errorClasses reads the section errors.
func (d decoder) errorClasses(root *syntax.Node) (list []ErrorClass) {
	for _, e := range d.section(root, "errors") {
		if slices.Contains(builtinClasses, e.Key) {
			d.problem(e.At, "P102", "%s is built in: give the class another name", e.Key)
		}
		if c, ok := d.errorClass(e); ok {
			list = append(list, c)
		}
	}
	return list
}

func (d decoder) errorClass(e syntax.Entry) (c ErrorClass, ok bool) {
	if !d.isMap(e.Value, "an error class") {
		return c, false
	}
	before := d.errors()
	c = ErrorClass{Name: e.Key, Pos: posOf(e.At)}
	d.unknownKeys(e.Value, "", classKeys...)
	c.Is, c.As = d.symbols(e.Value.Written("is")), d.symbols(e.Value.Written("as"))
	c.HTTP = d.statusCodes(e.Value.Written("http"))
	c.GRPC = d.grpcCodes(e.Value.Written("grpc"))
	if p := e.Value.Written("pattern"); p != nil {
		c.Pattern = d.pattern(p)
	}
	if u := e.Value.Written("unprocessed"); u != nil {
		c.Unprocessed, _ = d.boolean(u)
	}
	c.Action = d.action(e.Value)
	ok = d.errors() == before
	if ok && len(c.Is)+len(c.As)+len(c.HTTP)+len(c.GRPC) == 0 && c.Pattern == nil {
		d.problem(e.At, "P102", "%s has no test: write is, as, http, grpc or pattern", e.Key)
		ok = false
	}
	return c, ok
}

// action reads retryable and action. It reports them if they disagree.
func (d decoder) action(n *syntax.Node) (action retry.Action) {
	r := n.Written("retryable")
	if r != nil {
		action = retry.ActionFail
		if retried, _ := d.boolean(r); retried {
			action = retry.ActionRetry
		}
	}
	e := n.Written("action")
	if e == nil {
		return action
	}
	actions := map[string]retry.Action{"retry": retry.ActionRetry, "fail": retry.ActionFail,
		"escalate": retry.ActionEscalate}
	value, known := actions[e.Value.Text]
	switch {
	case !known:
		d.problem(e.Value.Span, "P102", "action is retry, fail or escalate, not %s", e.Value.Describe())
	case r != nil && (action == retry.ActionRetry) != (value == retry.ActionRetry):
		d.problem(e.At, "P104", "retryable: %s and action: %s disagree: keep one", r.Value.Text, e.Value.Text)
	}
	return value
}

func (d decoder) boolean(e *syntax.Entry) (v, ok bool) {
	v, ok = e.Value.Value.(bool)
	if !ok {
		d.problem(e.Value.Span, "P102", "%s is true or false, not %s", e.Key, e.Value.Describe())
	}
	return v, ok
}

// matchText reads true, status or false.
func (d decoder) matchText(e *syntax.Entry) (retry.MatchText, bool) {
	switch e.Value.Value {
	case true:
		return retry.MatchWords, true
	case "status":
		return retry.MatchStatus, true
	case false:
		return retry.MatchNone, true
	}
	d.problem(e.Value.Span, "P102", "match_text is true, status or false, not %s", e.Value.Describe())
	return 0, false
}

// unknown reads retry or fail. It reports whether errors that are not classified are
// retried.
func (d decoder) unknown(e *syntax.Entry) (retries, ok bool) {
	switch e.Value.Value {
	case "retry":
		return true, true
	case "fail":
		return false, true
	}
	d.problem(e.Value.Span, "P102", "unknown is fail or retry, not %s", e.Value.Describe())
	return false, false
}

// list returns the items of a list, or nil if e is nil. It reports an empty list
// and a value that is not a list; of describes the expected items.
func (d decoder) list(e *syntax.Entry, of string) []*syntax.Node {
	switch {
	case e == nil:
		return nil
	case !e.Value.IsList():
		d.problem(e.Value.Span, "P102", "%s is a list of %s, not %s", e.Key, of, e.Value.Describe())
	case len(e.Value.Items) == 0:
		d.problem(e.Value.Span, "P102", "%s is empty: list %s, or remove it", e.Key, of)
	}
	return e.Value.Items
}

var goSymbol = regexp.MustCompile(`^\*?(?:[\pL\p{Nd}_.~\-]+/)*[\pL_][\pL\p{Nd}_.\-]*$`)

// symbols reads names of Go variables or types.
func (d decoder) symbols(e *syntax.Entry) (list []Symbol) {
	for _, item := range d.list(e, "Go symbols, as example.com/api.ErrBusy") {
		name, ok := item.Value.(string)
		switch {
		case !ok || !goSymbol.MatchString(name):
			d.problem(item.Span, "P102", "%s is not a Go symbol: write it as go doc does, with the import path of its package",
				syntax.Quote(item.Text))
		case e.Key == "is" && strings.HasPrefix(name, "*"):
			d.problem(item.Span, "P102", "is takes variables, and %s is a pointer type: move it to as", syntax.Quote(name))
		default:
			list = append(list, Symbol{name, posOf(item.Span)})
		}
	}
	return list
}

// statusCodes reads HTTP codes, as 503, and ranges, as 500-599.
func (d decoder) statusCodes(e *syntax.Entry) (list [][2]int) {
	for _, item := range d.list(e, "HTTP status codes, as [429, 503]") {
		statuses, ok := parseStatuses(item.Text)
		if !ok {
			d.problem(item.Span, "P102", "%s is not an HTTP status code: write one from 100 to 599, or a range such as 500-599",
				syntax.Quote(item.Text))
			continue
		}
		list = append(list, statuses)
	}
	return list
}

// parseStatuses parses an HTTP code or a range of them.
func parseStatuses(text string) (statuses [2]int, ok bool) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	from, err := strconv.Atoi(strings.TrimSpace(low))
	to, err2 := strconv.Atoi(strings.TrimSpace(high))
	return [2]int{from, to}, err == nil && err2 == nil && 100 <= from && from <= to && to <= 599
}

// grpcNames are the codes of errors, in the order of their numbers from 1:
// grpc/grpc, doc/statuscodes.md.
var grpcNames = []string{
	"CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE",
	"DATA_LOSS", "UNAUTHENTICATED",
}

func (d decoder) grpcCodes(e *syntax.Entry) (list []Symbol) {
	for _, item := range d.list(e, "gRPC codes, as [UNAVAILABLE]") {
		name, ok := item.Value.(string)
		if !ok || !slices.Contains(grpcNames, name) {
			d.problem(item.Span, "P102", "%s is not a gRPC code of an error%s", syntax.Quote(item.Text),
				didYouMean(strings.ToUpper(item.Text), grpcNames))
			continue
		}
		list = append(list, Symbol{name, posOf(item.Span)})
	}
	return list
}

func (d decoder) pattern(e *syntax.Entry) *regexp.Regexp {
	text, ok := e.Value.Value.(string)
	if !ok {
		d.problem(e.Value.Span, "P102", "pattern is text, not %s", e.Value.Describe())
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		d.problem(e.Value.Span, "P709", "%v: write a pattern in Go's syntax (RE2)", err)
		return nil
	}
	if re.MatchString("") {
		d.problem(e.Value.Span, "P709",
			"%s matches the empty text, and with it every error: write what the text of the error contains, or use the class "+
				"any", syntax.Quote(text))
		return nil
	}
	return re
}

// classes reads a list of classes.
func (d decoder) classes(e *syntax.Entry) ([]class, bool) {
	if !e.Value.IsList() {
		d.problem(e.Value.Span, "P102", "%s is a list of error classes, as [network, timeout], not %s", e.Key,
			e.Value.Describe())
		return nil, false
	}
	if len(e.Value.Items) == 0 && e.Key == "retry_on" {
		d.problem(e.Value.Span, "P108",
			"retry_on is empty, so nothing is retried: list error classes, remove it for all errors, or write max_attempts: 1")
		return nil, false
	}
	var list []class
	ok := true
	for _, item := range e.Value.Items {
		c, good := d.class(item, e.Key)
		if good && slices.ContainsFunc(list, func(have class) bool { return have.name == c.name }) {
			d.add(item.Span, rules.Finding{Rule: "P703", Text: fmt.Sprintf("%s is in %s twice: remove one", c.name, e.Key)})
			continue
		}
		list = append(list, c)
		ok = ok && good
	}
	return list, ok
}

func (d decoder) class(n *syntax.Node, key string) (class, bool) {
	switch v := n.Value.(type) {
	case string:
		if v == "unknown" && (key == "retry_on" || key == "abort_on") {
			d.problem(n.Span, "P102", "unknown errors have a setting of their own: write unknown: %s next to %s",
				map[string]string{"retry_on": "retry", "abort_on": "fail"}[key], key)
			return class{}, false
		}
		if v == "canceled" && key == "retry_on" {
			d.problem(n.Span, "P707", "a call that its caller canceled is never retried: remove canceled")
			return class{}, false
		}
		return class{name: retry.Class(v)}, d.isClass(n.Span, v)
	case int64:
		if hint := codeHint(n.Text); hint != "" {
			d.problem(n.Span, "P901", "%s", hint)
			return class{}, false
		}
	case map[string]any:
		e := n.Get("pattern")
		unknown := d.unknownKeys(n, "", "pattern")
		if e == nil && !unknown {
			d.problem(n.Span, "P102", "an item of %s is a class, or {pattern: …}", key)
		}
		if e == nil {
			return class{}, false
		}
		re := d.pattern(e)
		return class{retry.Class(patternClass + e.Value.Text), re}, re != nil
	}
	d.problem(n.Span, "P102", "an item of %s is a class, or {pattern: …}, not %s", key, n.Describe())
	return class{}, false
}

// patternClass begins the name of a class that a list defines in place.
const patternClass = "pattern:"

// IsPattern reports whether a class is a pattern that is written directly in a list of
// classes.
func IsPattern(c retry.Class) bool { return strings.HasPrefix(string(c), patternClass) }

// isClass reports whether there is a class of that name.
func (d decoder) isClass(at syntax.Span, name string) bool {
	if slices.Contains(builtinClasses, name) || d.defined["errors"][name] {
		return true
	}
	if hint := codeHint(name); hint != "" {
		d.problem(at, "P901", "%s", hint)
		return false
	}
	known := slices.Concat(builtinClasses, d.names["errors"])
	d.problem(at, "P901", "there is no error class %s%s", syntax.Quote(name), didYouMean(name, known))
	return false
}

var hundreds = regexp.MustCompile(`^([1-5])[xX]{2}$`)

// codeHint returns how to write a status code in place of the name of a class, or
// "" if name is not one.
func codeHint(name string) string {
	code, is, test := name, "is an HTTP status", "http"
	statuses, isStatus := parseStatuses(name)
	switch m := hundreds.FindStringSubmatch(name); {
	case m != nil:
		code, is = m[1]+"00-"+m[1]+"99", "are HTTP statuses"
	case isStatus && statuses[0] < statuses[1]:
		is = "are HTTP statuses"
	case slices.Contains(grpcNames, strings.ToUpper(name)):
		code, is, test = strings.ToUpper(name), "is a gRPC code", "grpc"
	case !isStatus:
		return ""
	}
	return fmt.Sprintf("%s %s: write errors: {NAME: {%s: [%s]}}, and NAME here", name, is, test, code)
}

// model returns the class in the form of the runtime, without Is, As and GRPC:
// those tests are generated Go code.
func (c *ErrorClass) model() retry.ErrorClass {
	return retry.ErrorClass{Class: retry.Class(c.Name), HTTP: c.HTTP, Pattern: c.Pattern, Action: c.Action}
}
