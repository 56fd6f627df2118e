package live_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/contrib/live"
	"github.com/retrygen/retrygen/contrib/live/internal/orders"
	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/genapi"
)

// compiled is the text from which package orders was generated.
var compiled = orders.LivePolicies().Text

// edit returns compiled with the first text of each pair replaced by the second.
func edit(t *testing.T, pairs ...string) []byte {
	t.Helper()
	text := compiled
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			t.Fatalf("%q occurs %d times in the policy file", pairs[i], strings.Count(text, pairs[i]))
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return []byte(text)
}

// control returns a Control of package orders, and resets the package at the end.
func control(t *testing.T, options ...live.Option) *live.Control {
	t.Helper()
	c,
		err := live.New(orders.LivePolicies(), append([]live.Option{live.Log(slog.New(slog.DiscardHandler))}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.Reset("test"); err != nil {
			t.Error(err)
		}
	})
	return c
}

// The version from which a package was generated changes nothing: what Load makes of it is
// what the generated code contains.
func TestLoadCompiled(t *testing.T) {
	before := map[string]retry.Settings{}
	for _, p := range orders.Policies() {
		before[p.Name] = p.Settings()
	}
	c := control(t)
	change, err := c.Load([]byte(compiled), "test")
	if err != nil || change.Settings != nil {
		t.Fatalf("%v, %v", change.Settings, err)
	}
	for _, p := range orders.Policies() {
		if diff := cmp.Diff(before[p.Name], p.Settings()); diff != "" {
			t.Errorf("policy %s (-compiled +loaded):\n%s", p.Name, diff)
		}
	}
}

func TestLoad(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit []string
		want []string // the settings, or the errors
		err  bool
	}{
		{name: "attempts and delay", edit: []string{"max_attempts: 3, initial_delay: 1ms",
			"max_attempts: 5, initial_delay: 2ms"},
			want: []string{"policy quick: initial_delay 1ms → 2ms", "policy quick: max_attempts 3 → 5"}},
		{name: "timeout", edit: []string{"timeout: 30s", "timeout: 20s"}, want: []string{"policy read: timeout 30s → 20s"}},
		{name: "per_error", edit: []string{"rate_limit: {max_attempts: 2", "rate_limit: {max_attempts: 3"},
			want: []string{"policy read: per_error.rate_limit.max_attempts 2 → 3"}},
		{name: "what calls share", edit: []string{
			"failures: 5, open_for: 10s", "failures: 8, open_for: 20s", "burst: 20", "burst: 10", "limit: 10", "limit: 5",
			"100/s", "50/s", "k: 2", "k: 3", "hedge: 50ms", "hedge: 70ms"},
			want: []string{
				"breaker stock: failures 5 → 8", "breaker stock: open_for 10s → 20s", "budget shared: burst 20 → 10",
				"concurrency limit db: limit 10 → 5", "rate partner: events 100 → 50", "throttle partner: k 2 → 3",
				"the hedge of policy find: after 50ms → 70ms",
			}},
		{name: "a comment", edit: []string{"version: 1\n", "version: 1 # a comment\n"}},

		{name: "not YAML", edit: []string{"version: 1\n", "version: [\n"}, err: true, want: []string{"P100"}},
		{name: "a mistake", edit: []string{"timeout: 30s", "timeout: 30"}, err: true,
			want: []string{"retry.yaml:22:14: error: timeout: 30 has no unit"}},
		{name: "a binding", edit: []string{"Quick: {policy: quick, idempotent: true}",
			"Quick: {policy: find, idempotent: true}"},
			err: true, want: []string{"retry.yaml:33:3: error: the binding of Quick differs: that is compiled"}},
		{name: "a timeout where there was none", edit: []string{"  quick: {max_attempts: 3",
			"  quick: {timeout: 5s, max_attempts: 3"},
			err:  true,
			want: []string{"retry.yaml:26:20: error: policy quick has timeout, and its calls have no contexts"}},
		{name: "another breaker", edit: []string{"breaker: stock, budget", "budget"}, err: true,
			want: []string{"error: policy stock has another breaker"}},
		{name: "a policy that does not change", edit: []string{"fixed: {reload: false, max_attempts: 2",
			"fixed: {reload: false, max_attempts: 3"},
			err:  true,
			want: []string{"retry.yaml:30:3: error: policy fixed has no reload: true, and differs (max_attempts 2 → 3)"}},
		{name: "a class of a policy that does not change", edit: []string{"[529]", "[530]"}, err: true,
			want: []string{"policy fixed has no reload: true, and differs (class.busy.http 529-529 → 530-530)"}},
		{name: "a new policy", edit: []string{"bind:", "  other: {max_attempts: 2}\nbind:"}, err: true,
			want: []string{"retry.yaml:31:3: error: policy other is new"}},
		{name: "Go types of a class", edit: []string{"is: [ErrMissing]", "is: [io.EOF]"}, err: true,
			want: []string{"retry.yaml:4:3: error: the Go symbols or gRPC codes of class missing differ"}},
		{name: "an adaptive limit", edit: []string{"{limit: 10}", "{adaptive: {target: 100ms}}"}, err: true,
			want: []string{"error: concurrency limit db was fixed and would be adaptive: that is compiled"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := control(t)
			change, err := c.Load(edit(t, tt.edit...), "test")
			if !tt.err {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, change.Settings); diff != "" {
					t.Errorf("settings (-want +got):\n%s", diff)
				}
				return
			}
			if _, ok := errors.AsType[*live.Error](err); !ok {
				t.Fatalf("got %v, want an *Error", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in the error:\n%v", want, err)
				}
			}
			if text := c.Status().Text; text != compiled || c.Status().Refused != 1 {
				t.Errorf("%+v: want what is compiled in force, and one refusal", c.Status())
			}
		})
	}
}

