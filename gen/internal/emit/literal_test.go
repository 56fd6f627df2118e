package emit

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dave/jennifer/jen"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/job"
)

// code returns the Go code of a literal without its file.
func code(literal jen.Code) string {
	f := jen.NewFile("p")
	f.ImportName(RuntimePath, "retry")
	f.ImportName(JobPath, "job")
	f.ImportName(StepAPIPath, "genapi")
	f.Var().Id("v").Op("=").Add(literal)
	_, text, _ := strings.Cut(f.GoString(), "var v = ")
	return strings.TrimSpace(text)
}

func TestLiteral(t *testing.T) {
	tests := []struct {
		value any
		want  string
	}{
		{retry.RetryAfter{Max: 90 * time.Second, FailOver: true}, `retry.RetryAfter{Max: 90 * time.Second, FailOver: true}`},
		{[]string{"a", "b"}, `[]string{"a", "b"}`},
		{genapi.RecordFailures, `genapi.RecordFailures`},
		{genapi.OnLostFail, `genapi.OnLostFail`},
		{genapi.ExhaustedEscalate, `genapi.ExhaustedEscalate`},
		{genapi.ChangedReport, `genapi.ChangedReport`},
		{retry.RetryAfter{Max: retry.None}, `retry.RetryAfter{Max: retry.None}`},
		{budget.Policy{Name: "b", Ratio: 0.5, MinPerSecond: budget.NoRefill},
			`budget.Policy{Name: "b", Ratio: 0.5, MinPerSecond: budget.NoRefill}`},
		{[]retry.Class{retry.ClassNetwork, "busy"}, `[]retry.Class{retry.ClassNetwork, "busy"}`},
		{[]time.Duration{time.Hour, 1500 * time.Microsecond, 7}, `[]time.Duration{time.Hour, 1500 * time.Microsecond, 7}`},
		{
			job.GroupPolicy{Name: "g", Budget: &job.BudgetPolicy{Retries: job.NoRetries},
				BestEffort: &job.BestEffort{MinSuccess: 2, Late: job.LateUpdate}},
			`job.GroupPolicy{Name: "g", Budget: &job.BudgetPolicy{Retries: job.NoRetries}, BestEffort: &job.BestEffort{MinSuccess: 2, Late: job.LateUpdate}}`,
		},
		{
			job.GroupPolicy{Name: "g", Workers: 8, OnUnitFailure: job.FailureDeadLetter, MaxFailures: 5, FailureRate: 0.2,
				MinUnits: 10, Breaker: &breaker.Policy{Failures: 5, OpenFor: time.Minute}, Collect: 10},
			`job.GroupPolicy{Name: "g", Workers: 8, OnUnitFailure: job.FailureDeadLetter, MaxFailures: 5, ` +
				`FailureRate: 0.2, MinUnits: 10, Breaker: &breaker.Policy{Failures: 5, OpenFor: time.Minute}, Collect: 10}`,
		},
		{
			job.GroupPolicy{OnUnitFailure: job.FailureStop, Collect: job.CollectFirst},
			`job.GroupPolicy{OnUnitFailure: job.FailureStop, Collect: job.CollectFirst}`,
		},
		{
			retry.Schedule{MaxAttempts: retry.Unlimited, Jitter: retry.JitterFull},
			`retry.Schedule{MaxAttempts: retry.Unlimited, Backoff: retry.BackoffExponential, Jitter: retry.JitterFull}`,
		},
		{
			[]retry.Override{{Class: retry.ClassAny, Schedule: retry.Schedule{Backoff: retry.BackoffFixed, Escalate: true}}},
			`[]retry.Override{{Class: retry.ClassAny, Schedule: retry.Schedule{Backoff: retry.BackoffFixed, Escalate: true}}}`,
		},
	}
	spaces := regexp.MustCompile(`\s+`)
	flat := func(code string) string { return strings.ReplaceAll(spaces.ReplaceAllString(code, ""), ",}", "}") }
	for _, tt := range tests {
		got := code(valueOf(reflect.ValueOf(tt.value)))
		if flat(got) != flat(tt.want) {
			t.Errorf("%+v:\n got %s\nwant %s", tt.value, got, tt.want)
		}
	}
}

// TestLiteralOfEveryField: every field of a policy is emitted, so that none that
// a policy file sets is lost.
func TestLiteralOfEveryField(t *testing.T) {
	for _, policy := range []any{new(retry.Policy), new(breaker.Policy), new(budget.Policy),
		new(job.GroupPolicy), new(genapi.StepPolicy)} {
		v := reflect.ValueOf(policy).Elem()
		fill(t, v)
		in := given{
			"Classes": jen.Id("classes"), "Facts": jen.Id("facts"),
			"Policy": jen.Id("policy"), "Shared": jen.Id("shared"), "Breaker": jen.Id("breaker"), "Errors": jen.Id("list"),
			"Live": jen.Id("live"),
		}
		if _, ok := policy.(*genapi.StepPolicy); ok {
			in["Budget"] = jen.Id("budget")
		}
		text := code(jen.Id("T").Values(fieldsOf(v, in)...))
		for _, f := range reflect.VisibleFields(v.Type()) {
			if !strings.Contains(text, f.Name+":") {
				t.Errorf("%s: %s is not in the literal:\n%s", v.Type(), f.Name, text)
			}
		}
	}
}

// fill sets a value and all that it contains to something that is not zero.
func fill(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		if v.Type().Elem().PkgPath() == JobPath {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Func, reflect.Interface: // given
	default:
		t.Fatalf("a field of kind %s: can it be emitted?", v.Kind())
	}
}
