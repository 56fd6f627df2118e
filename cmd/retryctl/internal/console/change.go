package console

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A change carries out a form, and returns the URL of the page to show then. What is
// changed is in the URL of the form: browsers change line ends in its fields.
type change func(ctx context.Context, r *http.Request, by events.Operator) (next string, err error)

// nameTime is how long a browser remembers who its user is.
const nameTime = 90 * 24 * time.Hour

// change returns the handler of a form.
func (s *Server) change(f change) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.Write {
			s.problem(w, r, &problem{http.StatusForbidden, "The console only shows the store",
				"Start it with -write to allow changes, or use retryctl where you may."})
			return
		}
		if err := r.ParseForm(); err != nil {
			s.problem(w, r, formError(err))
			return
		}
		u := userOf(r)
		by := admin.By(strings.TrimSpace(r.PostForm.Get("by")), strings.TrimSpace(r.PostForm.Get("why")))
		if u.Fixed {
			by.Name = u.Name
		}
		if by.Name == "" || by.Reason == "" {
			s.problem(w, r, badRequest("The form is not complete",
				"Write who makes the change, and why: both are kept."))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		next, err := f(ctx, r, by)
		if err != nil {
			s.problem(w, r, err)
			return
		}
		if !u.Fixed {
			setCookie(w, r, nameCookie, base64.RawURLEncoding.EncodeToString([]byte(by.Name)), nameTime)
		}
		s.Log.Info("change", "path", r.URL.Path, "action", r.PostForm.Get("action"), "by", by.Name, "why", by.Reason)
		http.Redirect(w, r, next, http.StatusSeeOther)
	})
}

// formError returns the problem with a form that cannot be read.
func formError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	return badRequest("The form cannot be read", "Open the page again, and use its form.")
}

var errAction = badRequest("There is no such action", "Open the page again, and use its forms.")

// notices are what pages say after a change, by the parameter done of their URLs.
var notices = map[string]string{
	"pause":    "The run is paused. Attempts that are executing end and are recorded.",
	"resume":   "The run goes on: workers claim it, or call Run with its id.",
	"cancel":   "The run is canceled.",
	"requeue":  "The step is open again. It is executed when its run is.",
	"discard":  "The dead letter is discarded. Its history stays.",
	"resolve":  "The step is resolved.",
	"retry":    "The next attempt is due now.",
	"signal":   "The signal is sent: the run goes on.",
	"breaker":  "The breaker is closed.",
	"end":      "The override is ended. Processes follow within about a second.",
	"budget":   "The budget is full.",
	"stopping": "The bulk change stops. What was done stays.",
}

// changeRun pauses, resumes or cancels a run, or sends it a signal.
func (s *Server) changeRun(ctx context.Context, r *http.Request, by events.Operator) (string, error) {
	run, action := r.URL.Query().Get("id"), r.PostForm.Get("action")
	var err error
	switch action {
	case "pause":
		err = s.Client.Pause(ctx, run, by)
	case "resume":
		err = s.Client.Resume(ctx, run, by)
	case "cancel":
		err = s.Client.Cancel(ctx, run, by)
	case "signal":
		err = s.signal(ctx, run, strings.TrimSpace(r.PostForm.Get("step")), r.PostForm.Get("value"), by)
	default:
		err = errAction
	}
	return link("/run", "id", run, "done", action), err
}

// signal sends a value that an operator has written to a step.
func (s *Server) signal(ctx context.Context, run, step, value string, by events.Operator) error {
	value = cmp.Or(strings.TrimSpace(value), "null")
	switch {
	case step == "":
		return badRequest("The step is missing", "Write the id of the step that waits for the signal.")
	case !json.Valid([]byte(value)):
		return badRequest("The value is not JSON", `Write the value of the signal as JSON, such as true, 7 or "text".`)
	}
	return s.Client.Signal(ctx, run, step, json.RawMessage(value), by)
}

