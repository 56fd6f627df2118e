package main

import (
	"context"
	"fmt"
	"strings"
)

//go:generate go run github.com/retrygen/retrygen/cmd/retrygen .

// A Model answers prompts.
type Model interface {
	Complete(ctx context.Context, prompt string) (string, error)
}

// A Tool performs actions that a model requests.
type Tool interface {
	Name() string
	Call(ctx context.Context, args string) (string, error)
}

// An Agent works on a goal in steps. In each step the model chooses a tool, and the
// agent calls it.
type Agent struct {
	Model Model
	Tools map[string]Tool
	Steps []string

	Session *Session // keeps what a later run needs to continue; nil keeps nothing
}

// NewAgent returns an agent that retries calls of its model and its tools.
func NewAgent(model Model, tools []Tool, steps ...string) *Agent {
	a := &Agent{Model: NewRetryModel(model, nil), Tools: map[string]Tool{}, Steps: steps}
	for _, tool := range tools {
		a.Tools[tool.Name()] = NewRetryTool(tool)
	}
	return a
}

// Run executes all steps and returns the result of the last one. It continues
// after those whose results the session has.
func (a *Agent) Run(ctx context.Context, goal string) (string, error) {
	steps, result, err := a.Session.Resume(a.Steps, goal)
	if err != nil {
		return "", err
	}
	for _, step := range steps {
		if result, err = a.retryStep(a.Session.Begin(ctx, step), step, result); err != nil {
			return "", fmt.Errorf("%s: %w", step, err)
		}
		if err := a.Session.Done(step, result); err != nil {
			return "", err
		}
	}
	return result, nil
}

// step asks the model which tool to call for the input, and calls it.
func (a *Agent) step(ctx context.Context, name, input string) (string, error) {
	answer, err := a.Model.Complete(ctx, name+": "+input)
	if err != nil {
		return "", err
	}
	a.Session.Log(name, answer)
	tool, args, _ := strings.Cut(answer, " ")
	use, ok := a.Tools[tool]
	if !ok {
		return "", fmt.Errorf("the model asks for the tool %q", tool)
	}
	return use.Call(ctx, args)
}
