package results

import (
	"fmt"
	"io"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/storm"
)

// A Simulation is one system that is simulated, and what came of it.
type Simulation struct {
	Policy   string // whose default storm it is, or "" for a scenario
	Variant  string // the file of -compare or the value of -sweep, or ""
	System   *storm.System
	Result   *storm.Result
	Remedies [][]storm.Remedy // for each load
}

// name returns what the verdict about a load is about.
func (c *Simulation) name(load int) string {
	if c.Policy != "" {
		return c.Policy
	}
	return c.System.Loads[load].Name
}

// DefaultStorms returns the default storms of policies; of all policies of the file if no
// names are given.
func DefaultStorms(file *policy.File, variant string, names []string) (list []Simulation, err error) {
	if len(names) == 0 {
		for _, p := range file.Policies {
			names = append(names, p.Name)
		}
	}
	for _, name := range names {
		client, ok := storm.ClientOf(file, name)
		if !ok {
			return nil, UnknownPolicy(name, "no policy", file)
		}
		for _, system := range storm.Default(client) {
			list = append(list, Simulation{Policy: name, Variant: variant, System: system})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no policies", file.Name)
	}
	return list, nil
}

// Simulate simulates the system, and tries what may help the loads that do not recover.
func (c *Simulation) Simulate(o storm.Options) (err error) {
	if c.Result, err = storm.Simulate(c.System, o); err != nil {
		return err
	}
	c.Remedies = make([][]storm.Remedy, len(c.Result.Verdicts))
	for i := range c.Result.Verdicts {
		if c.Result.Verdicts[i].Recovered() == len(c.Result.Runs) || c.Variant != "" {
			continue
		}
		c.Remedies[i] = storm.Remedies(c.System, i, 3, o)
	}
	return nil
}

// Meets reports whether all verdicts meet the requirements. It prints the value of each, so
// that a run in CI also shows how far a limit is.
func (r *Storms) Meets(required []storm.Requirement, w io.Writer) bool {
	ok := true
	for _, x := range r.rows() {
		title := x.c.name(x.load)
		if x.c.Policy != "" {
			title += ", storm " + x.c.System.Name
		}
		if x.c.Variant != "" {
			title += ", " + x.c.Variant
		}
		for i := range required {
			value, met := required[i].Met(&x.c.Result.Verdicts[x.load])
			if met {
				fmt.Fprintf(w, "retrygen: %s: %s: it is %s\n", title, &required[i], value)
				continue
			}
			ok = false
			fmt.Fprintf(w, "retrygen: %s: %s is required, and it is %s\n", title, &required[i], value)
		}
	}
	return ok
}
