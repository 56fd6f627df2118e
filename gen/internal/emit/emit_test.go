package emit_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/gen/internal/emit"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/hedge"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Functions of which wrappers are emitted.
var (
	written = bind.TypeText

	get = bind.Func{
		Name: "Get", Doc: "Get returns a user.", Ctx: 0, Request: -1, HasError: true,
		Params:  []bind.Param{{Name: "ctx", Type: bind.ContextType}, {Name: "id", Type: written("ID")}},
		Results: []bind.Param{{Type: written("*User")}, {Type: written("error")}},
	}
	named = bind.Func{
		Name: "Count", Ctx: -1, Request: -1, HasError: true,
		Results: []bind.Param{{Name: "n", Type: written("int")}, {Name: "err", Type: written("error")}},
	}
	find = bind.Func{
		Name: "Find", Ctx: 0, Request: -1, HasError: true,
		Params: []bind.Param{{Name: "ctx", Type: bind.ContextType}, {Name: "race", Type: written("string")}},
		Results: []bind.Param{{Name: "all", Type: written("[]User")}, {Name: "Race", Type: written("bool")},
			{Name: "err", Type: written("error")}},
	}
	several = bind.Func{
		Name: "All", Ctx: -1, Request: 0, HasError: true,
		Params: []bind.Param{{Name: "req", Type: written("*Request")}, {Name: "results", Type: written("int")}},
		Results: []bind.Param{{Name: "all", Type: written("[]User")}, {Name: "more", Type: written("bool")},
			{Name: "err", Type: written("error")}},
	}
	command = bind.Func{
		Name: "Do", Ctx: 0, Request: -1, Command: true, Nilable: true, TakesError: true,
		Params: []bind.Param{{Name: "ctx", Type: bind.ContextType}, {Name: "args", Type: written("any")}}, Variadic: true,
		Results: []bind.Param{{Type: written("*Cmd")}},
	}
	lookup = bind.Func{
		Name: "Lookup", Ctx: -1, Request: -1, NoFailure: "Lookup returns no error",
		Params:  []bind.Param{{Name: "err", Type: written("string")}},
		Results: []bind.Param{{Name: "value", Type: written("string")}, {Name: "ok", Type: written("bool")}},
	}
	builder = bind.Func{
		Name: "Send", Ctx: -1, Request: -1, HasError: true, Held: &bind.Held{Param: 0, Member: ".Context()"},
		Params:  []bind.Param{{Name: "req", Type: written("*Request")}},
		Results: []bind.Param{{Type: written("error")}},
	}
	sends = bind.Func{
		Name: "Send", Ctx: 0, Request: -1, HasError: true,
		Params:  []bind.Param{{Name: "_", Type: bind.ContextType}, {Name: "options", Type: written("Options")}},
		Results: []bind.Param{{Type: written("error")}},
	}
	closes = bind.Func{Name: "Close", Ctx: -1, Request: -1}
)

