package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// A reversed is a codec whose bytes only it can read.
type reversed struct{}

func reverse(data []byte) []byte {
	out := make([]byte, len(data))
	for i, b := range data {
		out[len(data)-1-i] = b
	}
	return out
}

func (reversed) Encode(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	return reverse(data), err
}

func (reversed) Decode(data []byte, into any) error { return json.Unmarshal(reverse(data), into) }

// People see the inputs and results of runs and steps, but no secrets in them.
func TestValues(t *testing.T) {
	type order struct {
		ID     string            `json:"id"`
		Amount json.Number       `json:"amount"`
		Header map[string]string `json:"header"`
		Cards  []map[string]any  `json:"cards"`
	}
	in := order{
		ID: "o-1 <&>", Amount: "12345678901234567890.10", Header: map[string]string{"X-Api-Key": "k", "Host": "bank"},
		Cards: []map[string]any{{"name": "Ada", "number": 7}, {"iban": []string{"DE1"}, "passwordHash": nil}},
	}
	const (
		plain = `{"id":"o-1 <&>","amount":12345678901234567890.10,"header":{"Host":"bank","X-Api-Key":"[redacted]"},` +
			`"cards":[{"name":"Ada","number":7},{"iban":["DE1"],"passwordHash":"[redacted]"}]}`
		hidden = `{"id":"o-1 <&>","amount":12345678901234567890.10,"header":{"Host":"bank","X-Api-Key":"[redacted]"},` +
			`"cards":[{"name":"[redacted]","number":7},{"iban":"[redacted]","passwordHash":"[redacted]"}]}`
	)
	redact := durable.Redact(admin.Named("IBAN", "cards.name", "order.id"))
	encoded := durable.WithCodec(reversed{})
	for name, test := range map[string]struct {
		writer, reader []durable.Option
		want           string // "" if it cannot be read
	}{
		"secrets are hidden":         {nil, nil, plain},
		"and what an option selects": {nil, []durable.Option{redact}, hidden},
		"another codec":              {[]durable.Option{encoded}, nil, ""},
		"with the codec":             {[]durable.Option{encoded}, []durable.Option{encoded}, plain},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				p := startProcess(t, m, test.writer...)
				s := idempotent("load", 1, 0)
				durable.Handle(p.Engine, "orders", func(ctx context.Context, in order) (order, error) {
					_, err := call(ctx, s, func(context.Context) (order, error) { return in, nil })
					large := in
					large.ID = strings.Repeat("x", 8<<10)
					_, also := callID(ctx, s, 1, func(context.Context) (int, error) { return 1, nil })
					_, last := durable.Step(ctx, "large", nil, func(context.Context) (order, error) { return large, nil })
					return in, errors.Join(err, also, last)
				})
				if err := durable.Start(t.Context(), p.Engine, "orders", "one", in); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				go p.Work(ctx)
				if _, err := durable.Await[order](t.Context(), p.Engine, "one"); err != nil {
					t.Fatal(err)
				}
				cancel()
				synctest.Wait()
				reader := newEngine(t, m, test.reader...)
				run, err := reader.Admin().Values(t.Context(), "one", "")
				if err != nil {
					t.Fatal(err)
				}
				step, err := reader.Admin().Values(t.Context(), "one", "load")
				if err != nil || step.Input != nil {
					t.Fatal(step, err)
				}
				large, err := reader.Admin().Values(t.Context(), "one", "large")
				if err != nil || large.Result.Size < 8<<10 || (large.Result.JSON == nil) != (test.want == "") {
					t.Errorf("the large result: %+v, %v", large.Result, err)
				}
				for _, v := range []*admin.Value{run.Input, run.Result, step.Result} {
					if v == nil || string(v.JSON) != test.want || (v.Note == "") != (test.want != "") || v.Size < 100 {
						t.Errorf("got %+v, want %s", v, test.want)
					}
				}
			})
		})
	}
}

// A value that was not recorded has a note, and what does not exist an error.
func TestNoValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		err := p.run("one", func(ctx context.Context) error {
			_, err := durable.Step(ctx, "s", nil, func(context.Context) (func(), error) { return func() {}, nil })
			return err
		})
		if err == nil {
			t.Error("a function was recorded")
		}
		got, err := p.Admin().Values(t.Context(), "one", "s")
		if err != nil || got.Result == nil || !strings.Contains(got.Result.Note, "could not be recorded") {
			t.Errorf("got %+v, %v", got.Result, err)
		}
		if got, err := p.Admin().Values(t.Context(), "one", ""); err != nil || got != (admin.Values{}) {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := p.run("empty", func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Admin().Values(t.Context(), "empty", ""); err != nil || got != (admin.Values{}) {
			t.Errorf("a run without a value: got %+v, %v", got, err)
		}
		_, err = p.Admin().Values(t.Context(), "two", "")
		wantError(t, err, durable.ErrNotFound)
		_, err = p.Admin().Values(t.Context(), "one", "none")
		wantError(t, err, durable.ErrNotFound)
	})
}

// TestUnreadableValues: an error names the input or the result of a run as such, the
// run, and the type that this program has.
func TestUnreadableValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, ctx := newEngine(t, memory.New()), t.Context()
		durable.Handle(e, "double", double)
		durable.Job(e, "job", idempotent("charge", 3, time.Second), nil, double)
		const text = "cannot be recorded or read: json: cannot unmarshal string into Go value of type int"
		for _, name := range []string{"double", "job"} {
			if err := durable.Start(ctx, e, name, name+"-1", "two"); err != nil {
				t.Fatal(err)
			}
		}
		stop := work(t, e)
		defer stop()
		for _, name := range []string{"double", "job"} {
			_, err := durable.Await[int](ctx, e, name+"-1")
			want := fmt.Sprintf("run \"%s-1\" failed: the input of run \"%s-1\": the value (int) %s", name, name, text)
			if err == nil || err.Error() != want {
				t.Errorf("input of %s:\n%v, want\n%s", name, err, want)
			}
		}
		err := durable.Start(ctx, e, "double", "refused", make(chan int))
		want := `the input of run "refused": the value (chan int) cannot be recorded or read: ` +
			"json: unsupported type: chan int"
		if wantError(t, err, durable.ErrResult); err.Error() != want {
			t.Errorf("refused input:\n%v, want\n%s", err, want)
		}
		if err := durable.Start(ctx, e, "double", "good", 1); err != nil {
			t.Fatal(err)
		}
		_, err = durable.Await[bool](ctx, e, "good")
		want = "run \"good\" succeeded, but its result (bool) cannot be recorded or read: " +
			"json: cannot unmarshal number into Go value of type bool"
		if wantError(t, err, durable.ErrResult); err.Error() != want {
			t.Errorf("result:\n%v, want\n%s", err, want)
		}
	})
}