// If one part of a version cannot be updated, nothing changes, not even what comes before
// that part. Here the generated package says nothing of a store, but the rate is in one.
// A change is in force although it has a warning, which is reported once.
func TestLoadWarns(t *testing.T) {
	var log strings.Builder
	c := control(t, live.Log(slog.New(slog.NewTextHandler(&log, nil))))
	change, err := c.Load(edit(t, "failures: 5", "failures: 2"), "test")
	if err != nil || len(change.Warnings) != 1 || !strings.Contains(change.Warnings[0], "[P501]") {
		t.Errorf("got %q, %v; want a warning of P501", change.Warnings, err)
	}
	if !strings.Contains(log.String(), `level=WARN msg="policy file has warnings"`) {
		t.Errorf("the log has no warning:\n%s", log.String())
	}
	change, err = c.Load(edit(t, "failures: 5", "failures: 2", "limit: 10", "limit: 5"), "test")
	if err != nil || len(change.Settings) == 0 || len(change.Warnings) != 0 {
		t.Errorf("got %+v, %v; want a change without new warnings", change, err)
	}
}

func TestLoadAllOrNothing(t *testing.T) {
	text := "version: 1\nreload: true\nbreakers:\n  up: {failures: 5}\nrates:\n  partner: {rate: 100/s}\n" +
		"policies:\n  read: {max_attempts: 3, breaker: up, rate: partner}\n"
	up := breaker.New(breaker.Policy{Name: "up", Failures: 5})
	partner := capacity.NewSharedRate(capacity.RatePolicy{Name: "partner", Events: 100})
	read := retry.NewLive(&retry.Policy{Name: "read"})
	c, err := live.New(genapi.LivePackage{
		Package: "example.com/one", File: "retry.yaml", Text: text, Policies: []*retry.Live{read},
		Shared: []genapi.LiveShared{{
			Breakers: []*breaker.Breaker{up},
			Capacity: capacity.Set{Rates: []*capacity.Rate{partner}},
		}},
	}, live.Log(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	text = strings.NewReplacer("failures: 5", "failures: 9", "100/s", "50/s", "attempts: 3", "attempts: 2").Replace(text)
	_, err = c.Load([]byte(text), "test")
	if _, ok := errors.AsType[*live.Error](err); !ok || !strings.Contains(err.Error(), `retry.yaml:6:3: error: rate "partner"`) {
		t.Errorf("%v: want an *Error at the rate", err)
	}
	if n := up.Policy().Failures; n != 5 {
		t.Errorf("the breaker has changed: %d failures", n)
	}
	if n := read.Load().MaxAttempts; n != 0 {
		t.Errorf("the policy has changed: %d attempts", n)
	}
}

// Without its policy in the file, a version would leave calls without any policy.
func TestNewRefusesOtherPolicies(t *testing.T) {
	_, err := live.New(genapi.LivePackage{
		Package: "example.com/one", File: "retry.yaml", Text: "version: 1\nreload: true\npolicies:\n  read: {}\n",
		Policies: []*retry.Live{retry.NewLive(&retry.Policy{Name: "write"})},
	})
	if err == nil || !strings.Contains(err.Error(), "has a policy write that is not in its retry.yaml") {
		t.Errorf("got %v", err)
	}
}

// What the generator checks and emits only for policies that retry, or that have time limits,
// cannot begin later. Where a policy had it, it may end and begin again.
func TestLoadCompiledWithout(t *testing.T) {
	for _, tt := range []struct{ name, compiled, loaded, want string }{
		{"retries", "max_attempts: 1", "max_attempts: 2", "would begin to retry"},
		{"retries of a class", "max_attempts: 1", "max_attempts: 1, per_error: {timeout: {max_attempts: 2}}",
			"would begin to retry"},
		{"other retries", "max_attempts: 1, per_error: {timeout: {max_attempts: 2}}", "max_attempts: 3", ""},
		{"a time limit, without contexts", "max_attempts: 2", "max_attempts: 2, timeout: 5s", "has timeout"},
		{"a time limit, with contexts", "max_attempts: 2, nested: true", "max_attempts: 2, nested: true, timeout: 5s",
			"has timeout"},
		{"another time limit", "max_attempts: 2, timeout: 9s", "max_attempts: 2, attempt_timeout: 1s", ""},
		{"nested", "max_attempts: 2, timeout: 9s", "max_attempts: 2, timeout: 9s, nested: true", ""},
	} {
		text := func(settings string) []byte {
			return []byte("version: 1\nreload: true\npolicies:\n  one: {initial_delay: 10ms, " + settings + "}\n")
		}
		file, problems := policy.Check("retry.yaml", text(tt.compiled))
		if file == nil {
			t.Fatal(tt.name, problems)
		}
		compiled := file.Policies[0].Compiled()
		c, err := live.New(genapi.LivePackage{
			File: "retry.yaml", Text: string(text(tt.compiled)), Policies: []*retry.Live{retry.NewLive(&compiled)},
		}, live.Log(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(tt.name, err)
		}
		switch _, err := c.Load(text(tt.loaded), "test"); {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if _, err := c.Reset("test"); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A time limit that a version takes away may come back, since the compiled calls have
// contexts of their own.
func TestLoadTimeLimitAgain(t *testing.T) {
	c := control(t)
	for _, text := range [][]byte{edit(t, "    timeout: 30s\n", ""), edit(t, "timeout: 30s", "timeout: 5s")} {
		if change, err := c.Load(text, "test"); err != nil || len(change.Settings) != 1 {
			t.Errorf("%v, %v", change.Settings, err)
		}
	}
}

// The statuses, patterns and actions of classes change, and their Go types stay.
func TestLoadClasses(t *testing.T) {
	pkg := orders.LivePolicies()
	pkg.Text = string(edit(t, "  fixed: {reload: false, max_attempts: 2, initial_delay: 5ms}\n", "",
		"  Fixed: {policy: fixed, idempotent: true}\n", ""))
	c, err := live.New(pkg, live.Log(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Reset("test")
	attempts := func(err error) (n int) {
		_ = orders.RetryQuick(t.Context(), func(context.Context) error { n++; return err })
		return n
	}
	if n := attempts(orders.ErrMissing); n != 1 {
		t.Errorf("%d attempts of an error of class missing, whose action is fail", n)
	}
	text := strings.NewReplacer("[529]", "[529, 530]", "action: fail}", "action: retry}").Replace(pkg.Text)
	change, err := c.Load([]byte(text), "test")
	if err != nil || !slices.Contains(change.Settings, "policy read: class.busy.http 529-529 → 529-529, 530-530") ||
		!slices.Contains(change.Settings, "policy quick: class.missing.action fail → retry") {
		t.Fatal(change.Settings, err)
	}
	if n := attempts(fmt.Errorf("order 7: %w", orders.ErrMissing)); n != 3 {
		t.Errorf("%d attempts of an error of class missing, whose action is retry", n)
	}
}

// What is loaded is what calls do.
func TestLoadedCalls(t *testing.T) {
	c := control(t)
	attempts := func() (n int) {
		_ = orders.RetryQuick(t.Context(), func(context.Context) error { n++; return io.ErrUnexpectedEOF })
		return n
	}
	if n := attempts(); n != 3 {
		t.Errorf("%d attempts as compiled", n)
	}
	if _, err := c.Load(edit(t, "quick: {max_attempts: 3", "quick: {max_attempts: 5"), "test"); err != nil {
		t.Fatal(err)
	}
	if n := attempts(); n != 5 {
		t.Errorf("%d attempts after the change, want 5", n)
	}
	if p := orders.DefaultShared.StockBreaker.Policy(); p.Failures != 5 {
		t.Errorf("the breaker has changed: %+v", p)
	}
	if _, err := c.Load(edit(t, "failures: 5", "failures: 9", "hedge: 50ms", "hedge: 60ms"), "test"); err != nil {
		t.Fatal(err)
	}
	if p := orders.DefaultShared.StockBreaker.Policy(); p.Failures != 9 {
		t.Errorf("the breaker has not changed: %+v", p)
	}
	if p := orders.DefaultShared.FindHedge.Policy(); p.After != 60*time.Millisecond {
		t.Errorf("the hedge has not changed: %+v", p)
	}
}

// Eight goroutines call while the file changes 1,000 times. Each call makes the attempts of
// one version, with the delays of that version.
func TestLoadDuringCalls(t *testing.T) {
	c := control(t)
	waits := map[int]time.Duration{3: 3 * time.Millisecond, 2: 5 * time.Millisecond} // of a call, by its attempts
	var done atomic.Bool
	var calls atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for first := true; first || !done.Load(); first = false {
				calls.Add(1)
				n := 0
				err := orders.RetryQuick(t.Context(), func(context.Context) error { n++; return io.ErrUnexpectedEOF })
				e, ok := errors.AsType[*retry.Error](err)
				if !ok || e.Attempts != n || e.Waited != waits[n] {
					t.Errorf("%d attempts: %v", n, err)
				}
			}
		})
	}
	versions := [][]byte{
		edit(t, "quick: {max_attempts: 3, initial_delay: 1ms", "quick: {max_attempts: 2, initial_delay: 5ms"),
		[]byte(compiled),
	}
	for i := range 1000 {
		if change, err := c.Load(versions[i%2], "test"); err != nil || len(change.Settings) != 2 {
			t.Fatal(change, err)
		}
	}
	done.Store(true)
	wg.Wait()
	if got := c.Status().Accepted; got != 1000 {
		t.Errorf("%d changes, want 1000", got)
	}
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	// As Kubernetes mounts a ConfigMap: the name is a link to a file in a folder, which is
	// itself a link that is swapped.
	version := func(n int, text []byte) {
		t.Helper()
		folder := filepath.Join(dir, fmt.Sprintf("..version%d", n))
		if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "retry.yaml"), text, 0o600),
			os.Symlink(folder, filepath.Join(dir, "..next")),
			os.Rename(filepath.Join(dir, "..next"), filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	version(1, []byte(compiled))
	if err := os.Symlink(filepath.Join("..data", "retry.yaml"), filepath.Join(dir, "retry.yaml")); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var changes [][]string
		c := control(t, live.OnChange(func(change live.Change) { changes = append(changes, change.Settings) }))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Watch(ctx, live.File(filepath.Join(dir, "retry.yaml"))) })
		time.Sleep(5 * live.Interval)
		version(2, edit(t, "quick: {max_attempts: 3", "quick: {max_attempts: 4"))
		time.Sleep(3 * live.Interval)
		version(3, edit(t, "quick: {max_attempts: 3", "quick: {max_attempts: 0"))
		time.Sleep(3 * live.Interval)
		version(4, edit(t, "quick: {max_attempts: 3", "quick: {max_attempts: 6"))
		time.Sleep(3 * live.Interval)
		cancel()
		wg.Wait()
		want := [][]string{{"policy quick: max_attempts 3 → 4"}, {"policy quick: max_attempts 4 → 6"}}
		if diff := cmp.Diff(want, changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		if s := c.Status(); s.Accepted != 2 || s.Refused != 1 || s.Problem != "" {
			t.Errorf("%+v", s)
		}
	})
}

// A file that is written in parts is loaded when it does not change any more, and one that
// cannot be read changes nothing and is logged once.
func TestWatchParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c := control(t, live.Log(slog.New(slog.NewTextHandler(&log, nil))))
		full := edit(t, "quick: {max_attempts: 3", "quick: {max_attempts: 4")
		dir := t.TempDir()
		write := func(text []byte) {
			if err := os.WriteFile(filepath.Join(dir, "retry.yaml"), text, 0o600); err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Watch(ctx, live.FS(os.DirFS(dir), "retry.yaml")) })
		time.Sleep(5*live.Interval + live.Interval/2)
		synctest.Wait()
		for part := 100; part < len(full); part += len(full) / 4 {
			write(full[:part])
			time.Sleep(live.Interval)
			synctest.Wait()
		}
		write(full)
		time.Sleep(2 * live.Interval)
		synctest.Wait()
		write(nil)
		time.Sleep(3 * live.Interval)
		synctest.Wait()
		write(full)
		time.Sleep(3 * live.Interval)
		synctest.Wait()
		cancel()
		wg.Wait()
		if s := c.Status(); s.Accepted != 1 || s.Refused != 1 { // the empty file
			t.Errorf("%+v", s)
		}
		for _, message := range []string{
			"policy file not read", "policy file read again", "policy file refused", "policy file accepted, no setting differs",
		} {
			if n := strings.Count(log.String(), message); n != 1 {
				t.Errorf("%q is logged %d times:\n%s", message, n, log.String())
			}
		}
		if !slices.Contains(strings.Fields(log.String()), "by=retry.yaml") {
			t.Errorf("the change is not logged with its source:\n%s", log.String())
		}
	})
}

// BenchmarkLoad loads a file with 1,000 policies.
func BenchmarkLoad(b *testing.B) {
	pkg, versions := many(1000)
	c, err := live.New(pkg, live.Log(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if change, err := c.Load(versions[i%2], "bench"); err != nil || len(change.Settings) != 1000 {
			b.Fatal(len(change.Settings), err)
		}
	}
}

// Two Controls of one package do not know what the other has changed.
func TestSecondControl(t *testing.T) {
	first := control(t)
	second, err := live.New(orders.LivePolicies(), live.Log(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Load(edit(t, "timeout: 30s", "timeout: 20s"), "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Load([]byte(compiled), "test"); !errors.Is(err, live.ErrOtherControl) {
		t.Errorf("the second Control loads a version: %v", err)
	}
	if _, err := live.New(orders.LivePolicies()); !errors.Is(err, live.ErrOtherControl) {
		t.Errorf("a Control of changed policies is created: %v", err)
	}
	if _, err := first.Load(edit(t, "timeout: 30s", "timeout: 10s"), "test"); err != nil {
		t.Error(err)
	}
}
