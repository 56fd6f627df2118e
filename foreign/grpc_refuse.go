package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
)

// A grpcParser reads a service config as grpc-go does with package encoding/json: see
// grpc/grpc-go, service_config.go. It reports what grpc-go refuses, and sets those values to
// null, so that nothing else is reported about them. Fields whose names differ only in case are
// renamed.
//
// A test in contrib/clients/grpc compares the parser with grpc-go.
type grpcParser struct {
	report   func(at syntax.Span, rule string, severity rules.Severity, text string)
	anyCase  bool // do not warn of names in another case, which only grpc-go accepts
	mistyped bool // package encoding/json refuses a value
}

// A grpcField is a field of a map, with the function that checks its value. A null value counts
// as absent. If null is set, the function is called for it nevertheless.
type grpcField struct {
	name  string
	check func(e syntax.Entry)
	null  bool
}

// refuse reports what grpc-go refuses.
func (g *grpcParser) refuse(at syntax.Span, rule, format string, args ...any) {
	g.report(at, rule, rules.Error, "grpc-go refuses "+fmt.Sprintf(format, args...))
}

// value reports a value that grpc-go refuses.
func (g *grpcParser) value(e syntax.Entry, rule, format string, args ...any) {
	at := e.Value.Span
	if e.Value.IsMap() || e.Value.IsList() {
		at = e.At
	}
	g.refuse(at, rule, format, args...)
	*e.Value = syntax.Node{Span: e.Value.Span}
}

// kind reports a value whose type differs from the one that grpc-go reads.
func (g *grpcParser) kind(e syntax.Entry, want string) {
	g.mistyped = true
	g.value(e, "P102", "%s as %s: write %s", e.Value.Describe(), e.Key, want)
}

// object checks the fields of a map, and returns the names of those that are written. grpc-go
// ignores unknown fields.
func (g *grpcParser) object(e syntax.Entry, fields ...grpcField) (written []string) {
	if !e.Value.IsMap() {
		g.kind(e, "a map")
		return nil
	}
	index := func(field syntax.Entry) int {
		return slices.IndexFunc(fields, func(f grpcField) bool { return strings.EqualFold(f.name, field.Key) })
	}
	for _, field := range e.Value.Repeated {
		if index(field) >= 0 {
			g.report(field.At, "P102", rules.Error, fmt.Sprintf("%s is a duplicate key: remove one", field.Key))
		}
	}
	e.Value.Repeated = nil
	for i, field := range e.Value.Entries {
		k := index(field)
		if k < 0 {
			continue
		}
		f := fields[k]
		if slices.Contains(written, f.name) {
			g.report(field.At, "P102", rules.Error, fmt.Sprintf("%s is %s again for grpc-go: remove one", field.Key, f.name))
			continue
		}
		if field.Key != f.name {
			if !g.anyCase {
				g.report(field.At, "P101", rules.Warning, fmt.Sprintf("only grpc-go reads %s: write %s", field.Key, f.name))
			}
			e.Value.Rename(i, f.name)
			field.Key = f.name
		}
		if f.null || !field.Value.IsNull() {
			written = append(written, f.name)
			f.check(field)
		}
	}
	return written
}

// list returns a function that checks a list. Null items count as empty items.
func (g *grpcParser) list(check func(item syntax.Entry)) func(syntax.Entry) {
	return func(e syntax.Entry) {
		if !e.Value.IsList() {
			g.kind(e, "a list")
			return
		}
		for _, item := range e.Value.Items {
			if !item.IsNull() {
				check(syntax.Entry{Key: e.Key, At: item.Span, Value: item})
			}
		}
	}
}

// config checks a service config.
func (g *grpcParser) config(doc *syntax.Node) {
	inEffect := grpcHas(doc, "methodConfig") // otherwise, the values of retryThrottling are not used
	g.object(syntax.Entry{Key: "the service config", At: doc.Span, Value: doc},
		grpcField{name: "loadBalancingPolicy", check: g.text},
		grpcField{name: "loadBalancingConfig", check: g.balancers},
		grpcField{name: "methodConfig", check: g.list(func(m syntax.Entry) { g.method(m, grpcHas(m.Value, "name")) })},
		grpcField{name: "retryThrottling", check: func(e syntax.Entry) { g.throttling(e, inEffect) }},
		grpcField{name: "healthCheckConfig", check: func(e syntax.Entry) {
			g.object(e, grpcField{name: "serviceName", check: g.text})
		}},
	)
	if !g.mistyped {
		g.paths(at(doc, "methodConfig").Items)
	}
}

// grpcHas reports whether a map has a field that is not null. The case of the name is ignored.
func grpcHas(n *syntax.Node, name string) bool {
	return slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool {
		return strings.EqualFold(e.Key, name) && !e.Value.IsNull()
	})
}

