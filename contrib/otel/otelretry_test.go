package otelretry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace/noop"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/job"
)

// An exported is a Telemetry whose spans and measurements are kept.
type exported struct {
	*Telemetry
	provider *sdktrace.TracerProvider
	spans    *tracetest.InMemoryExporter
	reader   *metric.ManualReader
}

func newExported(t *testing.T, o Options) *exported {
	t.Helper()
	x := &exported{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	x.provider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(x.spans))
	o.TracerProvider, o.MeterProvider = x.provider, metric.NewMeterProvider(metric.WithReader(x.reader))
	var err error
	if x.Telemetry, err = New(o); err != nil {
		t.Fatal(err)
	}
	return x
}

// text returns attributes, sorted by their keys.
func text(attributes []attribute.KeyValue) string {
	var parts []string
	for _, kv := range attributes {
		parts = append(parts, fmt.Sprintf("%s=%s", kv.Key, kv.Value.Emit()))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// describe returns the spans that have ended, with their events.
func (x *exported) describe() string {
	var b strings.Builder
	for _, s := range x.spans.GetSpans() {
		fmt.Fprintf(&b, "span %s [%s]", s.Name, text(s.Attributes))
		if s.Status.Code == codes.Error {
			fmt.Fprintf(&b, " error %q", s.Status.Description)
		}
		fmt.Fprintf(&b, " %v\n", s.EndTime.Sub(s.StartTime))
		for _, e := range s.Events {
			fmt.Fprintf(&b, "  %v %s [%s]\n", e.Time.Sub(s.StartTime), e.Name, text(e.Attributes))
		}
	}
	return b.String()
}

// measured returns the measurements, a line for each set of attributes.
func (x *exported) measured(t *testing.T) string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := x.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var lines []string
	line := func(m metricdata.Metrics, set attribute.Set, value any) {
		lines = append(lines, fmt.Sprintf("%s (%s) [%s] %v", m.Name, m.Unit, text(set.ToSlice()), value))
	}
	for _, sm := range all.ScopeMetrics {
		for _, m := range sm.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					line(m, p.Attributes, p.Value)
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					line(m, p.Attributes, p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					line(m, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					line(m, p.Attributes, fmt.Sprintf("%d times, sum %v", p.Count, p.Sum))
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

var fetch = retry.Policy{Name: "fetch", Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Second, Base: 2}}

// failing returns a function that fails n times.
func failing(n int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		if n--; n >= 0 {
			return 0, errors.New("dial tcp: connection refused")
		}
		return 1, nil
	}
}

// A call has a span, an event for each failed attempt, and a duration. Only a call
// that fails has an error.
func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExported(t, Options{})
		for _, failures := range []int{0, 1, 3} {
			ctx, end := x.Start(t.Context(), "RetryFetch")
			_, err := retry.Do(ctx, &fetch, failing(failures))
			end(err)
		}
		ctx, end := x.Start(t.Context(), "RetryFetch")
		_, err := retry.Do(ctx, &fetch, func(context.Context) (int, error) { return 0, retry.Permanent(context.Canceled) })
		end(err)
		want(t, x.describe(), `
span RetryFetch [] 0s
span RetryFetch [] 1s
  0s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=1 retry.policy=fetch retry.wait=1]
span RetryFetch [error.type=network retry.attempts=3 retry.reason=attempts exhausted] error "fetch: attempts exhausted after 3 attempts and 3s of waiting: dial tcp: connection refused" 3s
  0s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=1 retry.policy=fetch retry.wait=1]
  1s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=2 retry.policy=fetch retry.wait=2]
  3s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=3 retry.policy=fetch retry.reason=attempts exhausted]
span RetryFetch [error.type=canceled] error "context canceled" 0s
  0s retry.attempt_failed [error.type=canceled exception.message=context canceled retry.attempt=1 retry.policy=fetch retry.reason=permanent error]
`)
		want(t, x.measured(t), `
retry.call.duration (s) [error.type=canceled retry.call=RetryFetch] 1 times, sum 0
retry.call.duration (s) [error.type=network retry.call=RetryFetch] 1 times, sum 3
retry.call.duration (s) [retry.call=RetryFetch] 2 times, sum 1
retry.retries ({retry}) [error.type=network retry.policy=fetch] 3
retry.stops ({call}) [retry.policy=fetch retry.reason=attempts exhausted] 1
retry.stops ({call}) [retry.policy=fetch retry.reason=permanent error] 1
retry.wait (s) [retry.policy=fetch] 4
`)
	})
}

