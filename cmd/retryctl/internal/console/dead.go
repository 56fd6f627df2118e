package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// noClass is the class of a filter for errors without one, as in logs and metrics.
const noClass = "none"

// A deadFilter selects dead letters.
type deadFilter struct {
	Class, Eligibility, Name, Run string
	Text                          string // that the error contains
}

func deadFilterOf(form url.Values) deadFilter {
	return deadFilter{
		Class: form.Get("class"), Eligibility: form.Get("eligibility"), Name: form.Get("name"), Run: form.Get("run"),
		Text: form.Get("text"),
	}
}

// URL returns the URL of the list with the filter, after a cursor.
func (f deadFilter) URL(after string) string {
	return link("/dead", "class", f.Class, "eligibility", f.Eligibility, "name", f.Name, "run", f.Run, "text", f.Text,
		"after", after)
}

// selects reports whether the filter selects a dead letter of its run.
func (f deadFilter) selects(s *admin.StepInfo) bool {
	return (f.Class == "" || cmp.Or(s.Class, noClass) == retry.Class(f.Class)) &&
		(f.Eligibility == "" || s.Eligibility == admin.Eligibility(f.Eligibility)) &&
		(f.Name == "" || s.Name == f.Name) &&
		(f.Text == "" || strings.Contains(strings.ToLower(s.Error), strings.ToLower(f.Text)))
}

// query returns the filter of the client for the dead letters after a step: what an
// index finds. The rest is for selects, or the client would read on for a page that few
// dead letters pass.
func (f deadFilter) query(run, step string) admin.Filter {
	q := admin.Filter{
		Run: f.Run, DeadLetter: true, Status: []storage.Status{storage.StatusDead}, AfterRun: run, AfterStep: step,
	}
	switch f.Class {
	case "":
	case noClass:
		q.Class = []retry.Class{""}
	default:
		q.Class = []retry.Class{retry.Class(f.Class)}
	}
	return q
}

// deadData is what the list of dead letters shows.
type deadData struct {
	Filter   deadFilter
	Letters  []admin.StepInfo
	Causes   []causeCount
	Examined int
	Partial  bool // the time for the search was over
	First    string
	Next     string
	Tasks    []*task
	Advice   []string // the eligibilities
}

// Total returns how many dead letters the filter selects, as far as the console has
// counted that, or 0.
func (d *deadData) Total() (n int) {
	f := d.Filter
	if f.Name != "" || f.Run != "" || f.Text != "" {
		return 0
	}
	for _, c := range d.Causes {
		if f.selects(&admin.StepInfo{Class: c.Class, Eligibility: c.Eligibility}) {
			n += c.Count
		}
	}
	return n
}

// searchSteps is how many dead letters are read at a time.
const searchSteps = 100

// search adds dead letters after a step to those of the page, and sets the step to the
// last one that was examined. It reports whether there are more.
func (s *Server) search(ctx context.Context, d *deadData, run, step *string) (more bool, err error) {
	f := d.Filter.query(*run, *step)
	f.Limit = searchSteps + 1
	n := 0
	for letter, err := range s.Client.Steps(ctx, f) {
		if err != nil {
			return false, err
		}
		if n == searchSteps || len(d.Letters) == pageSize {
			return true, nil
		}
		n++
		d.Examined++
		*run, *step = letter.Run, letter.Step
		if d.Filter.selects(&letter) {
			d.Letters = append(d.Letters, letter)
		}
	}
	return false, nil
}

var advice = []string{
	string(admin.EligibleReprocess), string(admin.EligibleReview), string(admin.EligibleUnknown),
}

// dead lists dead letters by run and step.
func (s *Server) dead(ctx context.Context, r *http.Request) (*page, error) {
	form := r.URL.Query()
	d := &deadData{Filter: deadFilterOf(form), Tasks: s.tasks.all(), Advice: advice}
	after := storage.Cursor(form.Get("after"))
	if err := checkCursor(after); err != nil {
		return nil, err
	}
	var run, step string
	if after != "" {
		p, _ := after.Position() // checked
		run, step = p.Run, p.ID
		d.First = d.Filter.URL("")
	}
	more := true
	for end := time.Now().Add(searchTime); more && len(d.Letters) < pageSize && time.Now().Before(end); {
		var err error
		if more, err = s.search(ctx, d, &run, &step); err != nil {
			return nil, err
		}
	}
	if more {
		d.Partial = len(d.Letters) < pageSize
		d.Next = d.Filter.URL(string(storage.After(run, step)))
	}
	if n := s.counter.counts(); n != nil {
		d.Causes = n.causes()
	}
	return &page{Name: "dead", Title: "Dead letters", Data: d, Live: true}, nil
}
