package console

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// pageSize is the number of rows of a page.
const pageSize = 50

// searchTime limits how long a page looks for rows that a filter selects. A page that
// has found fewer by then leads on to the next one.
const searchTime = 150 * time.Millisecond

// runStatuses are the statuses of runs, in the order of the filter.
var runStatuses = []storage.Status{
	storage.StatusOpen, storage.StatusParked, storage.StatusPaused, storage.StatusFailed, storage.StatusSucceeded,
	storage.StatusCanceled, storage.StatusTimedOut, storage.StatusExpired,
}

// runsData is what the list of runs shows.
type runsData struct {
	Runs     []admin.RunInfo
	Outlook  admin.Outlook
	Statuses []storage.Status
	// Of the filter. Prefix is what the ids begin with.
	Status, Handler, Prefix string
	First, Newer, Older     string // the URLs of other pages, or ""
}

// url returns the URL of the list with the filter. where is after or before, and from
// the cursor that the page comes after or before.
func (d *runsData) url(where string, from storage.Cursor) string {
	return link("/runs", "prefix", d.Prefix, "status", d.Status, "handler", d.Handler, where, from)
}

// runs lists runs, the newest first.
func (s *Server) runs(ctx context.Context, r *http.Request) (*page, error) {
	form := r.URL.Query()
	d := &runsData{Statuses: runStatuses, Status: form.Get("status"), Handler: form.Get("handler"),
		Prefix: form.Get("prefix")}
	q := storage.Query{Limit: pageSize + 1, Order: storage.OrderNewest, From: storage.Cursor(form.Get("after"))}
	if before := form.Get("before"); before != "" {
		q.Order, q.From = storage.OrderOldest, storage.Cursor(before)
	}
	q = q.Prefix(d.Prefix)
	if _, err := q.Position(); err != nil {
		return nil, errPage
	}
	if d.Handler != "" {
		q.Handlers = []string{d.Handler}
	}
	if d.Status != "" {
		var status storage.Status
		if err := status.UnmarshalText([]byte(d.Status)); err != nil {
			return nil, badRequest("There is no such status", "Choose one of the list.")
		}
		q.Status = []storage.Status{status}
	}
	if err := s.listRuns(ctx, d, q); err != nil {
		return nil, err
	}
	return &page{Name: "runs", Title: "Runs", Data: d, Live: true}, nil
}

// listRuns adds the page of a query, and the URLs of those around it.
func (s *Server) listRuns(ctx context.Context, d *runsData, q storage.Query) error {
	runs, more, err := firstPage(s.Client.List(ctx, q))
	newer, older := q.From != "", more
	if q.Order == storage.OrderOldest { // back: from the last run of the page to its first
		if err == nil && !more { // that is where the list begins
			q.Order, q.From = storage.OrderNewest, ""
			return s.listRuns(ctx, d, q)
		}
		slices.Reverse(runs)
		older = true // the page from which the link leads here
	}
	if d.Runs = runs; err != nil || len(runs) == 0 {
		return err
	}
	if d.Outlook, err = s.Client.Outlook(ctx, runs); err != nil {
		return err
	}
	if newer {
		first := runs[0]
		d.First, d.Newer = d.url("", ""), d.url("before", storage.AfterCreated(first.Created, first.ID))
	}
	if older {
		last := runs[len(runs)-1]
		d.Older = d.url("after", storage.AfterCreated(last.Created, last.ID))
	}
	return nil
}

// firstPage returns a page of a sequence, and whether there is more of it.
func firstPage[T any](seq iter.Seq2[T, error]) (list []T, more bool, err error) {
	for v, err := range seq {
		switch {
		case err != nil:
			return nil, false, err
		case len(list) == pageSize:
			return list, true, nil
		}
		list = append(list, v)
	}
	return list, false, nil
}

// checkCursor returns a problem if a cursor was not made by a page.
func checkCursor(c storage.Cursor) error {
	if c == "" {
		return nil
	}
	if _, err := c.Position(); err != nil {
		return errPage
	}
	return nil
}

var errPage = badRequest("There is no such page", "Start at the first page of the list.")

func badRequest(title, advice string) error { return &problem{http.StatusBadRequest, title, advice} }

// find returns the run with an id.
func (s *Server) find(ctx context.Context, run string) (admin.RunInfo, error) {
	if run == "" {
		return admin.RunInfo{}, badRequest("No run is named", "Choose one of the list of runs.")
	}
	for r, err := range s.Client.List(ctx, storage.Query{Run: run, Limit: 1}) {
		return r, err
	}
	return admin.RunInfo{}, &problem{http.StatusNotFound, "There is no such run",
		"Its id may be spelled differently, or it belongs to another namespace."}
}

// runData is what the page of a run shows.
type runData struct {
	Run                            admin.RunInfo
	Outlook                        admin.Outlook
	Why                            admin.Standing
	Groups                         []groupRow
	Steps                          []admin.StepInfo
	Timeline                       *timeline
	Values                         pageValues
	Audit                          []admin.AuditEntry
	Budget                         *admin.BudgetInfo
	After                          string // the id of the step that the page begins after
	First                          string
	Next                           string
	CanPause, CanResume, CanCancel bool
	CanSignal                      bool
}