// changeStep requeues, discards or resolves a step, or ends its wait.
func (s *Server) changeStep(ctx context.Context, r *http.Request, by events.Operator) (string, error) {
	form, q := r.PostForm, r.URL.Query()
	run, step, action := q.Get("run"), q.Get("id"), form.Get("action")
	var err error
	switch action {
	case "requeue":
		options := []admin.RequeueOption{admin.RequeueBy(by)}
		if form.Get("new-key") != "" {
			options = append(options, admin.NewKey())
		}
		if form.Get("repeat") != "" {
			options = append(options, admin.Repeat())
		}
		err = s.Client.Requeue(ctx, run, step, options...)
	case "discard":
		err = s.Client.Discard(ctx, run, step, by)
	case "retry":
		err = s.Client.Resolve(ctx, run, step, admin.Retry(), by)
	case "signal":
		err = s.signal(ctx, run, step, form.Get("value"), by)
	case "resolve":
		var resolution admin.Resolution
		if resolution, err = resolutionOf(form.Get("as"), form.Get("value")); err == nil {
			err = s.Client.Resolve(ctx, run, step, resolution, by)
		}
	default:
		err = errAction
	}
	return link("/step", "run", run, "id", step, "done", action), err
}

// resolutionOf returns what an operator has written about a step in doubt.
func resolutionOf(as, value string) (admin.Resolution, error) {
	value = strings.TrimSpace(value)
	switch as {
	case "retry":
		return admin.Retry(), nil
	case "failed":
		if value == "" {
			return admin.Resolution{}, badRequest("The error is missing",
				"Write the error that calls of the step return.")
		}
		return admin.Failed(errors.New(value)), nil
	case "succeeded":
		if !json.Valid([]byte(value)) {
			return admin.Resolution{}, badRequest("The result is not JSON",
				`Write what the step returned as JSON, such as {"id": 7} or null.`)
		}
		return admin.Succeeded(json.RawMessage(value)), nil
	}
	return admin.Resolution{}, badRequest("The resolution is missing", "Choose what happened to the step.")
}

// changeOverride ends an override.
func (s *Server) changeOverride(ctx context.Context, r *http.Request, by events.Operator) (string, error) {
	if r.PostForm.Get("action") != "end" {
		return "", errAction
	}
	return link("/", "done", "end"), s.Client.EndOverride(ctx, r.URL.Query().Get("id"), by)
}

// changeShared resets a breaker or a budget.
func (s *Server) changeShared(ctx context.Context, r *http.Request, by events.Operator) (string, error) {
	q, action := r.URL.Query(), r.PostForm.Get("action")
	var err error
	switch action {
	case "breaker":
		err = s.Client.ResetBreaker(ctx, q.Get("name"), by)
	case "budget":
		err = s.Client.ResetBudget(ctx, q.Get("run"), q.Get("name"), by)
	default:
		err = errAction
	}
	return link("/shared", "done", action), err
}

// changeDead starts a bulk change of the dead letters that are checked, or of all that
// the filter selects.
func (s *Server) changeDead(_ context.Context, r *http.Request, by events.Operator) (string, error) {
	form := r.PostForm
	t := &task{Action: form.Get("action"), By: by, Filter: deadFilterOf(r.URL.Query()), rate: 10}
	if t.Action != "requeue" && t.Action != "discard" {
		return "", errAction
	}
	if text := form.Get("rate"); text != "" {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || !(rate > 0) {
			return "", badRequest("The rate is not a number",
				"Write how many dead letters to change in a second, such as 10.")
		}
		t.rate = rate
	}
	if all := form.Get("scope") == "all"; all && form.Get("sure") == "" {
		return "", badRequest("All dead letters that the filter selects would be changed",
			"Go back, and check “yes, all of them” if that is what you want.")
	} else if !all {
		for _, letter := range form["letter"] {
			text, err := url.QueryUnescape(letter)
			p, wrong := storage.Cursor(text).Position()
			if err != nil || wrong != nil {
				return "", errAction
			}
			t.letters = append(t.letters, admin.StepInfo{Run: p.Run, Step: p.ID})
		}
		if len(t.letters) == 0 {
			return "", badRequest("No dead letter is selected",
				"Check those to change, or choose all that the filter selects.")
		}
		t.Selected = len(t.letters)
	}
	if err := s.tasks.start(s, t); err != nil {
		return "", err
	}
	return link("/task", "id", t.ID), nil
}
