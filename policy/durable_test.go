package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// TestDurable: the settings of a durable policy are resolved with every default,
// and are replaced as a whole by a policy that extends it.
func TestDurable(t *testing.T) {
	file, problems := policy.Check("retry.yaml", []byte(`version: 1
defaults: {max_delay: 1h, durable: {park_after: 5m}, on_exhausted: pause, on_changed: report}
policies:
  inherits: {}
  simple: {durable: true, on_exhausted: dead_letter, on_changed: null}
  empty: {durable: {}, on_exhausted: escalate}
  full: {durable: {record: failures, on_lost: retry, lost_max: 7, result: json, park_after: 1m, resume_spread: 10s}}
  replaces: {extends: full, durable: {on_lost: fail, park_after: none, resume_spread: none}, on_exhausted: null}
  plain: {extends: full, durable: false, on_exhausted: fail, on_changed: fail}
  resets: {durable: null, on_exhausted: fail, on_changed: fail}
bind:
  Each:
    id: a
    idempotent: true
    methods: {A: inherits, B: simple, C: empty, D: full, E: replaces, F: plain, G: resets}
`))
	if file == nil {
		t.Fatal(problems)
	}
	type want struct {
		durable     *rules.Durable
		onExhausted genapi.OnExhausted
		onChanged   genapi.OnChanged
	}
	byDefault := rules.Durable{LostMax: 3, Result: "json"}
	parks := byDefault
	parks.ParkAfter = 5 * time.Minute
	full := rules.Durable{
		Record: genapi.RecordFailures, OnLost: genapi.OnLostRetry, LostMax: 7, Result: "json",
		ParkAfter: time.Minute, ResumeSpread: 10 * time.Second,
	}
	fails := byDefault
	fails.OnLost, fails.ResumeSpread = genapi.OnLostFail, retry.None
	wants := map[string]want{
		"inherits": {&parks, genapi.ExhaustedPause, genapi.ChangedReport},
		"simple":   {&byDefault, genapi.ExhaustedDeadLetter, genapi.ChangedFail},
		"empty":    {&byDefault, genapi.ExhaustedEscalate, genapi.ChangedReport},
		"full":     {&full, genapi.ExhaustedPause, genapi.ChangedReport},
		"replaces": {&fails, genapi.ExhaustedFail, genapi.ChangedReport},
		"plain":    {nil, genapi.ExhaustedFail, genapi.ChangedFail},
		"resets":   {nil, genapi.ExhaustedFail, genapi.ChangedFail},
	}
	for _, p := range file.Policies {
		got := want{p.Durable, p.OnExhausted, p.OnChanged}
		if diff := cmp.Diff(wants[p.Name], got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.Name, diff)
		}
		if escalate := p.Name == "empty"; p.Escalate != escalate {
			t.Errorf("%s: Escalate is %v, want %v", p.Name, p.Escalate, escalate)
		}
	}
}

// TestOnLost: without a word, what follows a lost attempt depends on the binding.
func TestOnLost(t *testing.T) {
	for _, tt := range []struct {
		written    genapi.OnLost
		idempotent rules.Idempotency
		want       genapi.OnLost
	}{
		{genapi.OnLostDefault, rules.Unknown, genapi.OnLostPause},
		{genapi.OnLostDefault, rules.NotIdempotent, genapi.OnLostPause},
		{genapi.OnLostDefault, rules.Idempotent, genapi.OnLostRetry},
		{genapi.OnLostDefault, rules.IdempotentByKey, genapi.OnLostRetry},
		{genapi.OnLostFail, rules.Idempotent, genapi.OnLostFail},
		{genapi.OnLostRetry, rules.Unknown, genapi.OnLostRetry},
	} {
		d := rules.Durable{OnLost: tt.written}
		if got := d.Lost(tt.idempotent); got != tt.want {
			t.Errorf("%v of %v: got %v, want %v", tt.written, tt.idempotent, got, tt.want)
		}
	}
}

// TestSteps: the name, the older names and the id of a step come from the
// method, or else from the binding of its type.
func TestSteps(t *testing.T) {
	file, problems := policy.Check("retry.yaml", []byte(`version: 1
policies:
  pay: {durable: true, jitter: full}
bind:
  Charge: {policy: pay, id: orderID}
  Client.Pay: {policy: pay, id: [tenant, orderID], step: pay, formerly: old}
  Store:
    policy: pay
    id: key
    formerly: [Shop, Shelf]
    methods:
      Put: {policy: pay, id: [], step: put, formerly: []}
      Get*: {policy: pay, id: name}
  example.com/api.Bank:
    policy: pay
    id: account
    step: bank
`))
	if file == nil {
		t.Fatal(problems)
	}
	bound := map[string]*policy.Binding{}
	for i := range file.Bindings {
		bound[file.Bindings[i].Symbol] = &file.Bindings[i]
	}
	names := func(list []policy.Symbol) string {
		var text []string
		for _, s := range list {
			text = append(text, fmt.Sprintf("%s@%d", s.Name, s.Pos.Line))
		}
		return strings.Join(text, " ")
	}
	for _, tt := range []struct{ symbol, method, name, formerly, id string }{
		{"Charge", "", "Charge@5", "", "orderID@5"},
		{"Client.Pay", "", "pay@6", "old@6", "tenant@6 orderID@6"},
		{"Store", "List", "Store.List@7", "Shop.List@10 Shelf.List@10", "key@9"},
		{"Store", "GetAll", "Store.GetAll@7", "Shop.GetAll@10 Shelf.GetAll@10", "name@13"},
		{"Store", "Put", "put@12", "", ""},
		{"example.com/api.Bank", "Send", "bank.Send@17", "", "account@16"},
	} {
		s := bound[tt.symbol].Step(tt.method)
		got := [...]string{names([]policy.Symbol{s.Name}), names(s.Formerly), names(s.ID)}
		if want := [...]string{tt.name, tt.formerly, tt.id}; got != want {
			t.Errorf("%s %s: got %q, want %q", tt.symbol, tt.method, got, want)
		}
	}
}
