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

// A Tool does what a model asks for.
type Tool interface {
	Name() string
	Call(ctx context.Context, args string) (string, error)
}

// An Agent reaches a goal in steps: the model says what to do, a tool does it.
type Agent struct {
	Model Model
	Tools map[string]Tool
	Steps []string
}

// NewAgent returns an agent whose model and tools are tried again.
func NewAgent(model Model, tools []Tool, steps ...string) *Agent {
	a := &Agent{Model: NewRetryModel(model, nil), Tools: map[string]Tool{}, Steps: steps}
	for _, tool := range tools {
		a.Tools[tool.Name()] = NewRetryTool(tool)
	}
	return a
}

// Run takes all steps, and returns what the last one came to.
func (a *Agent) Run(ctx context.Context, goal string) (string, error) {
	result := goal
	for _, step := range a.Steps {
		var err error
		if result, err = a.retryStep(ctx, step, result); err != nil {
			return "", fmt.Errorf("%s: %w", step, err)
		}
	}
	return result, nil
}

// step asks the model what to do with what there is, and does it.
func (a *Agent) step(ctx context.Context, name, input string) (string, error) {
	answer, err := a.Model.Complete(ctx, name+": "+input)
	if err != nil {
		return "", err
	}
	tool, args, _ := strings.Cut(answer, " ")
	use, ok := a.Tools[tool]
	if !ok {
		return "", fmt.Errorf("the model asks for the tool %q", tool)
	}
	return use.Call(ctx, args)
}
