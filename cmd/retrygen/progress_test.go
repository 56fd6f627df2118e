package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	const clear = "\r\x1b[K"
	for _, test := range []struct {
		name     string
		duration time.Duration // of each of two steps
		want     string
	}{
		{"quick", 400 * time.Millisecond, ""},
		{"slow", 600 * time.Millisecond, clear + "retrygen: two…" + clear},
		{"very slow", 2 * time.Second, clear + "retrygen: one…" + clear + "retrygen: two…" + clear},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				p := startProgress(&out)
				for _, step := range []string{"one", "two"} {
					p.step(step)
					time.Sleep(test.duration)
					synctest.Wait()
				}
				p.end()
				time.Sleep(time.Minute)
				if got := out.String(); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestProgressElsewhere(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	p.step("one")
	p.end()
	if out.Len() > 0 {
		t.Errorf("wrote %q to what is no terminal", out.String())
	}
}
