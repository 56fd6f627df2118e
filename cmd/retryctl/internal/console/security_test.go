package console

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func TestHeaders(t *testing.T) {
	c := newClient(t, serve(t, Config{Client: newStore(t).Engine.Admin(), Store: "test"}))
	for _, path := range []string{"/", "/none", "/login", "/static/live.js", "/static/console.css", "/picture?name=x",
		"/run?id="} {
		r := c.get(path)
		policy := r.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'",
			"frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(r.body, " style=") || strings.Contains(r.body,
			"<style") {
			t.Errorf("%s: inline styles or scripts: %s", path, policy)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

// Changes are refused without -write, and from other sites.
func TestRefusedChanges(t *testing.T) {
	e := newStore(t)
	e.fail("run", quick("charge", 1), "a", errDown)
	const path = "/step?run=run&id=charge%2Fa"
	form := url.Values{"action": {"requeue"}, "by": {"eve"}, "why": {"fun"}}
	read := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: "test"}))
	read.want("read-only", read.do(read.request(http.MethodPost, path, form)), http.StatusForbidden, "-write")
	if page := read.get(path); strings.Contains(page.body, `method="post"`) {
		t.Errorf("a console that only reads has forms: %s", page.body)
	}
	c := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: "test", Write: true}))
	for name, header := range map[string][2]string{
		"cross-site": {"Sec-Fetch-Site", "cross-site"}, "same-site": {"Sec-Fetch-Site", "same-site"},
		"origin": {"Origin", "https://evil.example"},
	} {
		r := c.request(http.MethodPost, path, form)
		r.Header.Set(header[0], header[1])
		c.want(name, c.do(r), http.StatusForbidden, "another site")
	}
	if got := e.status("run", "charge/a"); got != storage.StatusDead {
		t.Errorf("the step is %v", got)
	}
	r := c.request(http.MethodPost, path, form)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	c.want("same origin", c.do(r), http.StatusSeeOther)
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
		if got := c.do(c.request(method, path, form)).status; got < 400 {
			t.Errorf("%s: status %d", method, got)
		}
	}
	form.Set("why", strings.Repeat("x", maxBody))
	c.want("a large form", c.do(c.request(http.MethodPost, path, form)), http.StatusRequestEntityTooLarge)
}

// Without a login, only requests to this machine's own names are answered: those of
// a site whose name resolves to it are not.
func TestRebinding(t *testing.T) {
	c := newClient(t, serve(t, Config{Client: newStore(t).Engine.Admin(), Store: "test"}))
	for host, status := range map[string]int{
		"evil.example": http.StatusForbidden, "evil.example:8046": http.StatusForbidden,
		"127.0.0.1.evil.example": http.StatusForbidden,
		"10.0.0.1":               http.StatusForbidden, "localhost:8046": http.StatusOK, "127.0.0.1": http.StatusOK,
		"[::1]:8046": http.StatusOK,
		"LOCALHOST":  http.StatusOK,
	} {
		for _, path := range []string{"/runs", "/static/live.js"} {
			r := c.request(http.MethodGet, path, nil)
			r.Host = host
			c.want(host+path, c.do(r), status)
		}
	}
}

