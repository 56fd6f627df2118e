package genapi

import (
	"fmt"

	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
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
//	genapi.Arguments("amount", amount, "tags", tags)
//
// A digest is made of the JSON form of the argument without object members that
// have their zero value: null, false, 0, "", an empty array or object, or the zero
// [time.Time]. So a type may have a further field without making arguments that do
// not set it others. Only parameters that a recorded step and its call have in
// common are compared.
//
// A value without a JSON form, or a name that is no string, makes the call that
// uses the digest return an error that matches durable.ErrArguments.
func Arguments(namesAndValues ...any) Digest {
	b := make([]byte, 0, 64)
	for i := 0; i < len(namesAndValues); i += 2 {
		name, ok := namesAndValues[i].(string)
		if !ok || i+1 == len(namesAndValues) {
			return Digest{err: fmt.Errorf("%w: want names and values in turn, not %T", fault.ErrArguments, namesAndValues[i])}
		}
		if i > 0 {
			b = append(b, '/')
		}
		var err error
		b, err = record.AppendDigest(append(append(b, record.Escape(name)...), ':'), namesAndValues[i+1])
		if err != nil {
			return Digest{err: fmt.Errorf("%w: %s: %w", fault.ErrArguments, name, err)}
		}
	}
	return Digest{text: string(b)}
}

// Text returns the digests as a record keeps them.
func (d Digest) Text() (string, error) { return d.text, d.err }
