package main

import (
	"bytes"
	"context"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/console"
	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable"
)

// TestLimited: for a run that a limit of its handler keeps waiting, retryctl run, its
// JSON and the console name the limit.
func TestLimited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retry.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	e, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	charging, release := make(chan struct{}), make(chan struct{})
	durable.Handle(e, "charge", func(context.Context, int) (int, error) {
		close(charging)
		<-release
		return 0, nil
	}, durable.Concurrency(1))
	durable.Handle(e, "mail", func(context.Context, int) (int, error) { return 0, nil },
		durable.StartRate(1, time.Hour, 1))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- e.Work(ctx, durable.Poll(10*time.Millisecond)) }()
	defer func() {
		close(release)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	begin := func(handler, id string) {
		t.Helper()
		if err := durable.Start(ctx, e, handler, id, 1); err != nil {
			t.Fatal(err)
		}
	}
	begin("charge", "charge-1")
	begin("mail", "mail-1")
	<-charging
	if _, err := durable.Await[int](ctx, e, "mail-1"); err != nil {
		t.Fatal(err)
	}
	begin("charge", "charge-2")
	begin("mail", "mail-2")

	server, err := console.New(console.Config{Client: e.Admin()})
	if err != nil {
		t.Fatal(err)
	}
	for id, texts := range map[string][3]string{
		"charge-2": {
			`now: +handler charge executes 1 of 1 runs: it waits for the end of one\n`,
			`"now":{"cause":"full","text":"handler charge executes 1 of 1 runs: it waits for the end of one"}`,
			`<p>handler charge executes 1 of 1 runs: it waits for the end of one</p>`,
		},
		"mail-2": {
			`now: +handler mail starts at most 1 in 1h0m0s: it waits for its turn, 20.* \(in (59|60)m`,
			`"now":{"cause":"rate","text":"handler mail starts at most 1 in 1h0m0s: it waits for its turn","until":"20`,
			`<p>handler mail starts at most 1 in 1h0m0s: it waits for its turn <span`,
		},
	} {
		var plain, asJSON, stderr bytes.Buffer
		run([]string{"run", "-store", "sqlite:" + path, id}, &plain, &stderr)
		run([]string{"run", "-json", "-store", "sqlite:" + path, id}, &asJSON, &stderr)
		page := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "http://localhost/run?id="+id, nil)
		r.RemoteAddr = "127.0.0.1:1"
		server.ServeHTTP(page, r)
		if stderr.Len() > 0 {
			t.Errorf("%s: %s", id, stderr.String())
		}
		if !regexp.MustCompile(texts[0]).MatchString(plain.String()) {
			t.Errorf("retryctl run %s printed\n%s\nwant %s", id, plain.String(), texts[0])
		}
		if !strings.Contains(asJSON.String(), texts[1]) {
			t.Errorf("retryctl run -json %s printed\n%s\nwant %s", id, asJSON.String(), texts[1])
		}
		if !strings.Contains(page.Body.String(), texts[2]) {
			t.Errorf("the page of %s is\n%s\nwant %s", id, page.Body.String(), texts[2])
		}
	}
}
