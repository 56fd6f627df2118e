package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// valueFlags are the flags of commands that can show inputs and results.
type valueFlags struct {
	values bool
	redact string
}

// flags defines these flags.
func (v *valueFlags) flags(flags *flag.FlagSet) {
	flags.BoolVar(&v.values, "values", false, "show inputs and results; members with names such as password are redacted")
	flags.StringVar(&v.redact, "redact", "",
		"also redact members with these `names`, such as iban,customer.name")
}

// redaction returns the option of the client for -redact.
func (v *valueFlags) redaction() admin.Option {
	var names []string
	for name := range strings.SplitSeq(v.redact, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return admin.Redact(admin.Named(names...))
}

// valueJSON is an input or a result as JSON.
type valueJSON struct {
	Bytes int             `json:"bytes"`
	Value json.RawMessage `json:"value,omitempty"` // with -values, if it can be read
	Note  string          `json:"note,omitempty"`  // otherwise
}

// newValue returns a value, or nil if there is none.
func (s *session) newValue(v *admin.Value) *valueJSON {
	if v == nil {
		return nil
	}
	j := &valueJSON{Bytes: v.Size, Note: v.Note}
	if s.values {
		j.Value = v.JSON
	}
	return j
}

// addValues adds the input and the result of a run to its JSON.
func (s *session) addValues(ctx context.Context, r *runJSON) error {
	values, err := s.client.Values(ctx, r.Run, "")
	r.Input, r.Result = s.newValue(values.Input), s.newValue(values.Result)
	return err
}

// addResult adds the result of a step to its JSON.
func (s *session) addResult(ctx context.Context, i *stepJSON) error {
	if i.Status != storage.StatusSucceeded {
		return nil
	}
	values, err := s.client.Values(ctx, i.Run, i.Step)
	i.Result = s.newValue(values.Result)
	return err
}

// maxValue is how much of a value is printed as text, in bytes.
const maxValue = 2 << 10

// value describes a value as text: "" if there is none.
func (s *session) value(v *admin.Value) string {
	switch {
	case v == nil:
		return ""
	case v.Note != "":
		return count(v.Size, "byte") + ": " + v.Note
	case !s.values:
		return count(v.Size, "byte") + ": -values shows them"
	case len(v.JSON) > maxValue:
		start := strings.ToValidUTF8(string(v.JSON[:maxValue]), "")
		return fmt.Sprintf("%s… (%d bytes: -json prints all)", start, len(v.JSON))
	}
	return string(v.JSON)
}
