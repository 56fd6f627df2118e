package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

func TestChanges(t *testing.T) {
	e := newStore(t)
	e.fail("failed", quick("charge", 1), "a", errDown)
	e.fail("dead/1", quick("charge", 2), "a", errDown)
	e.fail("dead/2", quick("charge", 2), "b", errDown)
	e.fail("dead/3", quick("charge", 2), "c", errors.New("validation: no such account"))
	e.fail("dead/4", quick("mail", 2), "d", errDown)
	e.fail("budget", quick("none", 1), "e", nil, durable.Budget(job.BudgetPolicy{Retries: 3}))
	broken := quick("broken", 4)
	broken.Breaker = &breaker.Policy{Name: "bank", Failures: 1, OpenFor: time.Hour}
	e.fail("broken", broken, "f", errDown)
	for _, id := range []string{"doubt/1", "doubt/2", "doubt/3"} {
		s := &genapi.StepPolicy{Name: "post", Policy: &retry.Policy{Name: "post", RetryUnknown: true},
			OnExhausted: genapi.ExhaustedPause}
		s.Policy.MaxAttempts = 1
		_ = e.Run(t.Context(), id, func(ctx context.Context) error {
			_, err := genapi.Call(ctx, s, genapi.StepID{}, genapi.Digest{}, func(context.Context) (int,
				error) {
				return 0, errDown
			})
			return err
		})
	}
	var logged bytes.Buffer
	c := newClient(t, serve(t, Config{
		Client: e.Engine.Admin(), Store: "test", Write: true, Log: slog.New(slog.NewTextHandler(&logged, nil)),
	}))
	who := []string{"by", "ada", "why", "a drill"}
	done := func(what string, r reply) {
		t.Helper()
		c.want(what, r, http.StatusSeeOther)
		c.want(what, c.get(r.header.Get("Location")), http.StatusOK)
	}
	change := func(path string, pairs ...string) reply {
		t.Helper()
		q := url.Values{}
		for len(pairs) > 0 && (pairs[0] == "run" || pairs[0] == "id" || pairs[0] == "name") {
			q.Set(pairs[0], pairs[1])
			pairs = pairs[2:]
		}
		return c.post(path+"?"+q.Encode(), append(pairs, who...)...)
	}
	expect := func(what string, got, want storage.Status) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}

	done("requeue", change("/step", "run", "dead/1", "id", "charge/a", "action", "requeue", "new-key", "1"))
	expect("requeued", e.status("dead/1", "charge/a"), storage.StatusOpen)
	c.want("again", change("/step", "run", "dead/1", "id", "charge/a", "action", "requeue"), http.StatusConflict)
	done("discard", change("/step", "run", "dead/2", "id", "charge/b", "action", "discard"))
	expect("discarded", e.status("dead/2", "charge/b"), storage.StatusDiscarded)
	done("repeat", change("/step", "run", "budget", "id", "none/e", "action", "requeue", "repeat", "1"))
	expect("repeated", e.status("budget", "none/e"), storage.StatusOpen)

	c.want("resolve", change("/step", "run", "doubt/1", "id", "post", "action", "resolve", "as", "succeeded", "value",
		"{"),
		http.StatusBadRequest, "not JSON")
	c.want("resolve", change("/step", "run", "doubt/1", "id", "post", "action", "resolve"), http.StatusBadRequest)
	done("resolve", change("/step", "run", "doubt/1", "id", "post", "action", "resolve", "as", "succeeded", "value",
		"7"))
	expect("resolved", e.status("doubt/1", "post"), storage.StatusSucceeded)
	done("resolve", change("/step", "run", "doubt/2", "id", "post", "action", "resolve", "as", "failed", "value",
		"it bounced"))
	expect("resolved", e.status("doubt/2", "post"), storage.StatusFailed)
	done("resolve", change("/step", "run", "doubt/3", "id", "post", "action", "resolve", "as", "retry"))
	expect("resolved", e.status("doubt/3", "post"), storage.StatusOpen)

	testWaits(t, e, c, change, done)

	done("pause", change("/run", "id", "failed", "action", "pause"))
	expect("paused", e.runStatus("failed"), storage.StatusPaused)
	c.want("audit", c.get("/run?id=failed"), http.StatusOK, "ada", "a drill", "paused")
	done("resume", change("/run", "id", "failed", "action", "resume"))
	expect("resumed", e.runStatus("failed"), storage.StatusOpen)
	done("cancel", change("/run", "id", "failed", "action", "cancel"))
	expect("canceled", e.runStatus("failed"), storage.StatusCanceled)

	c.want("open", c.get("/shared"), http.StatusOK, ">open<")
	done("breaker", change("/shared", "name", "bank", "action", "breaker"))
	c.want("closed", c.get("/shared"), http.StatusOK, ">closed<", "reset by ada: a drill")
	done("budget", change("/shared", "run", "budget", "name", "", "action", "budget"))
	c.want("no budget", change("/shared", "run", "none", "action", "budget"), http.StatusNotFound)

	for _, r := range []reply{
		c.post("/run?id=failed", "action", "pause", "by", "ada"), c.post("/run?id=failed", "action", "pause", "why",
			"x"),
		c.post("/run?id=failed", "action", "pause", "by", " ", "why", "\t"),
		change("/run", "id", "failed", "action", "none"), change("/step", "action", ""), change("/shared"),
		change("/dead", "action", "none"), change("/dead", "action", "requeue"), change("/dead", "action", "requeue",
			"letter", "x"),
		change("/dead", "action", "requeue", "scope", "all", "sure", "yes", "rate", "-1"),
		change("/dead", "action", "discard", "scope", "all"),
	} {
		c.want("a form that lacks something", r, http.StatusBadRequest)
	}
	c.want("no task", change("/task", "id", "none"), http.StatusNotFound)
	if text := logged.String(); !strings.Contains(text, `by=ada why="a drill"`) || strings.Contains(text, "dead/1") {
		t.Errorf("the log must have who and why, and no ids: %s", text)
	}
	if r := c.get("/run?id=dead%2F1"); !strings.Contains(r.body,
		`name="by" required maxlength="100" autocomplete="username" value="ada"`) {
		t.Errorf("the form does not know the user: %s", r.body)
	}
}

