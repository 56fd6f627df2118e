package retrytest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/retrytest"
)

var read = retry.Policy{Name: "read", Schedule: retry.Schedule{MaxAttempts: 4}, AttemptTimeout: 5 * time.Second}

// get calls a function under policy read.
func get(ctx context.Context, f *retrytest.Faults, callee func() (int, error)) (int, error) {
	return retry.Do(ctx, &read, func(ctx context.Context) (int, error) {
		before, after := f.Begin(ctx, "Store.Get", "id")
		if before != nil {
			return 0, before
		}
		v, err := callee()
		if err == nil && after != nil {
			err = after
		}
		return v, err
	})
}

// TestScripts plays scripts, and compares the sequences of steps.
func TestScripts(t *testing.T) {
	errs := map[string]error{"conflict": errors.New("conflict")}
	for _, test := range []struct {
		script string
		want   string // steps, separated by commas
		callee int    // number of its calls
		took   time.Duration
	}{
		{"ok", "attempt ok", 1, 0},
		{"503 503 300ms ok", "attempt 503, wait 1s, attempt 503, wait 2s, attempt 300ms ok", 1, 3300 * time.Millisecond},
		{"503 300ms", "attempt 503, wait 1s, attempt 300ms ok", 1, 1300 * time.Millisecond},
		{"network timeout rate_limit",
			"attempt network, wait 1s, attempt timeout, wait 2s, attempt rate_limit, wait 4s, attempt ok", 1, 7 * time.Second},
		{"503...", "attempt 503, wait 1s, attempt 503, wait 2s, attempt 503, wait 4s, attempt 503, stop attempts exhausted",
			0, 7 * time.Second},
		{"server_error*2", "attempt server_error, wait 1s, attempt server_error, wait 2s, attempt ok", 1, 3 * time.Second},
		{"429@9s", "attempt 429@9s, wait 9s, attempt ok", 1, 9 * time.Second},
		{"404", "attempt 404, stop permanent error", 0, 0},
		{"permanent", "attempt permanent, stop permanent error", 0, 0},
		{"unknown", "attempt unknown, stop not in retry_on: unclassified error", 0, 0},
		{"canceled", "attempt canceled, wait 1s, attempt ok", 1, time.Second},
		{"conflict", "attempt conflict, stop not in retry_on: unclassified error", 0, 0},
		{"partial", "attempt partial, wait 1s, attempt ok", 2, time.Second},
		{"partial=503 ok", "attempt partial=503, wait 1s, attempt ok", 2, time.Second},
		{"hang", "attempt hang, wait 1s, attempt ok", 1, 6 * time.Second},
		{"1h ok", "attempt 1h0m0s ok, wait 1s, attempt ok", 1, 6 * time.Second},
		{"Store.Put: 503; Store.*: hang; *: 404", "attempt hang, wait 1s-2s, attempt ok", 1, 6 * time.Second},
		{"Mailer.*: 503...", "attempt ok", 1, 0},
		{"Store.Get: 100% 503", "attempt 503, wait, attempt 503, wait, attempt 503, wait, attempt 503, stop",
			0, 7 * time.Second},
	} {
		t.Run(test.script, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := retrytest.Parse(test.script, errs)
				if err != nil {
					t.Fatal(err)
				}
				var rec retrytest.Recorder
				calls, start := 0, time.Now()
				get(rec.Context(t.Context()), f, func() (int, error) { calls++; return 7, nil })
				retrytest.Expect(t, &rec, strings.Split(test.want, ",")...)
				if took := time.Since(start); calls != test.callee || took != test.took {
					t.Errorf("got %d calls of the callee in %v, want %d in %v", calls, took, test.callee, test.took)
				}
			})
		})
	}
}