func TestToken(t *testing.T) {
	const token = "0123456789abcdef0123"
	e := newStore(t)
	if _, err := New(Config{Client: e.Engine.Admin(), Token: "short"}); err == nil {
		t.Error("a short token is accepted")
	}
	var logged bytes.Buffer
	base := serve(t, Config{
		Client: e.Engine.Admin(), Store: "test", Token: token, Write: true, Log: slog.New(slog.NewTextHandler(&logged, nil)),
	})
	c := newClient(t, base)
	r := c.get("/runs?status=paused")
	c.want("no session", r, http.StatusSeeOther)
	if got, want := r.header.Get("Location"), "/login?next=%2Fruns%3Fstatus%3Dpaused"; got != want {
		t.Errorf("leads to %s, want %s", got, want)
	}
	for _, path := range []string{"/", "/run?id=x", "/picture", "/storm", "/none"} {
		c.want(path, c.get(path), http.StatusSeeOther)
	}
	c.want("live", c.get("/live/runs"), http.StatusUnauthorized)
	c.want("a change", c.post("/run?id=x", "action", "pause", "by", "eve", "why", "fun"), http.StatusUnauthorized)
	for _, wrong := range []string{"", "x", token + "x", token[1:], strings.ToUpper(token)} {
		c.want("wrong", c.post("/login", "token", wrong, "next", "/runs"), http.StatusForbidden, "not the token")
	}
	c.want("page", c.get("/login?next=/runs"), http.StatusOK, `value="/runs"`)
	r = c.post("/login", "token", token, "next", "/runs?status=paused")
	c.want("login", r, http.StatusSeeOther)
	cookie := r.header.Get("Set-Cookie")
	if r.header.Get("Location") != "/runs?status=paused" || !strings.Contains(cookie,
		"HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") {
		t.Errorf("leads to %s with %s", r.header.Get("Location"), cookie)
	}
	c.want("inside", c.get("/runs"), http.StatusOK, "Log out")
	for _, forged := range []string{"", "x", cookieValue(cookie) + "A", "AAAAAH_____" + cookieValue(cookie)[11:]} {
		request := c.request(http.MethodGet, "/runs", nil)
		request.Header.Set("Cookie", sessionCookie+"="+forged)
		other := newClient(t, base)
		other.want("forged", other.do(request), http.StatusSeeOther)
	}
	c.want("logout", c.post("/logout"), http.StatusSeeOther)
	c.want("outside", c.get("/runs"), http.StatusSeeOther)
	for range loginBurst {
		r = c.post("/login", "token", "x")
	}
	c.want("too many", r, http.StatusTooManyRequests, "too many wrong ones")
	if r.header.Get("Retry-After") == "" {
		t.Error("nothing says when to try again")
	}
	c.want("with the token", c.post("/login", "token", token), http.StatusSeeOther)
	if strings.Contains(logged.String(), token) || !strings.Contains(logged.String(), "login refused") {
		t.Errorf("the log has the token, or lacks refusals: %s", logged.String())
	}
	s := newSessions(token)
	now := time.Now()
	if old := s.cookie(now.Add(time.Minute)); !s.valid(old, now) || s.valid(old,
		now.Add(time.Minute)) || newSessions(token).valid(old, now) {
		t.Error("a session must end, and belong to its process")
	}
}

func cookieValue(header string) string {
	value, _, _ := strings.Cut(strings.TrimPrefix(header, sessionCookie+"="), ";")
	return value
}

func TestLocalPath(t *testing.T) {
	for next, want := range map[string]string{
		"/runs?x=1": "/runs?x=1", "": "/", "runs": "/", "//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/",
		"javascript:alert(1)": "/", "/login?next=/": "/", "/\t/evil.example": "/",
	} {
		if got := localPath(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}

// A user whom a proxy has authenticated is who makes the changes.
func TestProxy(t *testing.T) {
	e := newStore(t)
	e.fail("run", quick("charge", 1), "a", errDown)
	config := Config{
		Client: e.Engine.Admin(), Store: "test", Write: true, UserHeader: "X-Forwarded-User",
		Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}
	c := newClient(t, serve(t, config))
	with := func(r *http.Request) *http.Request {
		r.Host = "retries.example.com"
		r.Header.Set("X-Forwarded-User", "grace")
		return r
	}
	c.want("no header", c.get("/runs"), http.StatusForbidden, "proxy")
	c.want("header", c.do(with(c.request(http.MethodGet, "/runs", nil))), http.StatusOK, "grace")
	form := url.Values{"action": {"pause"}, "by": {"somebody else"}, "why": {"a drill"}}
	c.want("change", c.do(with(c.request(http.MethodPost, "/run?id=run", form))), http.StatusSeeOther)
	for a, err := range e.Admin().Audit(t.Context(), storage.KindRun, "run", "") {
		if err != nil || a.By.Name != "grace" {
			t.Errorf("got %v, %v, want grace", a.By, err)
		}
	}
	config.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	other := newClient(t, serve(t, config))
	other.want("another peer", other.do(with(other.request(http.MethodGet, "/runs", nil))), http.StatusForbidden)
	config.Token = "0123456789abcdef"
	if _, err := New(config); err == nil {
		t.Error("a token and a proxy are accepted")
	}
}
