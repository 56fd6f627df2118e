package admin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Values contains the values that a run or a step has recorded, for people to read.
type Values struct {
	Input  *Value // input of a run, or nil; only runs of durable.Start have one
	Result *Value // result of a run or a step that has succeeded, or nil
}

// A Value is a recorded value in a form that people may see.
type Value struct {
	Size int             // size of the encoded value in bytes
	JSON json.RawMessage // the redacted value, or nil if it cannot be shown
	Note string          // why the value cannot be shown, otherwise ""
}

// Values returns the values of a step, or of the run if step is "", without the parts
// that [Redact] hides. If the client's codec cannot decode a value to JSON, as with an
// encrypted value, only its size and a note are returned. The error matches [ErrNotFound]
// if the run or the step does not exist.
func (c *Client) Values(ctx context.Context, run, step string) (Values, error) {
	key := c.ns.Key(storage.KindRun, run, "")
	if step != "" {
		key = c.ns.Key(storage.KindStep, run, step)
	}
	records, err := c.view.Store.Get(ctx, []storage.Key{key})
	switch {
	case err != nil:
		return Values{}, err
	case records[0].Version == 0 && step == "":
		return Values{}, fmt.Errorf("run %q: %w", run, fault.ErrNotFound)
	case records[0].Version == 0:
		return Values{}, fmt.Errorf("step %q of run %q: %w", step, run, fault.ErrNotFound)
	case step == "":
		b, err := record.Decode[record.Run](records[0])
		return Values{Input: c.shown(b.Input), Result: c.shown(b.Result)}, err
	}
	b, err := record.Decode[record.Step](records[0])
	if err == nil && b.Result != nil && b.Result.Entry > 0 {
		b.Result, err = c.view.Large(ctx, key, b.Result.Entry)
	}
	return Values{Result: c.shown(b.Result)}, err
}

// shown returns a recorded value as people may see it, or nil.
func (c *Client) shown(p *record.Payload) *Value {
	if p == nil || p.Refuse == "" && len(p.Data()) == 0 { // the functions of Run return no value
		return nil
	}
	v := &Value{Size: len(p.Data())}
	if p.Refuse != "" {
		v.Note = fmt.Sprintf("it has the type %s, and could not be recorded: %s", p.Type, p.Refuse)
		return v
	}
	var err error
	if decoded := json.RawMessage(nil); c.ns.Codec.Decode(p.Data(), &decoded) == nil && json.Valid(decoded) {
		v.JSON, err = c.redact(decoded)
	}
	if v.JSON == nil || err != nil {
		v.JSON, v.Note = nil, "it is encoded: only a program with its codec can read it"
	}
	return v
}