// TestParseErrors compares what is wrong with texts.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                `faults: there is no script`,
		"Get:":            `faults "Get:": there is no outcome: write 503 ok, for example`,
		"broken":          `"broken" is no outcome`,
		"99":              `"99" is no outcome`,
		"503... ok":       `"ok" follows an outcome that repeats forever`,
		"503*0":           `"503*0" has no number of calls`,
		"partial=hang":    `"partial=hang" returns no error`,
		"ok@2s":           `"ok@2s" asks for no wait`,
		"429@soon":        `"429@soon" asks for no wait`,
		"0% 503":          `"0% 503" has no chance`,
		"60% 503, 60% ok": `add up to more than 100%`,
		"5% 503 ok":       `"503 ok" is more than one outcome`,
		"seed x; 503":     `the seed is no whole number`,
	} {
		if _, err := retrytest.Parse(text, nil); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestSeed draws the same outcomes from the same seed, about as often as the chances say.
func TestSeed(t *testing.T) {
	draws := func() (list []string) {
		f := retrytest.Script("seed 7; *: 10% 503, 20% 404")
		for range 1000 {
			before, _ := f.Begin(t.Context(), "Get")
			list = append(list, fmt.Sprint(before))
		}
		return list
	}
	first := strings.Join(draws(), "\n")
	if first != strings.Join(draws(), "\n") {
		t.Error("the same seed has drawn other outcomes")
	}
	if n := strings.Count(first, "fault 503"); n < 70 || n > 130 {
		t.Errorf("drew 503 %d times in 1000, want about 100", n)
	}
	if n := strings.Count(first, "fault 404"); n < 160 || n > 240 {
		t.Errorf("drew 404 %d times in 1000, want about 200", n)
	}
}

// TestGoValues decides by Go values.
func TestGoValues(t *testing.T) {
	conflict := errors.New("conflict")
	f := retrytest.Outcomes(retrytest.Outcome{Err: conflict}, retrytest.Outcome{Err: conflict, Partial: true})
	for i, want := range []struct{ before, after error }{{conflict, nil}, {nil, conflict}, {nil, nil}} {
		if before, after := f.Begin(t.Context(), "Get"); before != want.before || after != want.after {
			t.Errorf("call %d: got %v, %v, want %v", i, before, after, want)
		}
	}
	f = retrytest.Decide(func(c retrytest.Call) retrytest.Outcome {
		if c.Args[0] == "bad" {
			return retrytest.Outcome{Err: conflict}
		}
		return retrytest.Outcome{}
	})
	if before, _ := f.Begin(t.Context(), "Get", "good"); before != nil || f.Calls("Get") != 1 {
		t.Errorf("got %v after %d calls", before, f.Calls("Get"))
	}
	if before, _ := f.Begin(t.Context(), "Get", "bad"); before != conflict {
		t.Errorf("got %v, want %v", before, conflict)
	}
}

func TestPanic(t *testing.T) {
	defer func() {
		e, ok := recover().(*retrytest.Error)
		if !ok || e.Error() != "injected fault panic in attempt 1" {
			t.Errorf("got panic %v", e)
		}
	}()
	retrytest.Script("panic").Begin(t.Context(), "Get")
}

func TestFromEnv(t *testing.T) {
	t.Setenv(retrytest.EnvFaults, "")
	if f, err := retrytest.FromEnv(); f != nil || err != nil {
		t.Errorf("got %v, %v, want no faults", f, err)
	}
	var none *retrytest.Faults
	if before, after := none.Begin(t.Context(), "Get"); before != nil || after != nil {
		t.Errorf("got %v, %v of no faults", before, after)
	}
	t.Setenv(retrytest.EnvFaults, "Get: 5%")
	if _, err := retrytest.FromEnv(); err == nil || !strings.HasPrefix(err.Error(), "RETRYGEN_FAULTS: ") {
		t.Errorf("got %v", err)
	}
}

// A failed is a test that keeps its errors.
type failed struct{ text string }

func (f *failed) Helper()                           {}
func (f *failed) Errorf(format string, args ...any) { f.text += fmt.Sprintf(format, args...) + "\n" }

// ExampleExpect shows what a test prints if the sequence is another one.
func ExampleExpect() {
	var rec retrytest.Recorder
	rec.Attempt("503")
	rec.Attempt("ok")
	var t failed
	retrytest.Expect(&t, &rec, "attempt 503", "wait 1s", "attempt ok")
	fmt.Print(t.text)
	// Output:
	// step 2 is not the expected one:
	//     got           want
	//     attempt 503   attempt 503
	//   > attempt ok    wait 1s
	//     -             attempt ok
}

// TestPlay breaks each promise of a play.
func TestPlay(t *testing.T) {
	for _, test := range []struct {
		play retrytest.Play
		want string
	}{
		{retrytest.Play{Script: "503...", Fewest: 4, Most: 4, Longest: 7 * time.Second}, ""},
		{retrytest.Play{Script: "503...", Most: 3, Longest: 7 * time.Second},
			"4 attempts, want at most 3:\n    attempt 503\n"},
		{retrytest.Play{Script: "503...", Fewest: 5, Most: 9, Longest: 7 * time.Second}, "4 attempts, want at least 5:"},
		{retrytest.Play{Script: "503...", Most: 4, Longest: 6 * time.Second}, "the call took 7s, want at most 6s:"},
		{retrytest.Play{Script: "hang...", Fewest: 4, Most: 4, Longest: 27 * time.Second}, ""},
		{retrytest.Play{Script: "404...", Fewest: 1, Most: 1}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got failed
			test.play.Check(&got, func(ctx context.Context, f *retrytest.Faults) {
				get(ctx, f, func() (int, error) { return 0, nil })
			})
			if test.want == "" && got.text != "" || !strings.HasPrefix(got.text, test.want) {
				t.Errorf("%v: got %q, want %q", test.play, got.text, test.want)
			}
		})
	}
}