// A timeout whose state is captured, or not.
func TestCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExported(t, Options{})
		p := retry.Policy{
			Name: "build", Capture: true, AttemptTimeout: time.Second, Timeout: time.Minute,
			Schedule: retry.Schedule{MaxAttempts: 1},
		}
		for _, result := range []error{nil, errors.New("disk full")} {
			ctx, end := x.Start(t.Context(), "RetryBuild")
			ctx = retry.WithCapture(ctx, func(context.Context, retry.Timeout) error { return result })
			_, err := retry.Do(ctx, &p, func(ctx context.Context) (int, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			})
			end(err)
		}
		want(t, x.describe(), `
span RetryBuild [error.type=timeout] error "context deadline exceeded" 1s
  1s retry.timeout_captured [retry.attempt=1 retry.policy=build retry.timeout=1]
  1s retry.attempt_failed [error.type=timeout exception.message=context deadline exceeded retry.attempt=1 retry.policy=build retry.reason=attempts exhausted]
span RetryBuild [error.type=timeout] error "context deadline exceeded" 1s
  1s retry.timeout_not_captured [error.type=*errors.errorString exception.message=disk full retry.attempt=1 retry.policy=build retry.timeout=1]
  1s retry.attempt_failed [error.type=timeout exception.message=context deadline exceeded retry.attempt=1 retry.policy=build retry.reason=attempts exhausted]
`)
		want(t, x.measured(t), `
retry.call.duration (s) [error.type=timeout retry.call=RetryBuild] 2 times, sum 2
retry.stops ({call}) [retry.policy=build retry.reason=attempts exhausted] 2
retry.timeouts_captured ({timeout}) [retry.outcome=captured retry.policy=build] 1
retry.timeouts_captured ({timeout}) [retry.outcome=not captured retry.policy=build] 1
`)
	})
}

// Without a span of its own, a call adds events to that of its caller, whichever
// span that was when the context was observed.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExported(t, Options{})
		ctx := x.Observe(x.Observe(t.Context()))
		ctx, server := x.provider.Tracer("server").Start(ctx, "GET /quote")
		_, _ = retry.Do(ctx, &fetch, failing(1))
		inner, end := x.Start(ctx, "RetryFetch")
		_, err := retry.Do(inner, &fetch, failing(1))
		end(err)
		server.End()
		want(t, x.describe(), `
span RetryFetch [] 1s
  0s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=1 retry.policy=fetch retry.wait=1]
span GET /quote [] 2s
  0s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=1 retry.policy=fetch retry.wait=1]
`)
		want(t, x.measured(t), `
retry.call.duration (s) [retry.call=RetryFetch] 1 times, sum 1
retry.retries ({retry}) [error.type=network retry.policy=fetch] 2
retry.wait (s) [retry.policy=fetch] 2
`)
	})
}

// A call that a breaker refuses, and that takes its retry from a budget.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExported(t, Options{})
		ctx, end := x.Start(t.Context(), "RetryFetch")
		shared := retry.Shared{
			Breaker: breaker.New(breaker.Policy{Name: "upstream", Failures: 2}),
			Budget:  budget.New(budget.Policy{Burst: 10, MinPerSecond: budget.NoRefill}),
		}
		_, err := retry.DoWith(ctx, &fetch, shared, failing(3))
		end(err)
		want(t, x.describe(), `
span RetryFetch [error.type=network retry.attempts=2 retry.reason=breaker open] error "fetch: breaker upstream is open and admits calls again in 30s after 2 attempts and 1s of waiting: dial tcp: connection refused" 1s
  0s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=1 retry.breaker.state=closed retry.breaker=upstream retry.budget.left=9 retry.policy=fetch retry.wait=1]
  1s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=2 retry.breaker.admits_in=30 retry.breaker.state=open retry.breaker=upstream retry.budget.left=9 retry.policy=fetch retry.reason=breaker open]
`)
	})
}

