package console

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
)

// TestNewestFirst: the list of runs begins with the newest one. Its pages lead to older
// runs and back, also if runs are created meanwhile.
func TestNewestFirst(t *testing.T) {
	e := newStore(t)
	var want []string // the newest first
	create := func() {
		id := fmt.Sprintf("run-%03d", (len(want)*7)%1000) // not in the order of ids
		want = slices.Insert(want, 0, id)
		if err := e.Run(t.Context(), id, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for range 2*pageSize + 5 {
		create()
	}
	c := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: "test"}))
	rows := regexp.MustCompile(`<td><a href="/run\?id=(run-\d+)"`)
	read := func(path string) (ids []string, body string) {
		t.Helper()
		r := c.get(path)
		c.want(path, r, http.StatusOK)
		for _, row := range rows.FindAllStringSubmatch(r.body, -1) {
			ids = append(ids, row[1])
		}
		return ids, r.body
	}
	follow := func(body, rel string) string {
		t.Helper()
		before, _, found := strings.Cut(body, `" rel="`+rel+`"`)
		if !found {
			t.Fatalf("the page has no link %s:\n%s", rel, body)
		}
		return html.UnescapeString(before[strings.LastIndex(before, `"`)+1:])
	}
	path := "/runs?prefix=run-&status=succeeded"
	all := slices.Clone(want)
	var body string
	for i, rel := range []string{"next", "next", "prev", "prev", "prev"} {
		ids, page := read(path)
		at := []int{0, pageSize, 2 * pageSize, pageSize, 0}[i]
		if want := all[at:min(at+pageSize, len(all))]; !slices.Equal(ids, want) {
			t.Errorf("page %d: got %v, want %v", i+1, ids, want)
		}
		create()
		body, path = page, follow(page, rel)
	}
	if ids, page := read(path); !slices.Equal(ids, want[:pageSize]) || strings.Contains(page, `rel="prev"`) {
		t.Errorf("back at the first page: got %v, want %v and no page before", ids, want[:pageSize])
	}
	if ids, _ := read(follow(body, "first")); !slices.Equal(ids, want[:pageSize]) {
		t.Errorf("the first page: got %v, want %v", ids, want[:pageSize])
	}
	c.want("another order", c.get("/runs?after=1:a"), http.StatusBadRequest)
	c.want("another order", c.get("/runs?before=1:a"), http.StatusBadRequest)
}

// TestOutlook: the list of runs shows what their records do not say.
func TestOutlook(t *testing.T) {
	e := newStore(t)
	e.fail("dead", quick("charge", 1), "o1", errors.New("down"))
	if err := durable.Start(t.Context(), e.Engine, "import", "misspelled", 1); err != nil {
		t.Fatal(err)
	}
	r := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: "test"})).get("/runs")
	for _, want := range []string{"kept until resolved", ">no worker<"} {
		if n := strings.Count(r.body, want); n != 1 {
			t.Errorf("the page has %q %d times, want once", want, n)
		}
	}
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		ago  time.Duration
		want string
	}{
		{-time.Second, "just now"}, {59 * time.Second, "just now"}, {time.Minute, "1m ago"},
		{3*time.Minute + 59*time.Second, "3m ago"}, {59 * time.Minute, "59m ago"}, {time.Hour, "1h ago"},
		{47*time.Hour + time.Minute, "47h ago"}, {71 * time.Hour, "2d ago"},
		{100 * 24 * time.Hour, "100d ago"},
	} {
		if got := age(now.Add(-test.ago), now); got != test.want {
			t.Errorf("%v: got %q, want %q", test.ago, got, test.want)
		}
	}
	if got := age(time.Time{}, now); got != "" {
		t.Errorf("no time: got %q", got)
	}
}