// TestRender compares what is emitted for one policy and one function with
// testdata/NAME.golden.
func TestRender(t *testing.T) {
	b := []emit.Breaker{{Breaker: policy.Breaker{Policy: breaker.Policy{Name: "api"}.Effective()}}}
	ratio := budget.Policy{Name: "client"}.Effective()
	limit := []emit.Budget{{Budget: policy.Budget{Name: "client", Ratio: &ratio}}}
	checked := bind.Check{Name: "check"}
	for _, test := range []struct {
		name   string
		fn     bind.Func
		policy policy.Policy
		use    emit.Use
		job    string
	}{
		{name: "plain", fn: get},
		{name: "named_results", fn: named},
		{name: "fallback", fn: get, use: emit.Use{Fallback: "cached"}},
		{name: "key", fn: get, use: emit.Use{Key: true}},
		{name: "budget", fn: get, policy: policy.Policy{Budget: "client"}},
		{name: "breaker", fn: get, policy: policy.Policy{Breaker: "api"}},
		{name: "limit", fn: get, policy: policy.Policy{Policy: retry.Policy{Timeout: time.Second}}},
		{name: "limit_breaker", fn: get, policy: policy.Policy{Breaker: "api", Policy: retry.Policy{Timeout: time.Second}}},
		{name: "builder", fn: builder},
		{name: "command", fn: command},
		{name: "command_budget", fn: command, policy: policy.Policy{Budget: "client"}},
		{name: "command_breaker", fn: command, policy: policy.Policy{Breaker: "api"}},
		{name: "command_breaker_fallback", fn: command, policy: policy.Policy{Breaker: "api"},
			use: emit.Use{Fallback: "refused"}},
		{name: "command_limit", fn: command, policy: policy.Policy{Policy: retry.Policy{AttemptTimeout: time.Second}}},
		{name: "command_limit_breaker", fn: command,
			policy: policy.Policy{Breaker: "api", Policy: retry.Policy{Timeout: time.Second}}},
		{name: "command_check", fn: command, use: emit.Use{Check: checked}},
		{name: "check", fn: get, use: emit.Use{Check: checked}},
		{name: "check_error", fn: get, use: emit.Use{Check: bind.Check{Name: "check", Error: true}}},
		{name: "check_breaker", fn: get, policy: policy.Policy{Breaker: "api", Budget: "client"},
			use: emit.Use{Check: checked}},
		{name: "check_limit", fn: named, use: emit.Use{Check: checked}},
		{name: "durable", fn: get, use: emit.Use{Step: &emit.Step{ID: []string{"id"}}}},
		{name: "durable_several", fn: several,
			use: emit.Use{Step: &emit.Step{Formerly: []string{"Find"}, Idempotent: rules.Idempotent}}},
		{name: "durable_shared", fn: get,
			policy: policy.Policy{Breaker: "api", Budget: "client", OnExhausted: genapi.ExhaustedPause},
			use:    emit.Use{Step: &emit.Step{}, Fallback: "cached", Check: checked}},
		{name: "job", fn: get, use: emit.Use{Step: &emit.Step{ID: []string{"id"}}}, job: "HandleGet"},
		{name: "job_shared", fn: sends, policy: policy.Policy{Breaker: "api"},
			use: emit.Use{Step: &emit.Step{}, Check: checked}, job: "HandleSend"},
		{name: "concurrency", fn: get, policy: policy.Policy{Concurrency: "db", Budget: "client"}},
		{name: "command_concurrency", fn: command, policy: policy.Policy{Concurrency: "db"}},
		{name: "gate", fn: get, policy: policy.Policy{Concurrency: "db", Rate: "partner", Throttle: "api", Breaker: "api"}},
		{name: "hedge", fn: get, policy: policy.Policy{Concurrency: "db"}, use: emit.Use{HedgeField: "GetHedge"}},
		{name: "hedge_release", fn: get, use: emit.Use{HedgeField: "GetHedge", Release: bind.Check{Name: "closeUser"}}},
		{name: "hedge_check", fn: find, policy: policy.Policy{Policy: retry.Policy{AttemptTimeout: time.Second}},
			use: emit.Use{HedgeField: "FindHedge", Check: checked, Fallback: "cached"}},
		{name: "durable_gate", fn: get, policy: policy.Policy{Concurrency: "db"}, use: emit.Use{Step: &emit.Step{}}},
		{name: "reload", fn: get, policy: policy.Policy{Reload: true}},
		{name: "reload_shared", fn: find,
			policy: policy.Policy{Reload: true, Breaker: "api", Budget: "client", Concurrency: "db", Rate: "partner"}},
		{name: "reload_durable", fn: get, policy: policy.Policy{Reload: true}, use: emit.Use{Step: &emit.Step{}}},
		{name: "check_no_error", fn: lookup, use: emit.Use{Check: checked}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.policy.Name, test.policy.Policy.Name = "read", "read"
			test.policy.Schedule = test.policy.Effective()
			if step := test.use.Step; step != nil {
				test.policy.Durable = &rules.Durable{LostMax: 3}
				step.Name, step.Var = test.fn.Name, emit.StepVar(test.fn.Name)
			}
			limited := test.policy.Concurrency != "" && test.policy.Rate == ""
			one := emit.Policy{Policy: test.policy, Var: "policyRead", OnlyLimited: limited}
			test.use.Policy, test.use.Unit = &one, -1
			file := emit.File{
				Package: "shop", Path: "example.com/shop", Source: "retry.yaml",
				Text:     "version: 1\n# with `quotes`\n",
				Taken:    func(string) bool { return false },
				Policies: []emit.Policy{one},
				Wrappers: []emit.Wrapper{{
					Target: &bind.Target{Kind: bind.Function, Name: test.fn.Name, Func: test.fn}, Name: "Retry" + test.fn.Name,
					Use: &test.use, Job: test.job,
				}},
			}
			if test.policy.Breaker != "" {
				file.Breakers = b
			}
			if test.policy.Budget != "" {
				file.Budgets = limit
			}
			file.Parts = partsOf(&test.policy, test.use.HedgeField)
			golden(t, file)
		})
	}
}

// partsOf returns what calls share under a policy besides a breaker and a budget.
func partsOf(p *policy.Policy, hedged string) (parts []emit.Part) {
	add := func(field, typ string, settings any) {
		parts = append(parts, emit.Part{Field: field, Pkg: emit.CapacityPath, Type: typ, Settings: settings})
	}
	if p.Concurrency != "" {
		add("DbLimiter", "Limiter", capacity.LimiterPolicy{Name: "db", Limit: 20, MaxWait: capacity.NoWait})
	}
	if p.Rate != "" {
		add("PartnerRate", "Rate", capacity.RatePolicy{Name: "partner", Events: 100, Per: time.Second})
	}
	if p.Throttle != "" {
		add("ApiThrottle", "Throttle", capacity.ThrottlePolicy{Name: "api", K: 2})
	}
	if hedged != "" {
		parts = append(parts, emit.Part{
			Field: hedged, Pkg: emit.HedgePath, Type: "Hedge", Settings: hedge.Policy{Name: "Get", Quantile: 0.95},
		})
	}
	return parts
}

// golden compares what is rendered with the golden file of the test.
func golden(t *testing.T, file emit.File) {
	t.Helper()
	got, err := emit.Render(file)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", filepath.Base(t.Name())+".golden")
	if *update {
		if err := os.WriteFile(name, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