// The metrics of a group have the names of AD-44.
func TestJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExported(t, Options{JobID: true})
		ctx, end := x.Start(t.Context(), "Import")
		g := job.NewGroup(job.GroupPolicy{
			Name: "import", Budget: &job.BudgetPolicy{Retries: 1},
			BestEffort: &job.BestEffort{Late: job.LateUpdate, Deadline: time.Minute},
		}, "job-1")
		g.Observe(x.ObserveJob)
		_, err := job.Run(ctx, g, []string{"a", "b"}, func(_ context.Context, unit string) (int, error) {
			_ = g.Unit(unit).Withdraw()
			if unit == "b" {
				time.Sleep(time.Second)
			}
			return 0, nil
		}, nil)
		end(err)
		want(t, x.describe(), `
span Import [] 1s
  0s BestEffortCompletion [retry.group=import retry.job.id=job-1 retry.ratio=0.5 retry.reason=min_dcs_reached (1/1)]
  1s LateDatacenterResult [retry.group=import retry.job.id=job-1 retry.reason=updated retry.unit=b]
  1s BestEffortRatio [retry.group=import retry.job.id=job-1 retry.ratio=1 retry.reason=all_dcs_reported]
`)
		want(t, x.measured(t), `
best_effort.completion.ratio (1) [group=import job_id=job-1] 1
best_effort.completions ({job}) [group=import reason=min_dcs_reached] 1
best_effort.late_results ({unit}) [group=import outcome=updated] 1
retry.budget.consumed ({retry}) [group=import job_id=job-1] 1
retry.budget.exhausted ({retry}) [group=import job_id=job-1] 1
retry.call.duration (s) [retry.call=Import] 1 times, sum 1
`)
	})
}

// steps is a run of a step that fails, and of one that succeeds within a wrapper.
func steps(failures int) func(context.Context) error {
	once := failing(failures)
	return func(ctx context.Context) error {
		_, err := durable.Step(ctx, "charge", &fetch, once)
		if err == nil {
			_, err = durable.Step(ctx, "mail", nil, func(ctx context.Context) (int, error) {
				return retry.Do(ctx, &fetch, failing(1)) // a plain wrapper within an attempt
			})
		}
		return err
	}
}

