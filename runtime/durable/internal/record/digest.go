package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// SameDigest reports whether two values have the same digest. Values without one differ.
func SameDigest(a, b any) bool {
	first, err := DigestOf(a)
	if err != nil {
		return false
	}
	second, err := DigestOf(b)
	return err == nil && first == second
}

// DigestOf returns the digest of one argument.
func DigestOf(value any) (string, error) {
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

// OtherArguments returns the parameters whose recorded digests differ from those
// of a call. A record of an earlier version has one digest without a name: it
// differs from none.
func OtherArguments(recorded, called string) (names []string) {
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
