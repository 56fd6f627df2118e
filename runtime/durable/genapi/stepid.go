package genapi

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// A StepID distinguishes the calls to one step: see [ID].
type StepID struct {
	kind   idKind
	text   string // of all parts, or the part
	number uint64 // the part
	err    *error
}

// An idKind says what a StepID has.
type idKind uint8

const (
	idParts  idKind = iota // the text of all parts
	idString               // one part, as the others
	idInt
	idUint
)

// ID returns the id that consists of the given parts. A part is a string, an integer, a
// boolean, a value of a type based on one of these, or an encoding.TextMarshaler.
// Different parts always have different ids: ID("a/b", "c") is not ID("a", "b/c"). If a
// part has a different type, or its MarshalText fails, the call that uses the id returns
// an error that matches durable.ErrID.
func ID(parts ...any) StepID {
	b := make([]byte, 0, 64)
	for i, part := range parts {
		text, err := idTextOf(part)
		if err != nil {
			err = fmt.Errorf("%w: part %d (%T): %w", fault.ErrID, i+1, part, err)
			return StepID{err: &err}
		}
		b = append(append(b, '/'), record.Escape(text)...)
	}
	return StepID{text: string(b)}
}

// StringID returns the same as [ID] for a single string that has no MarshalText method.
// Here and in the functions below, the text of the id is not created until it is needed.
func StringID[T ~string](part T) StepID { return StepID{kind: idString, text: string(part)} }

// IntID returns the same as [ID] for a single integer.
func IntID[T ~int | ~int8 | ~int16 | ~int32 | ~int64](part T) StepID {
	return StepID{kind: idInt, number: uint64(part)}
}

// UintID returns the same as [ID] for a single unsigned integer.
func UintID[T ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](part T) StepID {
	return StepID{kind: idUint, number: uint64(part)}
}

func idTextOf(part any) (string, error) {
	if m, ok := part.(encoding.TextMarshaler); ok {
		if v := reflect.ValueOf(part); v.Kind() == reflect.Pointer && v.IsNil() {
			return "", errors.New("it is nil")
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
	return "", errors.New("want a string, an integer, a boolean or an encoding.TextMarshaler")
}

// Path returns the id of a step within its run. It consists of the prefix of the step's
// scopes, its name and the parts.
func (id StepID) Path(prefix, name string) (string, error) {
	if id.err != nil {
		return "", *id.err
	}
	var room [128]byte
	return record.FullID(prefix, name, id.append(room[:0]))
}

// append appends the text of the parts.
func (id StepID) append(b []byte) []byte {
	switch id.kind {
	case idString:
		return append(append(b, '/'), record.Escape(id.text)...)
	case idInt:
		return strconv.AppendInt(append(b, '/'), int64(id.number), 10)
	case idUint:
		return strconv.AppendUint(append(b, '/'), id.number, 10)
	}
	return append(b, id.text...)
}
