package console

import (
	"context"
	"errors"
	"net/http"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A problem is an error for a page of its own: what is wrong, and what to do.
type problem struct {
	status int
	title  string
	advice string
}

func (p *problem) Error() string { return p.title }

// Detail is what the page of an error shows.
type detail struct {
	Title, Advice, Text string
}

// problem sends the page of an error.
func (s *Server) problem(w http.ResponseWriter, r *http.Request, err error) {
	p, text := explain(err)
	if p.status >= http.StatusInternalServerError {
		s.Log.Error("request", "method", r.Method, "path", r.URL.Path, "status", p.status, "error", err)
	}
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	body, failed := s.execute("page", &page{
		Name: "problem", Title: p.title, Data: detail{p.title, p.advice, text}, Server: s, User: userOf(r), URL: "/",
	})
	if failed != nil {
		http.Error(w, p.title, p.status)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.status)
	_, _ = w.Write(body)
}

// explain returns the page of an error, and its text if that says more.
func explain(err error) (*problem, string) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p, ""
	}
	text := err.Error()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &problem{http.StatusRequestEntityTooLarge, "The form is too large",
			"Select fewer rows, and write less."}, text
	}
	switch {
	case errors.Is(err, durable.ErrNotFound):
		return &problem{http.StatusNotFound, "The store does not have it",
			"It may have expired meanwhile, or belong to another namespace."}, text
	case errors.Is(err, durable.ErrConflict):
		return &problem{http.StatusConflict, "Its state does not allow that",
			"Look at it again: somebody may have changed it meanwhile, or an engine executes it."}, text
	case errors.Is(err, durable.ErrIncarnation):
		return &problem{http.StatusConflict, "The store is another one than before",
			"It may have lost updates, as after a failover. Check what was lost, then run retryctl accept."}, text
	case errors.Is(err, storage.ErrUnknown):
		return &problem{http.StatusServiceUnavailable, "The store did not answer in time",
			"The change may have been made. Look at it again before you repeat it."}, text
	case errors.Is(err, storage.ErrFormat):
		return &problem{http.StatusInternalServerError, "The store has an unknown format",
			"Use the version of retryctl that belongs to the programs that write the store."}, text
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{http.StatusServiceUnavailable, "The store did not answer in time",
			"Nothing was changed. Check the load and the network of the store, then try again."}, text
	case errors.Is(err, storage.ErrStore):
		return &problem{http.StatusServiceUnavailable, "The store does not work",
			"Nothing was changed. Check that the database runs and can be reached from here, then try again."}, text
	}
	return &problem{http.StatusInternalServerError, "The console has failed",
		"The log of retryctl serve has details."}, text
}
