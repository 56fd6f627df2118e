package foreign

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
)

// A value is a part of a foreign document. A nil value is absent, and its methods return zero
// values. Each value records which of its fields have been read. The other fields are losses.
type value struct {
	d       *decoder
	n       *syntax.Node
	key     string            // key of the field; an item has the key of its list
	path    string            // path from the root, such as methodConfig[0].timeout
	at      syntax.Span       // position of the key; for an item, of the value
	asked   map[string]bool   // keys of fields that may be in the map
	absent  []string          // names of fields that may be in the map in any spelling, but are not
	fields  map[string]*value // fields that are in the map
	list    []*value
	done    bool     // the value has been read as a whole
	skipped bool     // the value is unrelated to retries
	lost    []string // why the value, or a part of its meaning, is lost
}

// get returns the field of a map with the given key, or nil if the field is absent or null.
func (v *value) get(key string) *value {
	if v == nil {
		return nil
	}
	if f, ok := v.fields[key]; ok {
		return f
	}
	if v.asked == nil {
		v.asked = map[string]bool{}
	}
	v.asked[key] = true
	e := v.n.Get(key)
	if e == nil {
		return nil
	}
	if v.fields == nil {
		v.fields = map[string]*value{}
	}
	path := key
	if v.path != "" {
		path = v.path + "." + key
	}
	f := &value{d: v.d, n: e.Value, key: key, path: path, at: e.At}
	if f.n.IsNull() { // the same as absent
		f.done, f = true, nil
	}
	v.fields[key] = f
	return f
}

// at returns the field of a map, or an empty node.
func at(n *syntax.Node, key string) *syntax.Node {
	if e := n.Get(key); e != nil {
		return e.Value
	}
	return new(syntax.Node)
}

// has reports whether a map has a field that is not null. The field does not count as read.
func (v *value) has(key string) bool { return v != nil && v.n.Written(key) != nil }

// keys returns the keys of a map, in the order of the document.
func (v *value) keys() (keys []string) {
	if v == nil {
		return nil
	}
	for _, e := range v.n.Entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// items returns the items of a list. If the value is not a list, items reports this.
func (v *value) items() []*value {
	if v == nil || v.list != nil {
		return v.cachedItems()
	}
	if !v.n.IsList() {
		if _, ok := v.scalar("a list"); ok {
			v.mistake("P102", "%s is a list, not %s", v.key, v.n.Describe())
		}
		return nil
	}
	for i, n := range v.n.Items {
		v.list = append(v.list, &value{d: v.d, n: n, key: v.key, path: fmt.Sprintf("%s[%d]", v.path, i), at: n.Span})
	}
	return v.list
}

func (v *value) cachedItems() []*value {
	if v == nil {
		return nil
	}
	return v.list
}

// skip marks known fields as unrelated to retries. Without keys, it marks the entire value.
func (v *value) skip(keys ...string) {
	if v == nil {
		return
	}
	if len(keys) == 0 {
		v.done, v.skipped = true, true
	}
	for _, key := range keys {
		v.get(key).skip()
	}
}

// lose adds a loss for the entire value, which is a known field without an equivalent.
func (v *value) lose(format string, args ...any) {
	if v == nil {
		return
	}
	v.done = true
	v.d.lose(v, false, fmt.Sprintf(format, args...))
}

// note adds a loss for a value that has been read, but a part of whose meaning is lost.
func (v *value) note(format string, args ...any) {
	if v != nil {
		v.d.lose(v, false, fmt.Sprintf(format, args...))
	}
}

// mistake reports that the other system refuses the value, or interprets it differently than
// its author expects.
func (v *value) mistake(rule, format string, args ...any) {
	if v == nil || isOpen(v.n) { // a value that is not known yet is not refused
		return
	}
	v.done = true
	v.d.problem(v.n.Span, rule, rules.Error, fmt.Sprintf(format, args...))
}

// warn is like mistake, but reports a warning.
func (v *value) warn(rule, format string, args ...any) {
	if v != nil {
		v.d.problem(v.n.Span, rule, rules.Warning, fmt.Sprintf(format, args...))
	}
}

// lacks is like warn, for a value that only makes sense together with another value that the
// document does not contain. If the document is partial, lacks reports nothing, because another
// document may contain that value.
func (v *value) lacks(rule, format string, args ...any) {
	if v != nil && !v.d.partial {
		v.warn(rule, format, args...)
	}
}

// scalar returns the text of a scalar. It reports maps and lists. A value that is set at run
// time becomes a loss. what describes the expected value.
func (v *value) scalar(what string) (string, bool) {
	switch {
	case v == nil:
		return "", false
	case v.n.IsMap() || v.n.IsList():
		v.mistake("P102", "%s is %s, not %s", v.key, what, v.n.Describe())
		return "", false
	case syntax.IsUnknown(v.n.Text):
		v.lose("the value of a template is known only after helm template")
		return "", false
	case isExpression(v.n.Text):
		v.lose("%s is known at run time only", syntax.Quote(v.n.Text))
		return "", false
	}
	v.done = true
	return v.n.Text, true
}

// isOpen reports whether a value is not known yet.
func isOpen(n *syntax.Node) bool { return isExpression(n.Text) || syntax.IsUnknown(n.Text) }

// isDeployed reports whether a value is a CloudFormation function, such as !Ref Attempts, whose
// result is known only when the template is deployed. Such a value becomes a loss.
func (v *value) isDeployed() bool {
	if v == nil || isNumber(v.n) || v.n.Form.Quoted {
		return false
	}
	v.lose("it is known at deployment only")
	return true
}

// isExpression reports whether the other system evaluates a text.
func isExpression(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "${") || strings.HasPrefix(text, "$.") ||
		strings.HasPrefix(text, "{%")
}

// text returns the text of a scalar, or "".
func (v *value) text() string {
	s, _ := v.scalar("text")
	return s
}

// int returns a whole number. A number in quotes is accepted, too.
func (v *value) int() (int, bool) {
	s, ok := v.scalar("a whole number")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if f, isFloat := v.n.Value.(float64); err != nil && isFloat && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		n, err = int64(f), nil // 3.0, 1e3
	}
	if err != nil || n > math.MaxInt32 || n < math.MinInt32 {
		v.mistake("P102", "%s is a whole number, not %s", v.key, v.n.Describe())
		return 0, false
	}
	return int(n), true
}

// float returns a number that is not infinite.
func (v *value) float() (float64, bool) {
	s, ok := v.scalar("a number")
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		v.mistake("P102", "%s is a number, not %s", v.key, v.n.Describe())
		return 0, false
	}
	return f, true
}

// share returns a number above 0 and up to most, divided by most.
func (v *value) share(most float64) (float64, bool) {
	f, ok := v.float()
	if ok && (f <= 0 || f > most) {
		v.mistake("P102", "%s is above 0, up to %v, not %v", v.key, most, f)
		return 0, false
	}
	return f / most, ok
}

// bool returns a boolean, or false if the value is absent.
func (v *value) bool() bool {
	s, ok := v.scalar("true or false")
	if ok && s != "true" && s != "false" {
		v.mistake("P102", "%s is true or false, not %s", v.key, v.n.Describe())
	}
	return s == "true"
}

// duration returns a duration in the format of the other system.
func (v *value) duration(format durationFormat) (time.Duration, bool) {
	s, ok := v.scalar("a duration")
	if !ok {
		return 0, false
	}
	d, err := format(s)
	if err != nil {
		v.mistake("P103", "%s: %v", v.key, err)
		return 0, false
	}
	return d, true
}
