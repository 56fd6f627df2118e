package console

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// policiesData is what the list of policies shows.
type policiesData struct {
	Policies []policyRow
	Counts   *counts
	HasFiles bool
}

// A policyRow is a policy of a file, or one under which steps were executed.
type policyRow struct {
	Name   string
	File   string         // "": it is in no file
	Policy *policy.Policy // nil: it is in no file
	Counts *policyCounts  // nil: no step was executed under it
}

// policies lists the policies of the files and of the steps.
func (s *Server) policies(ctx context.Context, _ *http.Request) (*page, error) {
	d := &policiesData{Counts: s.counter.await(ctx), HasFiles: len(s.Policies) > 0}
	recorded := map[string]*policyCounts{}
	if d.Counts != nil {
		recorded = maps.Clone(d.Counts.Policies)
	}
	for _, f := range s.Policies {
		for i := range f.Policies {
			p := &f.Policies[i]
			d.Policies = append(d.Policies, policyRow{Name: p.Name, File: f.Name, Policy: p, Counts: recorded[p.Name]})
		}
	}
	inFile := func(name string) bool {
		return slices.ContainsFunc(d.Policies, func(row policyRow) bool { return row.File != "" && row.Name == name })
	}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if !inFile(name) {
			d.Policies = append(d.Policies, policyRow{Name: name, Counts: recorded[name]})
		}
	}
	return &page{Name: "policies", Title: "Policies", Data: d, Live: true}, nil
}

// policyData is what the page of a policy shows.
type policyData struct {
	policyRow
	Waits   []wait
	Text    string // what retrygen explain prints
	Picture string // its URL
	Storm   string // the URL of the picture of a storm, or "": the policy has no retries
}

// A wait is a row of a schedule.
type wait struct {
	Attempt                    int
	Least, Base, Greatest, Sum time.Duration
	Cut                        string // the limit for which the attempt is not made, or ""
}

// policy shows the schedule of a policy, with the limits that cut it.
func (s *Server) policy(ctx context.Context, r *http.Request) (*page, error) {
	form := r.URL.Query()
	f, p := s.findPolicy(form.Get("file"), form.Get("name"))
	if p == nil {
		return nil, &problem{http.StatusNotFound, "There is no such policy", "The page of policies lists all."}
	}
	d := &policyData{
		policyRow: policyRow{Name: p.Name, File: form.Get("file"), Policy: p}, Waits: waits(p),
		Picture: link("/picture", "file", form.Get("file"), "name", p.Name),
	}
	if p.MaxAttempts != 1 {
		d.Storm = link("/storm", "file", form.Get("file"), "name", p.Name)
	}
	var b bytes.Buffer
	p.Explain(&b, d.File)
	f.ExplainSteps(&b, p)
	f.ExplainCapacity(&b, d.File, p)
	d.Text = b.String()
	if n := s.counter.await(ctx); n != nil {
		d.Counts = n.Policies[p.Name]
	}
	return &page{Name: "policy", Title: "Policy " + p.Name, Data: d}, nil
}

// findPolicy returns a policy and its file, or nil.
func (s *Server) findPolicy(file, name string) (*policy.File, *policy.Policy) {
	for _, f := range s.Policies {
		if f.Name != file {
			continue
		}
		for i := range f.Policies {
			if f.Policies[i].Name == name {
				return f, &f.Policies[i]
			}
		}
	}
	return nil, nil
}

// maxWaits is how many attempts of a schedule are shown.
const maxWaits = 20

// waits returns the schedule of a policy without jitter, up to the attempt that a
// limit prevents.
func waits(p *policy.Policy) (list []wait) {
	var sum time.Duration
	for k := 1; k <= maxWaits && (p.MaxAttempts == retry.Unlimited || k < p.MaxAttempts); k++ {
		least, base, greatest := p.Bounds(k, 0)
		if sum += base; sum < 0 {
			break
		}
		w := wait{Attempt: k + 1, Least: least, Base: base, Greatest: greatest, Sum: sum}
		switch {
		case p.DelayBudget > 0 && sum > p.DelayBudget:
			w.Cut = "delay_budget " + duration.Format(p.DelayBudget)
		case p.MaxElapsed > 0 && sum > p.MaxElapsed:
			w.Cut = "max_elapsed " + duration.Format(p.MaxElapsed)
		case p.Timeout > 0 && sum >= p.Timeout:
			w.Cut = "timeout " + duration.Format(p.Timeout)
		}
		if list = append(list, w); w.Cut != "" {
			break
		}
	}
	return list
}
