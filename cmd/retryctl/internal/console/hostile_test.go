package console

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
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

// hostile are texts that become something else in a page that does not escape them.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'onmouseover='alert(1)`, `javascript:alert(1)`,
	`</title></textarea></style><svg onload=alert(1)>`, "{{.Server.Token}}", `?done=pause&x#y/../..`,
	"\u202egnp.exe\u2028\u0085", `</pattern></svg><iframe src=//evil.example>`, `]]><!--`,
	"\nfirst line\nsecond\r\n\tline\n", strings.Repeat("W", 200),
}

// store keeps hostile texts wherever a store keeps texts.
func keepHostile(e *testStore) {
	for i, text := range hostile {
		s := quick(text, 2)
		s.Policy.Name = text
		s.Breaker = &breaker.Policy{Name: text, Failures: 1, OpenFor: time.Hour}
		e.fail(text, s, text, errors.New(text), durable.Budget(job.BudgetPolicy{Retries: 3}))
		by := admin.By(text, text)
		err := errors.Join(e.Admin().Pause(e.t.Context(), text, by), e.Admin().ResetBreaker(e.t.Context(), text, by))
		if err != nil {
			e.t.Fatal(err)
		}
		doubt := &genapi.StepPolicy{Name: text, Policy: &retry.Policy{Name: text}, OnExhausted: genapi.ExhaustedPause}
		doubt.Policy.MaxAttempts = 1
		_ = e.Run(e.t.Context(), fmt.Sprint("doubt ", i, text), func(ctx context.Context) error {
			_, err := genapi.Call(ctx, doubt, genapi.ID(text), genapi.Digest{},
				func(context.Context) (int, error) { return 0, errors.New(text) })
			return err
		})
	}
	policy := job.GroupPolicy{Name: hostile[0], OnUnitFailure: job.FailureDeadLetter,
		Budget: &job.BudgetPolicy{Retries: 3}}
	err := e.Run(e.t.Context(), "group", func(ctx context.Context) error {
		_, err := durable.Group(ctx, job.NewGroup(policy, hostile[1]), hostile,
			func(context.Context, string) (int, error) { return 0, errors.New(hostile[2]) }, nil)
		return err
	})
	if err != nil {
		e.t.Log(err)
	}
}

// inputValue matches what an input contains, which must be the text itself.
var inputValue = regexp.MustCompile(` value="[^"]*"`)

// hostilePages are the pages that show the texts of keepHostile.
func hostilePages() (paths []string) {
	paths = []string{"/", "/runs", "/dead", "/shared", "/policies", "/run?id=group"}
	for _, text := range hostile {
		paths = append(paths, link("/run", "id", text),
			link("/dead", "class", text, "name", text, "run", text, "text", text, "eligibility", text), link("/runs",
				"handler", text),
			link("/login", "next", text), link("/runs", "status", text), link("/policy", "name", text, "file", text))
	}
	return paths
}

func TestHostileTexts(t *testing.T) {
	e := newStore(t)
	keepHostile(e)
	paths := hostilePages()
	for s, err := range e.Admin().Steps(t.Context(), admin.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, link("/step", "run", s.Run, "id", s.Step))
	}
	for g, err := range e.Admin().Groups(t.Context(), admin.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, link("/group", "run", g.Run, "id", g.Group))
	}
	c := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: hostile[0], Namespace: "", Write: true}))
	for _, path := range paths {
		r := c.get(path)
		if r.status >= 500 {
			t.Errorf("%s: status %d: %s", path, r.status, r.body)
		}
		shown := inputValue.ReplaceAllString(r.body, "")
		for _, bad := range []string{
			"<script>alert", "<img src=x", "<svg onload", "<iframe", "'onmouseover='", `href="javascript:`, "<!--", "\u202e", "</pattern></svg><",
		} {
			if strings.Contains(shown, bad) {
				t.Errorf("%s: the page contains %q", path, bad)
			}
		}
	}
	for _, text := range hostile { // the id survives the way through a URL and a form
		c.want("run", c.get(link("/run", "id", text)), http.StatusOK, html.EscapeString(clean(text))[:5])
		r := c.post(link("/run", "id", text), "action", "resume", "by", text, "why", text)
		c.want("resume", r, http.StatusSeeOther)
		if got := e.runStatus(text); got != storage.StatusOpen {
			t.Errorf("run %q is %v", text, got)
		}
	}
}
