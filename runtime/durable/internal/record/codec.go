package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
)

// A Codec encodes the results of runs and steps: see durable.Codec.
type Codec interface {
	Encode(value any) ([]byte, error)
	Decode(data []byte, into any) error
}

// JSON is the default Codec.
type JSON struct{}

// Encode returns the JSON form of a value.
func (JSON) Encode(value any) ([]byte, error) { return json.Marshal(value) }

// Decode refuses unknown fields. They show that the type has changed, and their values would be
// lost silently.
func (JSON) Decode(data []byte, into any) error { return decodeJSON(data, into) }

// A decoder is a json.Decoder that refuses unknown fields, together with its source.
type decoder struct {
	source bytes.Reader
	json   *json.Decoder
}

// decoders holds decoders for reuse, because each has a buffer.
var decoders = sync.Pool{New: func() any {
	d := new(decoder)
	d.json = json.NewDecoder(&d.source)
	d.json.DisallowUnknownFields()
	return d
}}

// maxPooled is the maximum size of data, in bytes, after which a decoder is reused.
const maxPooled = 64 << 10

// decodeJSON decodes data, which must be a single value, and refuses unknown fields.
func decodeJSON(data []byte, into any) error {
	d := decoders.Get().(*decoder)
	d.source.Reset(data)
	if err := d.json.Decode(into); err != nil {
		return err // a decoder cannot be used after an error
	}
	if _, err := d.json.Token(); err != io.EOF {
		return errors.New("data after the value")
	}
	if len(data) <= maxPooled {
		d.source.Reset(nil)
		decoders.Put(d)
	}
	return nil
}

// Limits on the content of a record, in bytes.
const (
	maxResult = 1 << 20 // a result
	maxInline = 4 << 10 // a result inside the record of its step
	maxText   = 4 << 10 // the text of an error
)

// A Payload is an encoded result.
type Payload struct {
	JSON   json.RawMessage `json:"json,omitempty"`   // readable in the database
	Bytes  []byte          `json:"bytes,omitempty"`  // the encoding of a codec that does not write JSON
	Entry  int             `json:"entry,omitempty"`  // the attempt whose entry holds the result
	Refuse string          `json:"refuse,omitempty"` // why the result could not be recorded
	Type   string          `json:"type,omitempty"`   // the type of a value that could not be recorded
}

// NewPayload returns the payload of a value.
func NewPayload(c Codec, value any) Payload {
	data, err := c.Encode(value)
	if err == nil && len(data) > maxResult {
		err = fmt.Errorf("it has %d bytes: the limit is %d", len(data), maxResult)
	}
	_, isJSON := c.(JSON)
	switch {
	case err != nil:
		return Payload{Refuse: Clip(err.Error()), Type: fmt.Sprintf("%T", value)}
	case isJSON || readable(data):
		return Payload{JSON: data}
	}
	return Payload{Bytes: data}
}

// opaque is the first byte of the column of a payload that is not JSON. No JSON begins with it.
const opaque = 0

// Column returns the payload of a run in the form of a field of its record, or nil if there is
// none.
func (p *Payload) Column() []byte {
	switch {
	case p == nil || p.Data() == nil:
		return nil
	case p.Bytes != nil:
		return append([]byte{opaque}, p.Bytes...)
	}
	return p.JSON
}

// payloadOf is the inverse of Column.
func payloadOf(data []byte) *Payload {
	switch {
	case data == nil:
		return nil
	case len(data) > 0 && data[0] == opaque:
		return &Payload{Bytes: data[1:]}
	}
	return &Payload{JSON: data}
}

// readable reports whether data is JSON that a record preserves byte for byte.
func readable(data []byte) bool {
	kept, err := json.Marshal(json.RawMessage(data))
	return err == nil && bytes.Equal(kept, data)
}

// Refused returns why the value could not be recorded, or nil.
func (p *Payload) Refused() error {
	if p.Refuse == "" {
		return nil
	}
	return &PayloadError{Type: p.Type, Err: errors.New(p.Refuse)}
}

// Decode decodes the payload into a value. The error is a *PayloadError.
func (p *Payload) Decode(c Codec, into any) error {
	if err := p.Refused(); err != nil {
		return err
	}
	if err := c.Decode(p.Data(), into); err != nil {
		return &PayloadError{Type: strings.TrimPrefix(fmt.Sprintf("%T", into), "*"), Err: err}
	}
	return nil
}

// A PayloadError reports a value that cannot be recorded or read.
type PayloadError struct {
	Type string // the Go type of the value
	Err  error
}

// Error returns the type and the cause.
func (e *PayloadError) Error() string {
	return fmt.Sprintf("the value (%s) cannot be recorded or read: %v", e.Type, e.Err)
}

// Unwrap returns [fault.ErrResult] and the cause.
func (e *PayloadError) Unwrap() []error { return []error{fault.ErrResult, e.Err} }

// Data returns the bytes that the codec has written.
func (p *Payload) Data() []byte {
	if p.Bytes != nil {
		return p.Bytes
	}
	return p.JSON
}

// Clip returns text in the form in which a record keeps it: valid UTF-8 without NUL, and not
// too long.
func Clip(text string) string {
	if len(text) > maxText {
		cut := maxText - len("…")
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
