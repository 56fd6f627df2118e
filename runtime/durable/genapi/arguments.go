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

// Arguments returns the digests of a step's arguments, keyed by parameter name. It takes
// alternating names and values:
//
//	genapi.Arguments("amount", amount, "tags", tags)
//
// A digest is computed from the argument's JSON form, without the object members that
// have a zero value: null, false, 0, "", an empty array or object, or the zero
// [time.Time]. So a field can be added to a type without changing the digests of
// arguments that do not set it. Only parameters that the recorded step and the call have
// in common are compared.
//
// If a value cannot be encoded as JSON, or a name is not a string, the call that uses the
// digest returns an error that matches durable.ErrArguments.
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

// Text returns the digests in the form in which they are recorded.
func (d Digest) Text() (string, error) { return d.text, d.err }
