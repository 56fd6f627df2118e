package results

import (
	"strings"

	"github.com/retrygen/retrygen/storm"
	"github.com/retrygen/retrygen/storm/chart"
)

// Page returns the document with the charts.
func (r *Storms) Page() *chart.Page {
	p := &chart.Page{Title: "Storms of " + r.Source}
	for i := range r.List {
		c := &r.List[i]
		title, group := c.System.Name, ""
		if c.Policy != "" {
			title, group = c.Policy+", storm "+c.System.Name, c.Policy
		}
		if c.Variant != "" {
			title += ", " + c.Variant
		}
		section := chart.Section{Title: title, Group: group, Good: true, System: c.System.Describe(), Result: c.Result}
		section.System = append(section.System, c.System.Assumed()...)
		for load := range c.Result.Verdicts {
			v := &c.Result.Verdicts[load]
			section.Good = section.Good && v.Recovered() == len(v.Outcomes)
			text := v.Text()
			why := c.Result.Reason(load)
			if len(c.Result.Verdicts) > 1 {
				text, why = v.Load+" "+text, v.Load+": "+why
			}
			if load > 0 {
				section.Verdict += ", "
			}
			section.Verdict += text
			section.Why = append(section.Why, strings.ToUpper(why[:1])+why[1:]+".")
			if helps := c.helps(load); helps != "" && !r.Compares {
				section.Why = append(section.Why, helps+".")
			}
		}
		p.Sections = append(p.Sections, section)
	}
	return p
}

// A Verdict is the verdict about a load, in JSON.
type Verdict struct {
	Policy        string             `json:"policy"`
	Storm         string             `json:"storm"` // capacity or errors, or the file of the scenario
	Load          string             `json:"load"`
	Variant       string             `json:"variant,omitempty"`
	Result        string             `json:"result"`
	Runs          int                `json:"runs"`
	Recovered     int                `json:"recovered_runs"`
	Recovery      *float64           `json:"recovery_seconds"` // of the worst run; null if it never recovers
	Amplification float64            `json:"amplification"`
	Amplified     string             `json:"amplified_service,omitempty"`
	Multiplier    *Multiplier        `json:"multiplier,omitempty"`
	FailedShare   float64            `json:"failed_share"`
	Lost          float64            `json:"lost_seconds"`
	P99           float64            `json:"p99_seconds"`
	Reasons       map[string]float64 `json:"reasons"` // why calls failed, as shares
	Why           string             `json:"why"`
	Helps         []string           `json:"helps,omitempty"`
	System        []string           `json:"system"`
	Assumed       []string           `json:"assumed,omitempty"`

	Services []storm.ServiceSeries `json:"services"`
	Routes   []storm.RouteSeries   `json:"routes"`
}

// A Multiplier is the route that makes the most attempts for each call.
type Multiplier struct {
	From     string  `json:"from"`
	To       string  `json:"to"`
	Attempts float64 `json:"attempts_per_call"`
}

// Verdicts returns the verdicts in their form in JSON. The list is not nil.
func (r *Storms) Verdicts() []Verdict {
	list := []Verdict{}
	for _, x := range r.rows() {
		v := &x.c.Result.Verdicts[x.load]
		worst := v.Worst()
		j := Verdict{
			Policy: v.Policy, Storm: x.c.System.Name, Load: v.Load, Variant: x.c.Variant, Result: v.Text(),
			Runs: len(x.c.Result.Runs), Recovered: v.Recovered(), Amplification: v.Amplification(), Amplified: worst.Amplified,
			FailedShare: v.FailedShare(), Lost: worst.Lost, P99: worst.P99, Reasons: x.c.Result.Reasons(x.load),
			Why: x.c.Result.Reason(x.load), System: x.c.System.Describe(), Assumed: x.c.System.Assumed(),
		}
		if worst.Recovered {
			seconds := worst.After.Seconds()
			j.Recovery = &seconds
		}
		if m := worst.Multiplier; m.Attempts > 0 {
			j.Multiplier = &Multiplier{m.From, m.To, m.Attempts}
		}
		for i := range x.c.Remedies[x.load] {
			j.Helps = append(j.Helps, x.c.Remedies[x.load][i].String())
		}
		j.Services, j.Routes = x.c.Result.Series()
		list = append(list, j)
	}
	return list
}
