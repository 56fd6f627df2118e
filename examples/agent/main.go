// Agent runs an LLM agent with a model that fails on purpose, and one whose step
// takes too long. The flow, its steps, and their calls of the model and of tools
// each have a policy in retry.yaml. The program prints every failed attempt.
//
//	go generate ./examples/agent && go run ./examples/agent
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

func main() {
	ctx := observe(context.Background(), os.Stdout)
	run(ctx, os.Stdout)
	dir, err := os.MkdirTemp("", "agent")
	if err == nil {
		fmt.Println("a step that runs out of time")
		err = errors.Join(runOutOfTime(ctx, os.Stdout, dir), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// observe returns a context whose calls print what is decided about them.
func observe(ctx context.Context, out io.Writer) context.Context {
	return retry.WithObserver(ctx, func(_ context.Context, e retry.Event) {
		next := "retrying in " + e.Wait.Round(time.Millisecond).String()
		switch e.Kind {
		case retry.EventStop:
			next = "stopping: " + string(e.Reason)
		case retry.EventCapture:
			if e.Err != nil {
				fmt.Fprintf(out, "  %s: not captured: %v\n", e.Policy, e.Err)
			}
			return
		}
		fmt.Fprintf(out, "  %s: attempt %d: %v (%s), %s\n", e.Policy, e.Attempt, e.Err, e.Class, next)
	})
}

// run executes agents whose model fails.
func run(ctx context.Context, out io.Writer) {
	for _, story := range []struct {
		name  string
		model *script
	}{
		{"a model that is overloaded",
			&script{"plan": {status(529), status(529), "search retry budgets"}, "write": {"note three sources"}}},
		{"a model with a rate limit",
			&script{"plan": {retry.After(status(429), 30*time.Millisecond), "search jitter"}, "write": {"note two sources"}}},
		{"a key that has expired", &script{"plan": {status(401)}}},
	} {
		fmt.Fprintln(out, story.name)
		agent := NewAgent(story.model, []Tool{&search{}, &note{}}, "plan", "write")
		result, err := agent.RetryRun(ctx, "why do retries melt servers?")
		switch {
		case errors.Is(err, retry.ErrEscalated):
			fmt.Fprintf(out, "  escalated, needs a person: %v\n", err)
		case err != nil:
			fmt.Fprintf(out, "  failed: %v\n", err)
		default:
			fmt.Fprintf(out, "  done: %s\n", result)
		}
	}
}

// script is a model with scripted results. It maps the first word of a prompt to
// answers and errors, which Complete returns in order.
type script map[string][]any

func (s script) Complete(_ context.Context, prompt string) (string, error) {
	word, _, _ := strings.Cut(prompt, ":")
	next := s[word][0]
	if len(s[word]) > 1 {
		s[word] = s[word][1:]
	}
	if err, ok := next.(error); ok {
		return "", err
	}
	return next.(string), nil
}

// status is an error with an HTTP status, as an HTTP API returns it.
type status int

func (s status) Error() string   { return fmt.Sprintf("status %d", int(s)) }
func (s status) StatusCode() int { return int(s) }

// search is a tool whose first call fails.
type search struct{ calls int }

func (*search) Name() string { return "search" }

func (s *search) Call(_ context.Context, args string) (string, error) {
	if s.calls++; s.calls == 1 {
		return "", errors.New("connection refused")
	}
	return "pages on " + args, nil
}

// note is a tool that writes once for each idempotency key.
type note struct{ written map[string]string }

func (*note) Name() string { return "note" }

func (n *note) Call(ctx context.Context, args string) (string, error) {
	key := retry.IdempotencyKey(ctx)
	if n.written == nil {
		n.written = map[string]string{}
	}
	if _, again := n.written[key]; !again {
		n.written[key] = args
		return "", errors.New("connection reset after the note was written")
	}
	return fmt.Sprintf("%d note with %s", len(n.written), n.written[key]), nil
}
