package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Digest identifies the arguments of a step that are not part of its id: see
// [Arguments].
type Digest struct {
	text string
	err  error
}

// Arguments returns the digests of the arguments of a step by the names of their
// parameters, which it takes in turn:
//
//	durable.Arguments("amount", amount, "tags", tags)
//
// A digest is that of the JSON form of the argument without object members that
// have their zero value: null, false, 0, "", an empty array or object, or the zero
// [time.Time]. So a type may have a further field without making arguments that do
// not set it others. Only parameters that a recorded step and its call have in
// common are compared.
//
// A value without a JSON form, or a name that is no string, makes the call that
// uses the digest return an error that matches [ErrArguments].
func Arguments(namesAndValues ...any) Digest {
	b := make([]byte, 0, 64)
	for i := 0; i < len(namesAndValues); i += 2 {
		name, ok := namesAndValues[i].(string)
		if !ok || i+1 == len(namesAndValues) {
			return Digest{err: fmt.Errorf("%w: want names and values in turn, not %T", ErrArguments, namesAndValues[i])}
		}
		digest, err := digestOf(namesAndValues[i+1])
		if err != nil {
			return Digest{err: fmt.Errorf("%w: %s: %w", ErrArguments, name, err)}
		}
		if i > 0 {
			b = append(b, '/')
		}
		b = append(append(append(b, escape(name)...), ':'), digest...)
	}
	return Digest{text: string(b)}
}

// alike reports whether two values have the same digest. Values without one differ.
func alike(a, b any) bool {
	first, err := digestOf(a)
	if err != nil {
		return false
	}
	second, err := digestOf(b)
	return err == nil && first == second
}

// digestOf returns the digest of one argument.
func digestOf(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	if text[0] == '{' || text[0] == '[' {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return "", err
		}
		if text, err = json.Marshal(withoutZeros(v)); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// withoutZeros removes the members of objects in a JSON value that are zero.
func withoutZeros(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutZeros(v[i])
		}
	case map[string]any:
		for name, member := range v {
			if member = withoutZeros(member); isZero(member) {
				delete(v, name)
			}
		}
	}
	return v
}

// isZero reports whether a JSON value is what the zero value of a field leads to.
func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case json.Number:
		return v == "0"
	case string:
		return v == "" || v == "0001-01-01T00:00:00Z"
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// otherArguments returns the parameters whose recorded digests differ from those
// of a call. A record of an earlier version has one digest without a name: it
// differs from none.
func otherArguments(recorded, called string) (names []string) {
	if recorded == called {
		return nil
	}
	calls := strings.Split(called, "/")
	for one := range strings.SplitSeq(recorded, "/") {
		name, _, named := strings.Cut(one, ":")
		if !named || slices.Contains(calls, one) {
			continue
		}
		if slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, name+":") }) {
			names = append(names, name)
		}
	}
	return names
}