// Bulk changes: those that are checked, and those that a filter selects.
func TestBulk(t *testing.T) {
	e := newStore(t)
	s := quick("charge", 1)
	for i := range 6 {
		e.fail(fmt.Sprint("run/", i), s, "a", errDown)
	}
	e.fail("other", s, "a", errors.New("validation: no such account"))
	c := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: "test", Write: true}))
	finish := func(r reply, texts ...string) {
		t.Helper()
		c.want("start", r, http.StatusSeeOther)
		var page reply
		for deadline := time.Now().Add(time.Minute); !strings.Contains(page.body, ">done<"); {
			if page = c.get(r.header.Get("Location")); time.Now().After(deadline) {
				t.Fatalf("the bulk change does not end: %s", page.body)
			}
		}
		c.want("end", page, http.StatusOK, texts...)
	}
	letter := func(run string) string { return letter(admin.StepInfo{Run: run, Step: "charge/a"}) }
	finish(c.post("/dead", "action", "requeue", "scope", "selected", "letter", letter("run/0"), "letter",
		letter("run/1"),
		"letter", letter("none"), "by", "ada", "why", "the bank is back"), "2 of 3", "not found")
	finish(c.post("/dead?class=network", "action", "discard", "scope", "all", "sure", "yes", "rate", "10000",
		"by", "ada", "why", "a drill"),
		`id="changed">4<`)
	for run, want := range map[string]storage.Status{
		"run/0": storage.StatusOpen, "run/1": storage.StatusOpen, "run/2": storage.StatusDiscarded,
		"run/5": storage.StatusDiscarded, "other": storage.StatusDead,
	} {
		if got := e.status(run, "charge/a"); got != want {
			t.Errorf("%s is %v, want %v", run, got, want)
		}
	}
	finish(c.post("/dead", "action", "discard", "letter", letter("run/0"), "by", "ada", "why", "a drill"), "0 of 1",
		"not a dead letter")
	c.want("list", c.get("/dead"), http.StatusOK, "Bulk changes", "the bank is back", "validation: no such account")
}

