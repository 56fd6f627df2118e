package httpretry

import (
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/internal/vectors"
	retry "github.com/retrygen/retrygen/runtime"
)

var hintNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) // 1767323045

func TestParseRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"0": 0, "120": 2 * time.Minute,
		"Fri, 02 Jan 2026 03:05:05 GMT":  time.Minute,
		"Friday, 02-Jan-26 03:05:05 GMT": time.Minute,
		"Fri Jan  2 03:05:05 2026":       time.Minute,
		"Fri, 02 Jan 2026 03:03:05 GMT":  0, // past
		"99999999999999999999":           math.MaxInt64,
		"9223372036854775807":            math.MaxInt64,
		"9223372036":                     9223372036 * time.Second,
		"9223372037":                     math.MaxInt64,
		"99999999999999999999 s":         -1,
		"":                               -1,
		"-1":                             -1,
		"1.5":                            -1,
		"+5":                             -1,
		"soon":                           -1,
	} {
		if got := ParseRetryAfter(value, hintNow); got != want {
			t.Errorf("ParseRetryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}

func TestHint(t *testing.T) {
	type header map[string]string
	for _, tt := range []struct {
		status int
		header header
		wait   time.Duration
		asked  bool
	}{
		{429, header{}, 0, false},
		{503, header{"Retry-After": "7"}, 7 * time.Second, true},
		{503, header{"Retry-After": "soon", "X-RateLimit-Reset": "9"}, -1, true},

		// In milliseconds.
		{503, header{"retry-after-ms": "1500", "Retry-After": "2"}, 1500 * time.Millisecond, true},
		{503, header{"x-ms-retry-after-ms": "20"}, 20 * time.Millisecond, true},
		{400, header{"X-Amz-Retry-After": "0.5"}, 500 * time.Microsecond, true},
		{429, header{"Retry-After-Ms": "1e300"}, math.MaxInt64, true},
		{429, header{"Retry-After-Ms": "-1", "Retry-After": "7"}, -1, true},
		{429, header{"Retry-After-Ms": "NaN"}, -1, true},
		{429, header{"Retry-After-Ms": "soon"}, -1, true},

		// The current draft.
		{429, header{"RateLimit": `"default";r=0;t=30`}, 30 * time.Second, true},
		{503, header{"RateLimit": `"default";r=0;t=30`}, 30 * time.Second, true},
		{429, header{"RateLimit": `"default";r=50;t=30`}, 0, false},
		{429, header{"RateLimit": `"burst";r=0;t=5, "day";r=0;t=3600`}, time.Hour, true},
		{429, header{"RateLimit": `"burst";r=0;t=5, "day";r=9;t=3600`}, 5 * time.Second, true},
		{429, header{"RateLimit": `"a,b;r=1;\"";r=0;t=8;pk=:Y2xpZW50:`}, 8 * time.Second, true},
		{429, header{"RateLimit": `"day";r=0`, "RateLimit-Policy": `"burst";q=10;w=1, "day";q=100;w=60`}, time.Minute, true},
		{429, header{"RateLimit": `"day";r=0`}, 0, false},
		{429, header{"RateLimit": `"day";r=0;t=-5`}, 0, false},
		{429, header{"RateLimit": `"day";r=0;t=99999999999999999999`}, math.MaxInt64, true},
		{429, header{"RateLimit": `default ; r=0 ; t=30`}, 30 * time.Second, true},
		{429, header{"RateLimit": `";;==,,`}, 0, false},
		{429, header{"RateLimit": `default;R=0;T="30"`}, 30 * time.Second, true},
		{429, header{"RateLimit": `default;r=0;t=0`}, 0, true},
		{429, header{"RateLimit": `default;r=-1;t=30`}, 30 * time.Second, true},
		{429, header{"RateLimit": `default;r=0.5;t=30`}, 0, false},
		{429, header{"RateLimit": `default;t=30`}, 30 * time.Second, true},
		{503, header{"RateLimit": `default;t=30`}, 0, false},
		{429, header{"RateLimit": `"day";r=0;t=30,"burst";r=0;t=5`}, 30 * time.Second, true},
		{429, header{"RateLimit": `"a\\";r=0;t=8, "b";r=0;t=9`}, 9 * time.Second, true},
		{429, header{"RateLimit": `"a=b";r=0`, "RateLimit-Policy": `"a=b";w=7`}, 7 * time.Second, true},
		{429, header{"RateLimit": `"day";r=0`, "RateLimit-Policy": `"other";w=60`}, 0, false},
		{429, header{"RateLimit": `"day";r=0;t=5`, "RateLimit-Policy": `"day";w=60`}, 5 * time.Second, true},
		{429, header{"RateLimit": `"day";r=0,"day";t=4`}, 4 * time.Second, true},
		{429, header{"RateLimit": `"day";r=1;t=5`, "X-RateLimit-Reset": "9"}, 9 * time.Second, true},

		// Older drafts.
		{429, header{"RateLimit": "limit=100, remaining=0, reset=5"}, 5 * time.Second, true},
		{429, header{"RateLimit": "limit=100, remaining=1, reset=5"}, 0, false},
		{429, header{"RateLimit-Limit": "10", "RateLimit-Remaining": "0", "RateLimit-Reset": "6"}, 6 * time.Second, true},
		{429, header{"RateLimit-Reset": "6"}, 6 * time.Second, true},
		{429, header{"RateLimit": "limit=100, remaining=0, reset=5;w=60"}, 5 * time.Second, true},
		{429, header{"RateLimit": "limit=100, remaining=0"}, 0, false},
		{429, header{"RateLimit-Reset": " ", "X-RateLimit-Reset": "7"}, 7 * time.Second, true},
		{429, header{"RateLimit-Remaining": "1", "RateLimit-Reset": "6", "X-RateLimit-Reset": "7"}, 7 * time.Second, true},
		{403, header{"RateLimit-Remaining": " 0 ", "RateLimit-Reset": " 6 "}, 6 * time.Second, true},

		// Without a standard.
		{429, header{"X-RateLimit-Reset": "6"}, 6 * time.Second, true},
		{429, header{"X-RateLimit-Reset": "0.25"}, 250 * time.Millisecond, true},
		{403, header{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767323105"}, time.Minute, true},
		{429, header{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767323105.5"}, 61 * time.Second, true},
		{429, header{"X-RateLimit-Reset": "1767323105000"}, time.Minute, true},
		{429, header{"X-RateLimit-Reset": "1767323000"}, 0, true},
		{429, header{"X-RateLimit-Reset": "Fri, 02 Jan 2026 03:05:05 GMT"}, time.Minute, true},
		{429, header{"X-RateLimit-Reset": "1e300"}, math.MaxInt64, true},
		{429, header{"X-RateLimit-Reset": "999999999"}, 999999999 * time.Second, true},
		{429, header{"X-RateLimit-Reset": "1000000000"}, 0, true},
		{429, header{"X-RateLimit-Reset": "999999999999"}, math.MaxInt64, true}, // seconds, in the year 33658
		{429, header{"X-RateLimit-Reset": "1000000000000"}, 0, true},
		{429, header{"X-RateLimit-Reset": "NaN"}, -1, true},
		{429, header{"X-RateLimit-Reset": "-3"}, -1, true},
		{429, header{"X-RateLimit-Reset": "later"}, -1, true},
		{502, header{"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1767326645"}, 0, false},
		{502, header{"X-RateLimit-Reset": "1767326645"}, 0, false},
		{429, header{"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1767326645"}, 0, false},
	} {
		resp := &http.Response{StatusCode: tt.status, Header: http.Header{}}
		for name, value := range tt.header {
			resp.Header.Set(name, value)
		}
		if wait, asked := Hint(resp, hintNow); wait != tt.wait || asked != tt.asked {
			t.Errorf("status %d, %v: got %v, %v; want %v, %v", tt.status, tt.header, wait, asked, tt.wait, tt.asked)
		}
	}
}

func TestFacts(t *testing.T) {
	plain := &http.Response{StatusCode: 503, Header: http.Header{"Content-Type": {"text/plain"}}}
	if n := testing.AllocsPerRun(100, func() { Facts(plain) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if f := Facts(nil); f != (retry.Facts{}) {
		t.Errorf("no response: %+v", f)
	}
	resp := &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"7"}}}
	if f := Facts(resp); f != (retry.Facts{Status: 429, RetryAfter: 7 * time.Second}) {
		t.Errorf("got %+v", f)
	}
}

// TestVectors walks the vectors about Retry-After.
func TestVectors(t *testing.T) {
	vectors.Walk(t, "runtime/httpretry", map[string]any{"retry_after_seconds": func(t *testing.T, value string, want any) {
		seconds, ok := want.(float64)
		if !ok { // the source fails; what was decided is a number, or 0 for a date in the past
			seconds, _ = want.(map[string]any)["recommended"].(float64)
		}
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(hintNow)) // the dates are past
			start := time.Now()
			transport := &Transport{
				Base:   &network{answers: []any{after(429, value), 200}},
				Policy: &retry.Policy{RetryUnknown: true, Schedule: retry.Schedule{InitialDelay: retry.None}},
			}
			req, err := http.NewRequestWithContext(t.Context(), "GET", "http://example.com", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if got := time.Since(start).Seconds(); got != seconds {
				t.Errorf("Retry-After: %s waits %vs, want %vs", value, got, seconds)
			}
		})
	}})
}

// FuzzHint: no header panics, and no wait is shorter than -1.
func FuzzHint(f *testing.F) {
	f.Add(`"default";r=0;t=30`, `"default";q=1;w=60`, "1767323105")
	f.Fuzz(func(t *testing.T, limit, policy, reset string) {
		for _, after := range []string{"", reset} {
			h := http.Header{
				"Ratelimit": {limit}, "Ratelimit-Policy": {policy}, "X-Ratelimit-Reset": {reset}, "Retry-After": {after},
			}
			if wait, asked := Hint(&http.Response{StatusCode: 429, Header: h}, hintNow); wait < -1 || wait != 0 && !asked {
				t.Errorf("got %v, %v", wait, asked)
			}
		}
	})
}