// method checks an item of methodConfig. The item only has an effect if it has a name.
// Otherwise, only the types of its values are checked.
func (g *grpcParser) method(e syntax.Entry, inEffect bool) {
	size := func(e syntax.Entry) { g.int(e) }
	g.object(e,
		grpcField{name: "name", check: g.list(func(name syntax.Entry) {
			g.object(name, grpcField{name: "service", check: g.text}, grpcField{name: "method", check: g.text})
		})},
		grpcField{name: "waitForReady", check: g.bool},
		grpcField{name: "timeout", check: func(e syntax.Entry) { g.duration(e) }},
		grpcField{name: "maxRequestMessageBytes", check: size},
		grpcField{name: "maxResponseMessageBytes", check: size},
		grpcField{name: "retryPolicy", check: func(e syntax.Entry) { g.retryPolicy(e, inEffect) }},
	)
}

// retryPolicy checks the retryPolicy of an item of methodConfig.
func (g *grpcParser) retryPolicy(e syntax.Entry, inEffect bool) {
	positive := func(f syntax.Entry, wrong bool) {
		if inEffect && wrong {
			g.value(f, "P102", "%s %s: write a value above 0", f.Key, f.Value.Text)
		}
	}
	backoff := func(f syntax.Entry) { d, ok := g.duration(f); positive(f, ok && d <= 0) }
	written := g.object(e,
		grpcField{name: "maxAttempts", check: func(f syntax.Entry) {
			if n, ok := g.int(f); ok && inEffect && n < 2 {
				g.value(f, "P102", "maxAttempts %d: write at least 2, or remove retryPolicy", n)
			}
		}},
		grpcField{name: "initialBackoff", check: backoff, null: true},
		grpcField{name: "maxBackoff", check: backoff, null: true},
		grpcField{name: "backoffMultiplier", check: func(f syntax.Entry) { n, ok := g.float(f); positive(f, ok && n <= 0) }},
		grpcField{name: "retryableStatusCodes", check: func(f syntax.Entry) {
			if inEffect && f.Value.IsList() && len(f.Value.Items) == 0 {
				g.refuse(f.Value.Span, "P108",
					"an empty retryableStatusCodes, which retries nothing: list codes, or remove retryPolicy")
			}
			g.list(g.code)(f)
		}},
	)
	if inEffect && e.Value.IsMap() {
		g.required(e, written, "maxAttempts", "initialBackoff", "maxBackoff", "backoffMultiplier", "retryableStatusCodes")
	}
}

// required reports the required fields of a map that are not written.
func (g *grpcParser) required(e syntax.Entry, written []string, names ...string) {
	missing := slices.DeleteFunc(names, func(name string) bool { return slices.Contains(written, name) })
	if last := len(missing) - 1; last >= 0 {
		text := missing[last]
		if last > 0 {
			text = strings.Join(missing[:last], ", ") + " and " + text
		}
		g.refuse(e.At, "P102", "a %s without %s", e.Key, text)
	}
}

// paths checks that no method is named twice in a service config.
func (g *grpcParser) paths(methods []*syntax.Node) {
	lines := map[string]int{}
	for _, m := range methods {
		for _, name := range at(m, "name").Items {
			e := syntax.Entry{Key: "name", At: name.Span, Value: name}
			service, method := grpcText(name, "service"), grpcText(name, "method")
			path, words := "/"+service+"/"+method, service+"/"+cmp.Or(method, "*")
			switch {
			case service == "" && method != "":
				g.value(e, "P102", "the method %s without a service: write service, as package.Service",
					syntax.Quote(method))
				continue
			case service == "":
				path, words = "", "every method"
			}
			if line, twice := lines[path]; twice {
				g.value(e, "P102", "two configs for %s, the first on line %d: remove one", words, line)
				continue
			}
			lines[path] = name.Line
		}
	}
}

// grpcText returns the string in a field, or "" if the field is absent or null.
func grpcText(n *syntax.Node, name string) string {
	if e := n.Written(name); e != nil {
		return e.Value.Text
	}
	return ""
}

// throttling checks retryThrottling.
func (g *grpcParser) throttling(e syntax.Entry, inEffect bool) {
	number := func(most float64, want string) func(syntax.Entry) {
		return func(f syntax.Entry) {
			if n, ok := g.float(f); ok && inEffect && (n <= 0 || n > most) {
				g.value(f, "P102", "%s %s: write a number above 0%s", f.Key, f.Value.Text, want)
			}
		}
	}
	written := g.object(e,
		grpcField{name: "maxTokens", check: number(1000, ", up to 1000")},
		grpcField{name: "tokenRatio", check: number(math.Inf(1), "")},
	)
	if inEffect && e.Value.IsMap() {
		g.required(e, written, "maxTokens", "tokenRatio")
	}
}