// A run has a span, each step that is executed has one, and each attempt events.
func TestDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExported(t, Options{})
		e, err := durable.New(memory.New(), x.Engine())
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(t.Context(), "one", steps(1), durable.Budget(job.BudgetPolicy{Name: "day"})); err != nil {
			t.Error(err)
		}
		if err := e.Run(t.Context(), "two", steps(3)); err == nil {
			t.Error("a run whose step is exhausted has succeeded")
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, x.describe(), `
span step charge [retry.attempts=2 retry.fence=1 retry.policy=fetch retry.run=one retry.step.name=charge retry.step=charge] 1s
  0s retry.attempt_started [retry.attempt=1]
  0s RetryBudgetConsumed [retry.group=day retry.job.id=one retry.reason=allowed retry.unit=charge]
  0s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=1 retry.wait=1]
  1s retry.attempt_started [retry.attempt=2]
  1s retry.step_succeeded [retry.attempt=2]
span step mail [retry.attempts=1 retry.fence=1 retry.run=one retry.step.name=mail retry.step=mail] 1s
  0s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=1 retry.policy=fetch retry.wait=1]
  1s retry.step_succeeded [retry.attempt=1]
span run [retry.fence=1 retry.run=one] 2s
  2s retry.run_completed [retry.run=one]
span step charge [error.type=network retry.attempts=3 retry.fence=1 retry.policy=fetch retry.reason=attempts exhausted retry.run=two retry.step.name=charge retry.step=charge] error "step \"charge\": attempts exhausted after 3 attempts: dial tcp: connection refused" 3s
  0s retry.attempt_started [retry.attempt=1]
  0s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=1 retry.wait=1]
  1s retry.attempt_started [retry.attempt=2]
  1s retry.attempt_failed [error.type=network exception.message=dial tcp: connection refused retry.attempt=2 retry.wait=2]
  3s retry.attempt_started [retry.attempt=3]
  3s retry.step_exhausted [error.type=network exception.message=dial tcp: connection refused retry.attempt=3 retry.reason=attempts exhausted]
span run [error.type=network retry.attempts=3 retry.fence=1 retry.reason=attempts exhausted retry.run=two] error "step \"charge\": attempts exhausted after 3 attempts: dial tcp: connection refused" 3s
  3s retry.run_failed [error.type=network exception.message=step "charge": attempts exhausted after 3 attempts: dial tcp: connection refused retry.run=two]
`)
		want(t, x.measured(t), `
retry.budget.consumed ({retry}) [group=day] 1
retry.durable.attempts ({attempt}) [retry.step.name=charge] 5
retry.durable.exhausted ({step}) [retry.reason=attempts exhausted retry.step.name=charge] 1
retry.durable.failures ({attempt}) [error.type=network retry.step.name=charge] 4
retry.durable.retries ({attempt}) [retry.step.name=charge] 3
retry.durable.run.events ({event}) [retry.event=completed] 1
retry.durable.run.events ({event}) [retry.event=created] 2
retry.durable.run.events ({event}) [retry.event=failed] 1
retry.durable.success (s) [retry.policy=] 1 times, sum 1
retry.durable.success (s) [retry.policy=fetch] 1 times, sum 1
retry.durable.wait (s) [retry.step.name=charge] 4
retry.retries ({retry}) [error.type=network retry.policy=fetch] 4
retry.stops ({call}) [retry.policy=fetch retry.reason=attempts exhausted] 1
retry.wait (s) [retry.policy=fetch] 5
`)
	})
}

// resumed executes a run until it is parked, then in another engine, and returns the
// spans of both. correlate is called with its steps after each of them.
func resumed(t *testing.T, x *exported, correlate func(admin.StepInfo)) []tracetest.SpanStub {
	t.Helper()
	store, run := memory.New(), steps(2)
	for _, limit := range []time.Duration{2 * time.Second, time.Minute} { // the first one ends in the second wait
		e, err := durable.New(store, x.Engine())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		caller, span := x.provider.Tracer("caller").Start(ctx, "POST /charge")
		_ = e.Run(caller, "one", run)
		span.End()
		cancel()
		for s, err := range e.Admin().Steps(t.Context(), admin.Filter{Run: "one"}) {
			if err != nil {
				t.Error(err)
			}
			correlate(s)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	return x.spans.GetSpans()
}

// A step that goes on in another execution has a link to the span in which it began,
// and its correlation id is that span. The run has one to that of its first caller.
// A run that waits has not failed.
func TestLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExported(t, Options{})
		correlation := ""
		spans := resumed(t, x, func(s admin.StepInfo) {
			if s.Name == "charge" {
				correlation = s.Correlation
			}
		})
		var names, linked []string
		id := map[string]string{} // names of spans by their ids
		for _, s := range spans {
			names = append(names, s.Name)
			id[s.SpanContext.SpanID().String()] = fmt.Sprint(s.Name, " ", len(names))
		}
		for i, s := range spans {
			for _, l := range s.Links {
				linked = append(linked, fmt.Sprint(s.Name, " ", i+1, " to ", id[l.SpanContext.SpanID().String()]))
			}
			if s.Status.Code == codes.Error {
				t.Errorf("span %s has status %v", s.Name, s.Status)
			}
		}
		want(t, strings.Join(names, ", "), "step charge, run, POST /charge, step charge, step mail, run, POST /charge")
		want(t, strings.Join(linked, ", "), "step charge 4 to step charge 1, run 6 to POST /charge 3")
		if first := spans[0].SpanContext; correlation != "00-"+first.TraceID().String()+"-"+first.SpanID().String()+"-01" {
			t.Errorf("correlation id %q, want the traceparent of span %v", correlation, first.SpanID())
		}
	})
}

