package playground

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/internal/results"
	"github.com/retrygen/retrygen/storm"
)

type textAnswer struct {
	Text string `json:"text"`
}

// explain returns what the command explain prints about a policy, without the line about the
// default storm: that takes too long to be repeated while somebody types.
func explain(r *request) (any, error) {
	file, p, err := r.policy()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	results.Explain(&b, file, p, 0)
	return textAnswer{b.String()}, nil
}

type pictureAnswer struct {
	SVG string `json:"svg"`
}

// picture draws the schedule of a policy.
func picture(r *request) (any, error) {
	_, p, err := r.policy()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	err = p.Picture(&b)
	return pictureAnswer{b.String()}, err
}

// A stormAnswer has what the command simulate prints.
type stormAnswer struct {
	Verdicts []results.Verdict `json:"verdicts"`
	Text     string            `json:"text"`
	SVG      string            `json:"svg"`
}

// The limits of a simulation, as the command has them for its own.
const (
	maxSeeds = 20
	maxBytes = 1 << 30
)

// maxEvents are the events of one run. A test sets it.
var maxEvents = 30_000_000

// simulations are the simulations at a time. One that the page no longer waits for goes on.
var simulations = make(chan struct{}, 2)

// simulate simulates default storms of a policy. With one run, the default, it takes a fifth
// of the time of the command.
func simulate(r *request) (any, error) {
	if r.Seeds < 0 || r.Seeds > maxSeeds {
		return nil, fmt.Errorf("seeds is a number from 1 to %d", maxSeeds)
	}
	file, p, err := r.policy()
	if err != nil {
		return nil, err
	}
	list, err := results.DefaultStorms(file, "", []string{p.Name})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(s results.Simulation) bool { return r.Storm != "" && s.System.Name != r.Storm })
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no default storm %q", r.Storm)
	}
	simulations <- struct{}{}
	defer func() { <-simulations }()
	o := storm.Options{Seeds: cmp.Or(r.Seeds, 1), Parallel: 1, MaxEvents: maxEvents}
	for i := range list {
		if list[i].System.Cost(o).Bytes > maxBytes {
			return nil, errors.New("the simulation needs too much memory for a playground: run retrygen simulate")
		}
		if err := list[i].Simulate(o); err != nil {
			return nil, fmt.Errorf("the simulation takes too long for a playground: run retrygen simulate: %w", err)
		}
	}
	shown := results.Storms{Source: file.Name, List: list}
	var text, svg strings.Builder
	shown.Print(&text)
	if err := shown.Page().SVG(&svg); err != nil {
		return nil, err
	}
	return stormAnswer{shown.Verdicts(), text.String(), svg.String()}, nil
}

type kind struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

type kindsAnswer struct {
	Kinds []kind `json:"kinds"`
}

// kinds returns the kinds to which policy files are exported.
func kinds(*request) (any, error) {
	answer := kindsAnswer{[]kind{}}
	for _, k := range foreign.Kinds() {
		if k.Exports() {
			answer.Kinds = append(answer.Kinds, kind{k.Name, k.Title})
		}
	}
	return answer, nil
}

// A convertAnswer is the text in the language of another system.
type convertAnswer struct {
	Name   string         `json:"name"` // of the file
	Text   string         `json:"text"`
	Losses []results.Loss `json:"losses"` // settings without counterpart
}

// convert does what the command import does for a file of another system, and what the
// command export does for a policy file.
func convert(r *request) (any, error) {
	f, _ := r.foreign()
	if f != nil {
		if len(f.Policies) == 0 {
			return nil, errors.New("the file has no policy that retries: there is nothing to convert")
		}
		return convertAnswer{"retry.yaml", string(foreign.PolicyFile(f)), results.Losses(f.Losses)}, nil
	}
	to := foreign.ByName(r.Kind)
	if to == nil || !to.Exports() {
		return nil, fmt.Errorf("%q is not a kind of document that is written", r.Kind)
	}
	text, losses, problems := foreign.Export(to, r.Name, []byte(r.Text))
	if len(problems) > 0 {
		return nil, errors.New(problems[0].String())
	}
	return convertAnswer{to.Name, string(text), results.Losses(losses)}, nil
}
