package prodigy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
)

// A reader reads values from nodes. Its first error is kept; what it returns
// after that has no meaning. A missing value, a nil node, reads as zero.
type reader struct {
	file  string
	text  []byte
	lines []int // the offsets of the lines of text, once there is a problem
	err   *Error
	notes []Note
}

func (r *reader) problem(n *node, format string, args ...any) *Error {
	if r.lines == nil {
		r.lines = lines(r.text)
	}
	line, column := position(r.lines, n.offset)
	return &Error{File: r.file, Line: line, Column: column, Path: n.path(), Text: fmt.Sprintf(format, args...)}
}

func (r *reader) fail(n *node, format string, args ...any) {
	if r.err == nil {
		r.err = r.problem(n, format, args...)
	}
}

func (r *reader) note(n *node, format string, args ...any) {
	r.notes = append(r.notes, Note{File: r.file, Path: n.path(), Text: fmt.Sprintf(format, args...)})
}

// source returns the JSON text of a node.
func (r *reader) source(n *node) string { return string(r.text[n.offset:n.end]) }

// An object is a node whose members are read by name.
type object struct {
	*reader
	n *node
}

// object returns the members of an object.
func (r *reader) object(n *node) object {
	if n.kind != '{' {
		r.fail(n, "is %v: want an object", n)
	}
	return object{r, n}
}

// get returns the first member that has one of the names and is not null, or
// nil.
func (o object) get(names ...string) (found *node) {
	for _, name := range names {
		m := o.n.find(name)
		if m == nil {
			continue
		}
		m.read = true
		if m.kind != 'n' && found == nil {
			found = m
		}
	}
	return found
}

// need returns a member that has to exist.
func (o object) need(name string) *node {
	m := o.get(name)
	if m == nil {
		o.fail(o.n, "has no %s: it is not what Prodigy writes; use the checkpoint before it", name)
	}
	return m
}

// rest notes the members that were not read.
func (o object) rest(text string) {
	for _, m := range o.n.members {
		if !m.read && !m.empty() {
			o.note(m, "%s", text)
		}
	}
}

const unknownKey = "is not a key that Prodigy documents: not imported"

// entries returns the members of an object whose keys are data.
func (r *reader) entries(n *node) []*node {
	if n == nil {
		return nil
	}
	if n.kind != '{' {
		r.fail(n, "is %v: want an object", n)
		return nil
	}
	n.free = true
	return n.members
}

// list returns the elements of an array.
func (r *reader) list(n *node) []*node {
	if n == nil {
		return nil
	}
	if n.kind != '[' {
		r.fail(n, "is %v: want an array", n)
		return nil
	}
	return n.members
}

func (r *reader) string(n *node) string {
	if n == nil {
		return ""
	}
	if n.kind != '"' {
		r.fail(n, "is %v: want a string", n)
	}
	return n.text
}

func (r *reader) flag(n *node) bool {
	if n == nil {
		return false
	}
	if n.kind != 't' && n.kind != 'f' {
		r.fail(n, "is %v: want true or false", n)
	}
	return n.kind == 't'
}

// count reads a number of attempts or calls. One that is greater than any that
// is in use stays so.
func (r *reader) count(n *node) int {
	if n == nil {
		return 0
	}
	v, err := strconv.ParseUint(n.text, 10, 64)
	if n.kind != 0 || err != nil {
		r.fail(n, "is %v: want a whole number that is not negative", n)
	}
	return int(min(v, math.MaxInt32))
}

// whole reads an integer of any sign.
func (r *reader) whole(n *node) int64 {
	if n == nil {
		return 0
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if n.kind != 0 || err != nil {
		r.fail(n, "is %v: want a whole number of less than 2^63", n)
	}
	return v
}

func (r *reader) number(n *node, otherwise float64) float64 {
	if n == nil {
		return otherwise
	}
	v, err := strconv.ParseFloat(n.text, 64)
	if n.kind != 0 || err != nil {
		r.fail(n, "is %v: want a number", n)
	}
	return v
}

// maxSeconds is the greatest number of seconds that a Duration holds with any
// fraction.
const maxSeconds = math.MaxInt64/int64(time.Second) - 1

const wantDuration = `want a duration as "5s", "1m 30s" or {"secs": 5, "nanos": 0}, of less than 292 years`

// duration reads what humantime writes ("1m 30s"), and the forms of serde:
// {"secs": 5, "nanos": 0} and [5, 0]. A negative one is zero.
func (r *reader) duration(n *node) time.Duration {
	if n == nil {
		return 0
	}
	switch n.kind {
	case '"':
		d, err := duration.Parse(n.text)
		if err == nil {
			return d
		}
	case '{':
		o := r.object(n)
		secs, nanos := o.need("secs"), o.get("nanos")
		o.rest(unknownKey)
		return r.seconds(secs, nanos)
	case '[':
		if len(n.members) == 2 {
			return r.seconds(n.members[0], n.members[1])
		}
	}
	r.fail(n, "is %v: %s", n, wantDuration)
	return 0
}

// seconds adds seconds and nanoseconds.
func (r *reader) seconds(secs, nanos *node) time.Duration {
	s, n := r.whole(secs), r.whole(nanos)
	switch {
	case r.err != nil:
		return 0
	case s > maxSeconds || n <= -1e9 || n >= 1e9:
		r.fail(secs.parent, "is %ds and %dns: %s", s, n, wantDuration)
		return 0
	case s < 0 || n < 0:
		r.note(secs.parent, "is negative, since the clock was set back: taken for 0")
		return 0
	}
	return time.Duration(s)*time.Second + time.Duration(n)
}

// time reads a time in RFC 3339. Some writers of Prodigy's files append a Z to
// the offset +00:00.
func (r *reader) time(n *node) time.Time {
	if n == nil {
		return time.Time{}
	}
	text := r.string(n)
	if offset, ok := strings.CutSuffix(text, "+00:00Z"); ok {
		text = offset + "Z"
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.UTC().Year() < 1970 || t.UTC().Year() > 9999 {
		r.fail(n, "is %v: want a time as 2025-01-16T10:30:00Z", n)
		return time.Time{}
	}
	return t.UTC()
}
