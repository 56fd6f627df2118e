package console

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/contrib/recovery"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// stepData is what the page of a step shows.
type stepData struct {
	Step     admin.StepInfo
	Run      admin.RunInfo
	Attempts []attemptRow // the last one first
	Older    int          // that are not shown
	Timeline *timeline
	Values   pageValues

	CanRequeue, CanRepeat, CanResolve, CanDiscard bool
	CanRetry, CanSignal                           bool // now
}

// An attemptRow is an entry of the history.
type attemptRow struct {
	admin.AttemptInfo
	Timeouts []timeoutRow
	Torn     string // why a captured timeout cannot be read
}

// A timeoutRow is a captured timeout, with its receipt if that can be read.
type timeoutRow struct {
	recovery.Row
	Receipt *recovery.Receipt
	Missing string // why there is none
}

// maxHistory is how many entries of a history a page shows.
const maxHistory = 200

// step shows a step.
func (s *Server) step(ctx context.Context, r *http.Request) (*page, error) {
	form := r.URL.Query()
	run, id := form.Get("run"), form.Get("id")
	info, err := s.Client.Describe(ctx, run, id)
	if err != nil {
		return nil, err
	}
	d := &stepData{Step: info}
	if d.Run, err = s.find(ctx, run); err != nil {
		return nil, err
	}
	endWait(&d.Run, &d.Step)
	if d.Values, err = s.values(ctx, run, id); err != nil {
		return nil, err
	}
	var attempts []admin.AttemptInfo
	for a, err := range s.Client.Attempts(ctx, run, id) {
		if err != nil {
			return nil, err
		}
		if attempts = append(attempts, a); len(attempts) > 2*maxHistory {
			attempts = slices.Delete(attempts, 0, maxHistory)
			d.Older += maxHistory
		}
	}
	if extra := len(attempts) - maxHistory; extra > 0 {
		attempts = attempts[extra:]
		d.Older += extra
	}
	for _, a := range slices.Backward(attempts) {
		d.Attempts = append(d.Attempts, s.attempt(a))
	}
	if d.Timeline, err = s.timeline(ctx, &runData{Run: d.Run, Steps: []admin.StepInfo{d.Step}}); err != nil {
		return nil, err
	}
	d.permissions()
	return &page{Name: "step", Title: "Step " + clean(info.Step), Data: d, Live: true}, nil
}

// permissions sets which changes the state of the step allows.
func (d *stepData) permissions() {
	switch d.Step.Status {
	case storage.StatusFailed, storage.StatusDiscarded, storage.StatusAbandoned:
		d.CanRequeue = true
	case storage.StatusDead:
		d.CanRequeue, d.CanDiscard = true, true
	case storage.StatusPaused:
		d.CanRequeue, d.CanResolve = true, true
	case storage.StatusInDoubt:
		d.CanResolve = true
	case storage.StatusWaiting:
		d.CanResolve = true
		d.CanRetry, d.CanSignal = d.Step.Pause == "", d.Step.Pause == admin.PauseSignal
	case storage.StatusSucceeded:
		d.CanRepeat = true
	}
}

// attempt returns the row of an attempt with the timeouts that were captured.
func (s *Server) attempt(a admin.AttemptInfo) attemptRow {
	row := attemptRow{AttemptInfo: a}
	rows, err := recovery.ParseRows([]byte(a.Timeouts))
	if err != nil {
		row.Torn = err.Error()
	}
	for _, r := range rows {
		t := timeoutRow{Row: r}
		if t.Receipt, err = s.receipt(r.Path); err != nil {
			t.Missing = err.Error()
		}
		row.Timeouts = append(row.Timeouts, t)
	}
	return row
}

// maxReceipt is the size in bytes of a receipt that is shown.
const maxReceipt = 1 << 20

// receipt reads the receipt of a timeout. Its name comes from the store: only files
// below the folder of receipts are read.
func (s *Server) receipt(name string) (*recovery.Receipt, error) {
	switch {
	case name == "":
		return nil, errors.New("no receipt was written")
	case s.Recovery == nil:
		return nil, errors.New("start the console with -recovery and the folder of the receipts to see its artifacts")
	}
	local := path.Clean(strings.TrimPrefix(name, "RUN_BASE/"))
	f, err := s.Recovery.Open(local)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the folder of the receipts does not have it")
	}
	if err != nil {
		return nil, errors.New("it is not below the folder of the receipts")
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxReceipt+1))
	if err != nil || len(text) > maxReceipt {
		return nil, errors.New("it cannot be read, or is larger than 1 MiB")
	}
	receipt := new(recovery.Receipt)
	if json.Unmarshal(text, receipt) != nil || receipt.Status != recovery.StatusTimeout {
		return nil, errors.New("it is not the receipt of a timeout")
	}
	return receipt, nil
}
