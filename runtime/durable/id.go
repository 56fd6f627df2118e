package durable

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxID is the greatest length of the id of a run or a step, in bytes: what an
// index of a database holds.
const maxID = 1024

// A StepID distinguishes the calls of one step: see [ID].
type StepID struct {
	text string
	err  error
}

// ID returns the id with parts: strings, integers, booleans, types that are
// based on these, and encoding.TextMarshaler. The ids of different parts are
// different: ID("a/b", "c") is not ID("a", "b/c"). A part of another type, or
// one whose MarshalText fails, makes the call that uses the id return an error
// that matches [ErrID].
func ID(parts ...any) StepID {
	b := make([]byte, 0, 64)
	for i, part := range parts {
		text, err := idText(part)
		if err != nil {
			return StepID{err: fmt.Errorf("%w: part %d (%T): %w", ErrID, i+1, part, err)}
		}
		b = append(append(b, '/'), escape(text)...)
	}
	return StepID{text: string(b)}
}

func idText(part any) (string, error) {
	if m, ok := part.(encoding.TextMarshaler); ok {
		if v := reflect.ValueOf(part); v.Kind() == reflect.Pointer && v.IsNil() {
			return "", fmt.Errorf("it is nil")
		}
		text, err := m.MarshalText()
		return string(text), err
	}
	switch v := reflect.ValueOf(part); {
	case v.Kind() == reflect.String:
		return v.String(), nil
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), nil
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10), nil
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	}
	return "", fmt.Errorf("want a string, an integer, a boolean or an encoding.TextMarshaler")
}

// escape returns s without the separators of ids, without control characters,
// and as valid UTF-8: stores keep nothing else. Different texts stay different.
func escape(s string) string {
	clean := func(r rune, size int) bool {
		return r >= ' ' && r != '%' && r != '/' && r != ':' && r != 0x7f && (r != utf8.RuneError || size > 1)
	}
	i := 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !clean(r, size) {
			break
		}
		i += size
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if clean(r, size) {
			b.WriteString(s[i : i+size])
		} else {
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		i += size
	}
	return b.String()
}

// fullID returns the id of a step in its run: the scopes, the name and the id.
func fullID(ctx context.Context, name string, id StepID) (string, error) {
	if id.err != nil {
		return "", id.err
	}
	if name == "" {
		return "", fmt.Errorf("%w: the name of the step is empty", ErrID)
	}
	key := scopes(ctx) + escape(name) + id.text
	if len(key) > maxID {
		return "", fmt.Errorf("%w: the id of step %.40q… has %d bytes: the limit is %d", ErrID, key, len(key), maxID)
	}
	return key, nil
}

// checkRunID returns an error for an id of a run that no store keeps.
func checkRunID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: the id of the run is empty", ErrID)
	case len(id) > maxID:
		return fmt.Errorf("%w: the id of run %.40q… has %d bytes: the limit is %d", ErrID, id, len(id), maxID)
	case !utf8.ValidString(id) || strings.ContainsRune(id, 0):
		return fmt.Errorf("%w: the id of run %q is not UTF-8 text", ErrID, id)
	}
	return nil
}

type scopeKey struct{}

// Scope returns a context whose steps are others than those of ctx: it distinguishes
// the iterations of a loop that call the same step.
//
//	for page := range pages {
//		ctx := durable.Scope(ctx, fmt.Sprint("page-", page))
//		…
//	}
//
// Scopes nest. The names of different scopes are different, whatever characters
// they contain.
func Scope(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, scopeKey{}, scopes(ctx)+escape(name)+":")
}

// scopes returns the prefix of the steps of ctx.
func scopes(ctx context.Context) string {
	prefix, _ := ctx.Value(scopeKey{}).(string)
	return prefix
}

// idempotencyKey returns the key of a step. It depends on nothing that changes
// from one attempt to the next; generation counts the keys that
// [Engine.Requeue] with [NewKey] has replaced.
func idempotencyKey(space, run, step string, generation int) string {
	b := make([]byte, 0, 256)
	for _, part := range [...]string{space, run, step} {
		b = strconv.AppendInt(b, int64(len(part)), 10)
		b = append(b, ':')
		b = append(b, part...)
	}
	if generation > 0 {
		b = append(b, '#')
		b = strconv.AppendInt(b, int64(generation), 10)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// token returns a random identifier.
func token(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // which never returns an error
	return hex.EncodeToString(b)
}
