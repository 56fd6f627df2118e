package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SameDigest reports whether two values have the same digest. Values that have no digest
// differ.
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
	digest, err := AppendDigest(nil, value)
	return string(digest), err
}

// AppendDigest appends the digest of one argument to b.
func AppendDigest(b []byte, value any) ([]byte, error) {
	var room [64]byte
	text := appendPlain(room[:0], value)
	if text == nil {
		var err error
		if text, err = jsonOf(value); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256(text)
	return hex.AppendEncode(b, sum[:8]), nil
}

// appendPlain appends the JSON form of a value of one of the most frequent types, if the value
// needs no escaping. It returns nil for other values.
func appendPlain(b []byte, value any) []byte {
	switch v := value.(type) {
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		for i := range len(v) {
			if c := v[i]; c < ' ' || c >= utf8.RuneSelf || strings.IndexByte(`"\<>&`, c) >= 0 {
				return nil
			}
		}
		return append(append(append(b, '"'), v...), '"')
	}
	return nil
}

// jsonOf returns the JSON form of a value without object members that are zero.
func jsonOf(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil || text[0] != '{' && text[0] != '[' {
		return text, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(withoutZeros(v))
}

// withoutZeros removes the object members that are zero from a JSON value.
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

// isZero reports whether a JSON value is the encoding of the zero value of a field.
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

// OtherArguments returns the parameters whose recorded digests differ from the call's
// digests. A record from an earlier version has one digest without a name, which counts
// as equal.
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
