package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Codec encodes the results of runs and steps. The default is JSON. Another
// one may compress or encrypt: what it returns is opaque to stores and queries.
type Codec interface {
	Encode(value any) ([]byte, error)
	// Decode decodes into a pointer. It neither changes nor keeps data, which
	// several callers of a step may decode at a time. An error for data of another type is better
	// than a value that lacks a part of it.
	Decode(data []byte, into any) error
}

// jsonCodec is the default Codec.
type jsonCodec struct{}

// Encode returns the JSON form of a value.
func (jsonCodec) Encode(value any) ([]byte, error) { return json.Marshal(value) }

// Decode refuses unknown fields: the type has changed, and what the field meant
// would be lost silently.
func (jsonCodec) Decode(data []byte, into any) error { return decodeJSON(data, into) }

// A decoder is a json.Decoder that refuses unknown fields, with its source.
type decoder struct {
	source bytes.Reader
	json   *json.Decoder
}

// decoders are used again: each has a buffer.
var decoders = sync.Pool{New: func() any {
	d := new(decoder)
	d.json = json.NewDecoder(&d.source)
	d.json.DisallowUnknownFields()
	return d
}}

// maxPooled is the size of the data in bytes above which the decoder is not used
// again.
const maxPooled = 64 << 10

// decodeJSON decodes data, which is one value, and refuses unknown fields.
func decodeJSON(data []byte, into any) error {
	d := decoders.Get().(*decoder)
	d.source.Reset(data)
	if err := d.json.Decode(into); err != nil {
		return err // a decoder with an error is of no further use
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

// Limits on what a record holds.
const (
	maxResult = 1 << 20 // bytes of a result
	maxInline = 4 << 10 // bytes of a result inside the record of its step
	maxText   = 4 << 10 // bytes of the text of an error
)

// A payload is an encoded result.
type payload struct {
	JSON   json.RawMessage `json:"json,omitempty"`   // readable in the database
	Bytes  []byte          `json:"bytes,omitempty"`  // of a codec that does not write JSON
	Entry  int             `json:"entry,omitempty"`  // the attempt whose entry holds the result
	Refuse string          `json:"refuse,omitempty"` // why the result could not be recorded
	Type   string          `json:"type,omitempty"`   // of a result that could not be recorded
}

// encode returns the payload of a value.
func encode(c Codec, value any) payload {
	data, err := c.Encode(value)
	if err == nil && len(data) > maxResult {
		err = fmt.Errorf("it has %d bytes: the limit is %d", len(data), maxResult)
	}
	_, isJSON := c.(jsonCodec)
	switch {
	case err != nil:
		return payload{Refuse: clip(err.Error()), Type: fmt.Sprintf("%T", value)}
	case isJSON || readable(data):
		return payload{JSON: data}
	}
	return payload{Bytes: data}
}

// readable reports whether data is JSON that a record keeps byte by byte.
func readable(data []byte) bool {
	kept, err := json.Marshal(json.RawMessage(data))
	return err == nil && bytes.Equal(kept, data)
}

// refused returns why the value could not be recorded, or nil.
func (p *payload) refused() error {
	if p.Refuse == "" {
		return nil
	}
	return &payloadError{Type: p.Type, Err: errors.New(p.Refuse)}
}

// decode decodes the payload into a value. The error is a *payloadError.
func (p *payload) decode(c Codec, into any) error {
	if err := p.refused(); err != nil {
		return err
	}
	if err := c.Decode(p.data(), into); err != nil {
		return &payloadError{Type: strings.TrimPrefix(fmt.Sprintf("%T", into), "*"), Err: err}
	}
	return nil
}

// A payloadError reports a value that cannot be recorded or read.
type payloadError struct {
	Type string // of the value, in Go
	Err  error
}

// Error returns the type and the cause.
func (e *payloadError) Error() string {
	return fmt.Sprintf("the value (%s) cannot be recorded or read: %v", e.Type, e.Err)
}

// Unwrap returns the cause.
func (e *payloadError) Unwrap() error { return e.Err }

func (p *payload) data() []byte {
	if p.Bytes != nil {
		return p.Bytes
	}
	return p.JSON
}

// clip returns text as a record keeps it: valid UTF-8 without NUL, and not too
// long.
func clip(text string) string {
	if len(text) > maxText {
		cut := maxText - len("…")
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