// balancers checks loadBalancingConfig, which is a list of policies. grpc-go uses the first one
// that the program contains. All programs contain pick_first and round_robin.
func (g *grpcParser) balancers(e syntax.Entry) {
	if !e.Value.IsList() {
		g.kind(e, "a list")
		return
	}
	if len(e.Value.Items) == 0 {
		g.value(e, "P102", "an empty loadBalancingConfig: name a policy, or remove it")
		return
	}
	found := false // or possibly, if the name is unknown
	for _, item := range e.Value.Items {
		switch {
		case !item.IsMap() && !item.IsNull():
			g.kind(syntax.Entry{Key: e.Key, At: item.Span, Value: item}, "a map from the name of a policy to its config")
		case !found && len(item.Entries) != 1:
			g.value(syntax.Entry{Key: e.Key, At: item.Span, Value: item}, "P102",
				"a policy of loadBalancingConfig with %d names: write one", len(item.Entries))
		case !found:
			found = true
			if policy := item.Entries[0]; policy.Key == "pick_first" && !policy.Value.IsNull() {
				g.object(policy, grpcField{name: "shuffleAddressList", check: g.bool})
			}
		}
	}
}

// text checks a string.
func (g *grpcParser) text(e syntax.Entry) {
	if !isText(e.Value) {
		g.kind(e, "text")
	}
}

// isText reports whether a node is a string.
func isText(n *syntax.Node) bool {
	_, ok := n.Value.(string)
	return ok && !isNumber(n)
}

// bool checks true or false.
func (g *grpcParser) bool(e syntax.Entry) {
	if _, ok := e.Value.Value.(bool); !ok {
		g.kind(e, "true or false")
	}
}

// int returns a whole number. Package encoding/json does not accept fractions or exponents for
// integers.
func (g *grpcParser) int(e syntax.Entry) (int64, bool) {
	n, err := strconv.ParseInt(e.Value.Text, 10, 64)
	if err != nil || !isNumber(e.Value) {
		g.kind(e, "a whole number")
		return 0, false
	}
	return n, true
}

// float returns a number.
func (g *grpcParser) float(e syntax.Entry) (float64, bool) {
	f, err := strconv.ParseFloat(e.Value.Text, 64)
	if err != nil || !isNumber(e.Value) {
		g.kind(e, "a number")
		return 0, false
	}
	return f, true
}

// isNumber reports whether a node is a number, which may be out of range.
func isNumber(n *syntax.Node) bool {
	switch n.Value.(type) {
	case int64, float64:
		return true
	case string:
		return !n.Form.Quoted && jsonNumber.MatchString(n.Text)
	}
	return false
}

var jsonNumber = regexp.MustCompile(`^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$`)

// code checks a status code: its name in upper case, or its number.
func (g *grpcParser) code(e syntax.Entry) {
	n := e.Value
	if isText(n) && slices.Contains(grpcCodes[:], n.Text) {
		return
	}
	if code, err := strconv.ParseUint(n.Text, 10, 32); err == nil && isNumber(n) && code < uint64(len(grpcCodes)) {
		return
	}
	want := fmt.Sprintf("UNAVAILABLE, or a number up to %d", len(grpcCodes)-1)
	if upper := strings.ToUpper(n.Text); slices.Contains(grpcCodes[:], upper) {
		want = upper
	}
	g.value(e, "P102", "%s as a status code: write %s", n.Describe(), want)
}

// duration returns a duration.
func (g *grpcParser) duration(e syntax.Entry) (time.Duration, bool) {
	if !isText(e.Value) {
		g.value(e, "P103", "%s as %s: write seconds as text, as \"0.5s\"", e.Value.Describe(), e.Key)
		return 0, false
	}
	d, err := grpcDuration(e.Value.Text)
	if err != nil {
		g.value(e, "P103", "%s as %s: %v; write seconds, as 0.5s", syntax.Quote(e.Value.Text), e.Key, err)
		return 0, false
	}
	return d, true
}

// grpcDuration parses a duration as grpc-go does: see grpc/grpc-go,
// internal/serviceconfig/duration.go. A duration of more than 292 years becomes the maximum
// duration.
func grpcDuration(text string) (time.Duration, error) {
	number, found := strings.CutSuffix(text, "s")
	if !found {
		return 0, errors.New("it has no unit s")
	}
	number, negative := strings.CutPrefix(number, "-")
	whole, fraction, _ := strings.Cut(number, ".")
	const mostSeconds = 315_576_000_000 // maximum of google.protobuf.Duration
	var sec, ns int64
	var err error
	switch {
	case strings.Contains(fraction, "."):
		return 0, errors.New("it has two points")
	case whole+fraction == "":
		return 0, errors.New("it has no digits")
	case len(fraction) > 9:
		return 0, errors.New("it has more than 9 digits after the point")
	}
	if whole != "" {
		if sec, err = strconv.ParseInt(whole, 10, 64); err != nil {
			return 0, errors.New("it is no number of seconds")
		} else if sec > mostSeconds {
			return 0, errors.New("it is longer than 10000 years")
		}
	}
	if fraction != "" {
		if ns, err = strconv.ParseInt(fraction, 10, 64); err != nil {
			return 0, errors.New("it is no number of seconds")
		}
		for range 9 - len(fraction) {
			ns *= 10
		}
	}
	if negative {
		sec, ns = -sec, -ns
	}
	const most = math.MaxInt64 / int64(time.Second)
	switch {
	case sec >= most:
		return math.MaxInt64, nil
	case sec <= -most:
		return math.MinInt64, nil
	}
	return time.Duration(sec)*time.Second + time.Duration(ns), nil
}
