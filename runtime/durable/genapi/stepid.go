package genapi

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"

	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// A StepID distinguishes the calls of one step: see [ID].
type StepID struct {
	text string
	err  error
}

// ID returns the id with parts: strings, integers, booleans, types that are
// based on these, and encoding.TextMarshaler. The ids of different parts are
// different: ID("a/b", "c") is not ID("a", "b/c"). A part of another type, or
// one whose MarshalText fails, makes the call that uses the id return an error
// that matches durable.ErrID.
func ID(parts ...any) StepID {
	b := make([]byte, 0, 64)
	for i, part := range parts {
		text, err := idText(part)
		if err != nil {
			return StepID{err: fmt.Errorf("%w: part %d (%T): %w", fault.ErrID, i+1, part, err)}
		}
		b = append(append(b, '/'), record.Escape(text)...)
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

// Path returns the id of a step in its run: the prefix of its scopes, its name and the
// parts.
func (id StepID) Path(prefix, name string) (string, error) {
	if id.err != nil {
		return "", id.err
	}
	return record.FullID(prefix, name, id.text)
}