// The id of a step that an engine without a tracer has recorded is not a span.
func TestNoLink(t *testing.T) {
	for _, correlation := range []string{
		"", "0011223344556677", "00-00000000000000000000000000000000-0000000000000000-01",
	} {
		if parse(correlation).IsValid() {
			t.Errorf("%q is the id of a span", correlation)
		}
	}
}

// A worker executes a run in a trace of its own, with a link to that which started it.
func TestWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExported(t, Options{})
		e, err := durable.New(memory.New(), x.Engine())
		if err != nil {
			t.Fatal(err)
		}
		durable.Handle(e, "charge", func(ctx context.Context, _ int) (int, error) { return 0, steps(0)(ctx) })
		caller, span := x.provider.Tracer("caller").Start(t.Context(), "POST /charge")
		if err := durable.Start(caller, e, "charge", "one", 7); err != nil {
			t.Fatal(err)
		}
		span.End()
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, stop)
		if err := e.Work(ctx); err != nil {
			t.Error(err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		spans := x.spans.GetSpans()
		last := spans[len(spans)-1]
		if last.Name != "run charge" || len(last.Links) != 1 || last.Parent.IsValid() ||
			last.Links[0].SpanContext.SpanID() != span.SpanContext().SpanID() {
			t.Errorf("got span %s with links %v, want run charge with a link to its caller", last.Name, last.Links)
		}
	})
}

// A success that is observed costs what one that is not observed costs.
func TestSuccessAllocatesNothing(t *testing.T) {
	x := newExported(t, Options{})
	ctx, succeed := x.Observe(t.Context()), failing(0)
	if n := testing.AllocsPerRun(100, func() { _, _ = retry.Do(ctx, &fetch, succeed) }); n != 0 {
		t.Errorf("a success allocates %v times, want 0", n)
	}
}

// Spans that are not recorded cost no events, and may not be comparable.
func TestNoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		telemetry, err := New(Options{
			TracerProvider: noop.NewTracerProvider(), MeterProvider: metric.NewMeterProvider(metric.WithReader(reader)),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := telemetry.Start(t.Context(), "RetryFetch")
		_, err = retry.Do(ctx, &fetch, failing(3))
		end(err)
		x := &exported{Telemetry: telemetry, reader: reader}
		want(t, x.measured(t), `
retry.call.duration (s) [error.type=network retry.call=RetryFetch] 1 times, sum 3
retry.retries ({retry}) [error.type=network retry.policy=fetch] 2
retry.stops ({call}) [retry.policy=fetch retry.reason=attempts exhausted] 1
retry.wait (s) [retry.policy=fetch] 3
`)
	})
}

// A nastyError panics when its text is asked for.
type nastyError struct{ text string }

func (e *nastyError) Error() string { return e.text }

// An error whose methods panic does not take the process down.
func TestErrorPanics(t *testing.T) {
	x := newExported(t, Options{})
	ctx, end := x.Start(t.Context(), "RetryFetch")
	p := retry.Policy{Name: "fetch", RetryOn: []retry.Class{retry.ClassTransient}}
	_, err := retry.Do(ctx, &p, func(context.Context) (int, error) { return 0, (*nastyError)(nil) })
	end(err)
	if s := x.spans.GetSpans()[0]; s.Status.Code != codes.Error || s.Status.Description != "<nil>" {
		t.Errorf("got status %v", s.Status)
	}
}

// Each Telemetry observes a call once.
func TestObserveTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newExported(t, Options{}), newExported(t, Options{})
		_, _ = retry.Do(a.Observe(b.Observe(a.Observe(t.Context()))), &fetch, failing(1))
		for _, x := range []*exported{a, b} {
			want(t, x.measured(t), `
retry.retries ({retry}) [error.type=network retry.policy=fetch] 1
retry.wait (s) [retry.policy=fetch] 1
`)
		}
	})
}