// run shows a run with a page of its steps.
func (s *Server) run(ctx context.Context, r *http.Request) (*page, error) {
	form := r.URL.Query()
	info, err := s.find(ctx, form.Get("id"))
	if err != nil {
		return nil, err
	}
	why, err := s.Client.Why(ctx, info.ID)
	if err != nil {
		return nil, err
	}
	outlook, err := s.Client.Outlook(ctx, []admin.RunInfo{info})
	if err != nil {
		return nil, err
	}
	d := &runData{Run: info, Outlook: outlook, Why: why, After: form.Get("after")}
	d.permissions()
	if d.Values, err = s.values(ctx, info.ID, ""); err != nil {
		return nil, err
	}
	steps, more, err := firstPage(s.Client.Steps(ctx,
		admin.Filter{Run: info.ID, AfterStep: d.After, Limit: pageSize + 1}))
	if err != nil {
		return nil, err
	}
	for i := range steps {
		endWait(&info, &steps[i])
	}
	d.Steps = steps
	if d.After != "" {
		d.First = link("/run", "id", info.ID)
	}
	if more {
		d.Next = link("/run", "id", info.ID, "after", steps[len(steps)-1].Step)
	}
	if d.After == "" {
		if err := s.addGroups(ctx, d); err != nil {
			return nil, err
		}
	}
	for a, err := range s.Client.Audit(ctx, storage.KindRun, info.ID, "") {
		if err != nil {
			return nil, err
		}
		d.Audit = append(d.Audit, a)
	}
	if d.Timeline, err = s.timeline(ctx, d); err != nil {
		return nil, err
	}
	return &page{Name: "run", Title: "Run " + clean(info.ID), Data: d, Live: true}, nil
}

// endWait removes the time of the next attempt from a step of a run that has ended for
// ever: the attempt is never made.
func endWait(run *admin.RunInfo, step *admin.StepInfo) {
	if run.Status.IsOver() {
		step.NextAt = time.Time{}
	}
}

// permissions sets which changes the state of the run allows.
func (d *runData) permissions() {
	switch d.Run.Status {
	case storage.StatusOpen, storage.StatusParked:
		d.CanPause, d.CanCancel, d.CanSignal = true, true, true
	case storage.StatusFailed:
		d.CanPause, d.CanCancel, d.CanResume = true, true, true
	case storage.StatusPaused:
		d.CanResume, d.CanCancel, d.CanSignal = true, true, true
	}
}

// addGroups adds the groups of the run, and its budget.
func (s *Server) addGroups(ctx context.Context, d *runData) error {
	budgets := map[string]*admin.BudgetInfo{} // by the id of the group
	for b, err := range s.Client.Budgets(ctx, admin.Filter{Run: d.Run.ID}) {
		if err != nil {
			return err
		}
		if budgets[b.Name] = &b; len(budgets) > pageSize {
			break
		}
	}
	d.Budget = budgets[""]
	for g, err := range s.Client.Groups(ctx, admin.Filter{Run: d.Run.ID}) {
		if err != nil {
			return err
		}
		row := newGroupRow(g)
		row.Budget = budgets[g.Group]
		if d.Groups = append(d.Groups, row); len(d.Groups) == pageSize {
			break
		}
	}
	return nil
}

// maxBars is how many attempts of a step a timeline shows: the last ones.
const maxBars = 100

// timeline returns the picture of the steps of a page.
func (s *Server) timeline(ctx context.Context, d *runData) (*timeline, error) {
	t := &timeline{}
	now := time.Now()
	steps := slices.Clone(d.Steps)
	if d.First == "" && d.Next == "" { // all of them: in the order of their starts
		slices.SortStableFunc(steps, func(a, b admin.StepInfo) int { return a.First.Compare(b.First) })
	}
	for _, step := range steps {
		if step.First.IsZero() || step.Group != "" {
			continue
		}
		row := timelineRow{name: clean(step.Step), href: link("/step", "run", step.Run, "id", step.Step)}
		attempts, err := s.attempts(ctx, &step)
		if err != nil {
			return nil, err
		}
		row.bars = bars(&d.Run, &step, attempts, now)
		for _, b := range row.bars {
			if t.From.IsZero() || b.from.Before(t.From) {
				t.From = b.from
			}
			if b.to.After(t.To) {
				t.To = b.to
			}
		}
		t.rows = append(t.rows, row)
	}
	return t, nil
}

// attempts returns the last attempts of a step. Most steps succeed at the first one:
// their histories need not be read.
func (s *Server) attempts(ctx context.Context, step *admin.StepInfo) (list []admin.AttemptInfo, err error) {
	if step.Status == storage.StatusSucceeded && step.Attempts == 1 && step.Lost == 0 && !step.Ended.IsZero() {
		return []admin.AttemptInfo{{
			Attempt: 1, Outcome: events.OutcomeSucceeded, Started: step.First, Duration: step.Ended.Sub(step.First),
		}}, nil
	}
	for a, err := range s.Client.Attempts(ctx, step.Run, step.Step) {
		if err != nil {
			return nil, err
		}
		if list = append(list, a); len(list) > 2*maxBars {
			list = slices.Delete(list, 0, maxBars)
		}
	}
	return list, nil
}

// Empty reports whether there is nothing to draw.
func (t *timeline) Empty() bool { return len(t.rows) == 0 || t.From.IsZero() }
