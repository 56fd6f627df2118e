package console

import (
	"context"
	"net/http"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A groupRow is a group of a run.
type groupRow struct {
	admin.GroupInfo
	Done, Bad int               // percentages of the units
	Budget    *admin.BudgetInfo // or nil
}

func newGroupRow(g admin.GroupInfo) groupRow {
	row := groupRow{GroupInfo: g}
	if units := g.Progress.Units(); units > 0 {
		row.Done, row.Bad = 100*g.Progress.Succeeded/units, 100*g.Progress.Failed/units
	}
	return row
}

// groupData is what the page of a group shows: the units that have failed before the
// others.
type groupData struct {
	groupRow
	Failed      []admin.StepInfo // on the first page
	MoreFailed  bool             // than these
	OnlyFailed  bool             // Units are only those that have failed
	Units       []admin.StepInfo
	First, Next string
}

// FailedURL returns the URL of the list of all units that have failed.
func (d *groupData) FailedURL() string { return d.url("failed", "") }

// url returns the URL of a page of the units after one.
func (d *groupData) url(only, after string) string {
	return link("/group", "run", d.Run, "id", d.Group, "only", only, "after", after)
}

// failedUnits are the statuses of units that have failed.
var failedUnits = []storage.Status{storage.StatusFailed, storage.StatusDead, storage.StatusDiscarded}

// group shows a group of a run, with a page of its units.
func (s *Server) group(ctx context.Context, r *http.Request) (*page, error) {
	form := r.URL.Query()
	run, id, after := form.Get("run"), form.Get("id"), form.Get("after")
	info, err := s.findGroup(ctx, run, id)
	if err != nil {
		return nil, err
	}
	d := &groupData{groupRow: newGroupRow(info)}
	for b, err := range s.Client.Budgets(ctx, admin.Filter{Run: run}) {
		if err != nil {
			return nil, err
		}
		if b.Name == id {
			d.Budget = &b
			break
		}
	}
	units := admin.Filter{Run: run, Group: id, AfterStep: after, Limit: pageSize + 1}
	failed := units
	failed.Status = failedUnits
	switch d.OnlyFailed = form.Get("only") == "failed"; {
	case d.OnlyFailed:
		units = failed
	case after == "" && info.Progress.Failed > 0:
		if d.Failed, d.MoreFailed, err = firstPage(s.Client.Steps(ctx, failed)); err != nil {
			return nil, err
		}
	}
	var more bool
	if d.Units, more, err = firstPage(s.Client.Steps(ctx, units)); err != nil {
		return nil, err
	}
	if after != "" {
		d.First = d.url(form.Get("only"), "")
	}
	if more {
		d.Next = d.url(form.Get("only"), d.Units[len(d.Units)-1].Step)
	}
	return &page{Name: "group", Title: "Group " + clean(id), Data: d, Live: true}, nil
}

// findGroup returns a group of a run.
func (s *Server) findGroup(ctx context.Context, run, id string) (admin.GroupInfo, error) {
	if _, err := s.find(ctx, run); err != nil {
		return admin.GroupInfo{}, err
	}
	for g, err := range s.Client.Groups(ctx, admin.Filter{Run: run}) {
		if err != nil || g.Group == id {
			return g, err
		}
	}
	return admin.GroupInfo{}, &problem{http.StatusNotFound, "There is no such group",
		"The page of the run lists its groups."}
}
