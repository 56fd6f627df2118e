package admin

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// secrets are what the names of members contain whose values are always redacted.
var secrets = Named("password", "passwd", "passphrase", "secret", "token", "authorization", "cookie", "credential",
	"api key", "access key", "private key", "card number", "cvv", "cvc")

// Named returns a function for durable.Redact that selects the parts whose names contain
// one of the given strings. Case, spaces, hyphens and underscores are ignored: "iban"
// selects iban, IBAN and customer_iban. A string with dots is compared with the end of
// the path: "customer.name" selects a customer's name, but no other name.
func Named(texts ...string) func(path []string) bool {
	var patterns [][]string
	for _, text := range texts {
		var pattern []string
		for name := range strings.SplitSeq(text, ".") {
			pattern = append(pattern, plainName(name))
		}
		patterns = append(patterns, pattern)
	}
	return func(path []string) bool {
		return slices.ContainsFunc(patterns, func(pattern []string) bool {
			before := len(path) - len(pattern)
			if before < 0 {
				return false
			}
			for i, name := range pattern {
				if !strings.Contains(plainName(path[before+i]), name) {
					return false
				}
			}
			return true
		})
	}
}

// plainName returns a name as it is compared.
func plainName(name string) string { return separators.Replace(strings.ToLower(name)) }

var separators = strings.NewReplacer(" ", "", "-", "", "_", "")

// redacted is what people see of a part that is hidden from them.
var redacted = json.RawMessage(`"[redacted]"`)

// A redaction writes JSON without the parts that are hidden.
type redaction struct {
	hidden []func(path []string) bool
	in     *json.Decoder
	out    bytes.Buffer
	path   []string
}

// redact returns a value in JSON without the parts that are hidden.
func (c *Client) redact(value json.RawMessage) (json.RawMessage, error) {
	r := redaction{hidden: append(slices.Clone(c.ns.Hidden), secrets), in: json.NewDecoder(bytes.NewReader(value))}
	r.in.UseNumber()
	err := r.value()
	return r.out.Bytes(), err
}

// value copies the next value.
func (r *redaction) value() error {
	token, err := r.in.Token()
	if err != nil {
		return err
	}
	open, composite := token.(json.Delim)
	if !composite {
		return r.write(token)
	}
	r.out.WriteByte(byte(open))
	for n := 0; r.in.More(); n++ {
		if n > 0 {
			r.out.WriteByte(',')
		}
		if open == '{' {
			err = r.member()
		} else {
			err = r.value()
		}
		if err != nil {
			return err
		}
	}
	end, err := r.in.Token()
	if err != nil {
		return err
	}
	r.out.WriteByte(byte(end.(json.Delim)))
	return nil
}

// member copies the next member of an object.
func (r *redaction) member() error {
	name, err := r.in.Token()
	if err != nil {
		return err
	}
	if err := r.write(name); err != nil {
		return err
	}
	r.out.WriteByte(':')
	r.path = append(r.path, name.(string))
	defer func() { r.path = r.path[:len(r.path)-1] }()
	if !slices.ContainsFunc(r.hidden, func(hidden func([]string) bool) bool { return hidden(r.path) }) {
		return r.value()
	}
	var ignored json.RawMessage
	if err := r.in.Decode(&ignored); err != nil {
		return err
	}
	return r.write(redacted)
}

// write writes a scalar.
func (r *redaction) write(scalar any) error {
	e := json.NewEncoder(&r.out)
	e.SetEscapeHTML(false)
	if err := e.Encode(scalar); err != nil {
		return err
	}
	r.out.Truncate(r.out.Len() - 1) // the end of the line
	return nil
}
