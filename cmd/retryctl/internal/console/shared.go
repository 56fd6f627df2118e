package console

import (
	"context"
	"net/http"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// sharedData is what the page of breakers and budgets shows.
type sharedData struct {
	Breakers []breakerRow
	Ratio    []budgetRow
	Count    []admin.BudgetInfo
	First    string
	Next     string
}

// A breakerRow is a breaker with what operators did to it.
type breakerRow struct {
	admin.BreakerInfo
	Audit            []admin.AuditEntry
	Calls, Bad, Slow int64 // in its window
}

// A budgetRow is a ratio budget with what operators did to it.
type budgetRow struct {
	admin.BudgetInfo
	Audit []admin.AuditEntry
}

// StateName returns the name of the state for the style sheet.
func (b breakerRow) StateName() string { return "breaker " + b.State.String() }

// IsOpen reports whether the breaker admits no attempt before OpenUntil.
func (b breakerRow) IsOpen() bool { return b.State == breaker.Open }

// shared shows the breakers and budgets that processes share, and a page of those of
// runs.
func (s *Server) shared(ctx context.Context, r *http.Request) (*page, error) {
	d := new(sharedData)
	after := storage.Cursor(r.URL.Query().Get("after"))
	if err := checkCursor(after); err != nil {
		return nil, err
	}
	if after == "" {
		if err := s.breakers(ctx, d); err != nil {
			return nil, err
		}
	} else {
		d.First = "/shared"
	}
	return &page{Name: "shared", Title: "Breakers and budgets", Data: d, Live: true}, s.budgets(ctx, d, after)
}

// breakers adds the breakers.
func (s *Server) breakers(ctx context.Context, d *sharedData) error {
	for b, err := range s.Client.Breakers(ctx) {
		if err != nil {
			return err
		}
		row := breakerRow{BreakerInfo: b}
		row.Calls, row.Bad, row.Slow = b.WindowCounts()
		if row.Audit, err = s.audit(ctx, storage.KindBreaker, b.Name); err != nil {
			return err
		}
		d.Breakers = append(d.Breakers, row)
	}
	return nil
}

// budgets adds a page of the budgets: those that runs share are the first ones.
func (s *Server) budgets(ctx context.Context, d *sharedData, after storage.Cursor) error {
	f := admin.Filter{Limit: 4 * pageSize}
	if after != "" {
		p, _ := after.Position() // checked
		f.AfterRun, f.AfterStep = p.Run, p.ID
	}
	next := func(last admin.BudgetInfo) { d.Next = link("/shared", "after", storage.After(last.Run, last.Name)) }
	n := 0
	for b, err := range s.Client.Budgets(ctx, f) {
		if n++; n == f.Limit {
			next(b)
		}
		switch {
		case err != nil:
			return err
		case b.Run == "":
			row := budgetRow{BudgetInfo: b}
			if row.Audit, err = s.audit(ctx, storage.KindBudget, b.Name); err != nil {
				return err
			}
			d.Ratio = append(d.Ratio, row)
			continue
		case len(d.Count) == pageSize:
			next(d.Count[len(d.Count)-1])
			return nil
		}
		d.Count = append(d.Count, b)
	}
	return nil
}

// audit returns what operators did to a breaker or a budget, the last first, of which
// there are at most a few.
func (s *Server) audit(ctx context.Context, kind storage.Kind, name string) (list []admin.AuditEntry, err error) {
	for a, err := range s.Client.Audit(ctx, kind, "", name) {
		if err != nil {
			return nil, err
		}
		list = append([]admin.AuditEntry{a}, list[:min(len(list), 4)]...)
	}
	return list, nil
}
