package prodigy

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestRead compares what is read from each checkpoint in testdata with the file
// next to it.
func TestRead(t *testing.T) {
	for _, file := range glob(t, "testdata/*.json") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			golden(t, file, dump(t, open(t, file)))
		})
	}
}

// TestRefused reads the files in testdata/err, each of which is wrong in one
// way.
func TestRefused(t *testing.T) {
	for _, file := range glob(t, "testdata/err/*.json") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Read(bytes.NewReader(text), "checkpoint.json")
			refused, ok := errors.AsType[*Error](err)
			if c != nil || !ok {
				t.Fatalf("Read = %v, %v; want an *Error", c, err)
			}
			if refused.Line < 1 || refused.Column < 1 || len(err.Error()) > 250 {
				t.Errorf("%q at %d:%d has %d bytes", err, refused.Line, refused.Column, len(err.Error()))
			}
			golden(t, file, []byte(err.Error()+"\n"))
		})
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	return files
}

func open(t *testing.T, file string) *Checkpoint {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read(bytes.NewReader(text), filepath.Base(file))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// golden compares what was read from a file with the .out file next to it.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	out := strings.TrimSuffix(file, ".json") + ".out"
	if *update {
		if err := os.WriteFile(out, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// dump returns all of a checkpoint, with what its methods return.
func dump(t *testing.T, c *Checkpoint) []byte {
	t.Helper()
	type command struct {
		Command
		Exhausted bool
		Policy    *policy `json:",omitempty"`
		NoPolicy  string  `json:",omitempty"`
		Breaker   any     `json:",omitempty"`
		Snapshot  any     `json:",omitempty"`
	}
	var all struct {
		Workflow, Name string
		Taken          time.Time
		Commands       []command
		Notes          []string
	}
	all.Workflow, all.Name, all.Taken = c.Workflow, c.Name, c.Taken
	for i := range c.Commands {
		item := command{Command: c.Commands[i], Exhausted: c.Commands[i].Exhausted()}
		if p, err := c.Policy(item.ID); err != nil {
			item.NoPolicy = err.Error()
		} else {
			item.Policy = show(p)
		}
		if b, snapshot, ok := c.Breaker(item.ID); ok {
			item.Breaker, item.Snapshot = b, snapshot
		}
		all.Commands = append(all.Commands, item)
	}
	for _, n := range c.Notes {
		all.Notes = append(all.Notes, n.String())
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// A policy is a retry.Policy for people.
type policy struct {
	MaxAttempts int
	Backoff     string
	Jitter      string
	Waits       []string // least to greatest, for 5 retries
	DelayBudget string   `json:",omitempty"`
	RetryOn     []string `json:",omitempty"`
}

func show(p *retry.Policy) *policy {
	out := &policy{MaxAttempts: p.MaxAttempts, Backoff: p.Backoff.String(), Jitter: p.Jitter.String()}
	for k := 1; k <= 5; k++ {
		least, base, greatest := p.Bounds(k, 0)
		wait := base.String()
		if least != greatest {
			wait = least.String() + " to " + greatest.String()
		}
		out.Waits = append(out.Waits, wait)
	}
	if p.DelayBudget > 0 {
		out.DelayBudget = p.DelayBudget.String()
	}
	for _, class := range p.RetryOn {
		text := string(class)
		for _, c := range p.Classes {
			if c.Class == class {
				text += ": " + c.Pattern.String()
			}
		}
		out.RetryOn = append(out.RetryOn, text)
	}
	return out
}

func TestReadTooLong(t *testing.T) {
	_, err := Read(endless{}, "checkpoint.json")
	if _, ok := errors.AsType[*Error](err); !ok {
		t.Errorf("Read of an endless file = %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestReadFails(t *testing.T) {
	cause := errors.New("input/output error")
	_, err := Read(failing{cause}, "checkpoint.json")
	if !errors.Is(err, cause) {
		t.Errorf("Read = %v, want %v", err, cause)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestMaximum: a count that no int32 holds is exhausted.
func TestMaximum(t *testing.T) {
	const text = `{"command_retry_states": {"a": {"attempt_count": 4294967295, "max_attempts": 4294967295}}}`
	c, err := Read(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	if a := c.Command("a"); a.Attempts != math.MaxInt32 || !a.Exhausted() {
		t.Errorf("%+v, exhausted %v", a, a.Exhausted())
	}
	if c.Command("b") != nil {
		t.Errorf("there is a command b")
	}
}

// FuzzRead: no input makes Read panic. What it accepts has policies and breakers
// that the runtime accepts, and merges with itself without a change.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"testdata/*.json", "testdata/err/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read(bytes.NewReader(text), "checkpoint.json")
		if err != nil {
			if refused, ok := errors.AsType[*Error](err); !ok || refused.Line < 1 || !utf8.ValidString(refused.Text) {
				t.Errorf("%#v", err)
			}
			return
		}
		for _, cmd := range c.Commands {
			if cmd.Attempts < 0 || cmd.MaxAttempts < 0 || cmd.Delay < 0 || cmd.Waited < 0 {
				t.Errorf("%+v", cmd)
			}
			if p, err := c.Policy(cmd.ID); err == nil {
				for k := 1; k < 4; k++ {
					if least, _, greatest := p.Bounds(k, 0); least < 0 || least > greatest {
						t.Errorf("wait %d: %v to %v", k, least, greatest)
					}
				}
			}
			if b, snapshot, ok := c.Breaker(cmd.ID); ok {
				breaker.New(b).Restore(snapshot)
			}
		}
		merged, err := Merge(c, c)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := dump(t, merged), dump(t, c); !bytes.Equal(got, want) && len(c.Notes) == 0 {
			t.Errorf("merged with itself:\n%s\nwant\n%s", got, want)
		}
	})
}
