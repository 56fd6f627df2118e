package cli

import (
	"bytes"
	"flag"
	"os"
	"runtime"
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
		{"slow", 600 * time.Millisecond, clear + "greet: two…" + clear},
		{"very slow", 2 * time.Second, clear + "greet: one…" + clear + "greet: two…" + clear},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				p := startProgress("greet", &out)
				for _, step := range []string{"one", "two"} {
					p.Step(step)
					time.Sleep(test.duration)
					synctest.Wait()
				}
				p.End()
				time.Sleep(time.Minute)
				if got := out.String(); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestProgressClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := startProgress("greet", &out)
		p.Clear() // there is no line yet
		p.Step("one")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		p.Clear()
		out.WriteString("problem\n")
		p.Clear()
		p.Step("two")
		p.End()
		const clear = "\r\x1b[K"
		if got, want := out.String(), clear+"greet: one…"+clear+"problem\n"+clear+"greet: two…"+clear; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestProgressElsewhere(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress("greet", &out)
	p.Step("one")
	p.End()
	if out.Len() > 0 {
		t.Errorf("wrote %q to what is not a terminal", out.String())
	}
}

func TestColor(t *testing.T) {
	terminal, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as a terminal is
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	for _, tt := range []struct {
		when, noColor, term string
		terminal, other     bool
	}{
		{"", "", "xterm", true, false},
		{"auto", "", "xterm", true, false},
		{"auto", "1", "xterm", false, false},
		{"auto", "", "dumb", false, false},
		{"always", "1", "dumb", true, true},
		{"never", "", "xterm", false, false},
	} {
		t.Setenv("NO_COLOR", tt.noColor)
		t.Setenv("TERM", tt.term)
		flags := flag.NewFlagSet("greet", flag.ContinueOnError)
		color := ColorFlag(flags)
		if tt.when != "" {
			if err := flags.Parse([]string{"-color", tt.when}); err != nil {
				t.Fatal(err)
			}
		}
		if runtime.GOOS == "windows" {
			continue // a console is a device of its own kind there
		}
		if got := color.On(terminal); got != tt.terminal {
			t.Errorf("-color %q, NO_COLOR %q, TERM %q: color %t on a terminal", tt.when, tt.noColor, tt.term, got)
		}
		if got := color.On(new(bytes.Buffer)); got != tt.other {
			t.Errorf("-color %q, NO_COLOR %q, TERM %q: color %t in a buffer", tt.when, tt.noColor, tt.term, got)
		}
	}
	if err := new(Color).Set("blue"); err == nil {
		t.Error("-color blue is not an error")
	}
}