// A slow bulk change can be stopped, and only a few run at a time.
func TestStopBulk(t *testing.T) {
	e := newStore(t)
	for i := range 2 * maxTasks {
		e.fail(fmt.Sprint("run/", i), quick("charge", 1), "a", errDown)
	}
	c := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: "test", Write: true}))
	start := func() reply {
		return c.post("/dead?text=refused", "action", "requeue", "scope", "all", "sure", "yes", "rate", "0.001",
			"by", "ada", "why", "a drill")
	}
	first := start()
	for range maxTasks - 1 {
		c.want("start", start(), http.StatusSeeOther)
	}
	c.want("one too many", start(), http.StatusTooManyRequests)
	_, id, _ := strings.Cut(first.header.Get("Location"), "id=")
	c.want("stop", c.post("/task?id="+id, "by", "ada", "why", "wrong filter"), http.StatusSeeOther)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(c.get("/task?id="+id).body, ">stopped<"); {
		if time.Now().After(deadline) {
			t.Fatal("the bulk change does not stop")
		}
	}
}

// testWaits changes steps that wait: for their next attempts, and for signals.
func testWaits(
	t *testing.T, e *testStore, c *client, change func(path string, pairs ...string) reply, done func(string, reply),
) {
	later := quick("later", 3)
	later.Policy.InitialDelay, later.ParkAfter = time.Hour, time.Second
	e.fail("later", later, "a", errDown)
	for _, id := range []string{"wait/1", "wait/2", "wait/3"} {
		_ = e.Run(t.Context(), id, func(ctx context.Context) error {
			_, err := durable.Wait[bool](ctx, "approve", 24*time.Hour)
			return err
		})
	}
	const approve = "/step?run=wait%2F1&id=approve"
	c.want("a wait", c.get(approve), http.StatusOK, "Send the signal", ">Fail<",
		"<dt>Waits for a signal until</dt>", "<dt>Began</dt>")
	c.want("a list of waits", c.get("/run?id=wait%2F1"), http.StatusOK, "signal, ends <time")
	c.want("a retry", c.get("/step?run=later&id=later%2Fa"), http.StatusOK, "Try now", "Skip or fail")
	c.want("a value", change("/step", "run", "wait/1", "id", "approve", "action", "signal", "value", "yes"),
		http.StatusBadRequest, "not JSON")
	done("signal", change("/step", "run", "wait/1", "id", "approve", "action", "signal", "value", " true\r\n"))
	c.want("signaled", c.get(approve), http.StatusOK, ">succeeded</span>", ">signaled</span>", "by ada: a drill")
	c.want("another", change("/step", "run", "wait/1", "id", "approve", "action", "signal", "value", "false"),
		http.StatusConflict)
	c.want("no step", change("/run", "id", "wait/2", "action", "signal"), http.StatusBadRequest, "step is missing")
	done("by run", change("/run", "id", "wait/2", "action", "signal", "step", "approve", "value", "true"))
	done("early", change("/run", "id", "wait/2", "action", "signal", "step", "later"))
	done("fail", change("/step", "run", "wait/3", "id", "approve", "action", "resolve", "as", "failed", "value", "no"))
	done("now", change("/step", "run", "later", "id", "later/a", "action", "retry"))
	c.want("no retry", change("/step", "run", "wait/1", "id", "approve", "action", "retry"), http.StatusConflict)
	for run, want := range map[string]storage.Status{
		"wait/1": storage.StatusSucceeded, "wait/2": storage.StatusSucceeded, "wait/3": storage.StatusFailed,
	} {
		if got := e.status(run, "approve"); got != want {
			t.Errorf("run %s: %v, want %v", run, got, want)
		}
	}
	if s, err := e.Admin().Describe(t.Context(), "later", "later/a"); err != nil || !s.NextAt.IsZero() {
		t.Errorf("the next attempt is at %v, %v; want now", s.NextAt, err)
	}
}
