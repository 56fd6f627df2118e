package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/override"
)

// An Authorize function returns the name of the operator who sent a request. The name is
// written to the log and shown to other operators. If the request is not allowed, the
// function returns an error. It must be strict, because an operator can stop all calls of
// the program.
type Authorize func(*http.Request) (who string, err error)

// A Server answers operators' requests: see [Server.Handler].
type Server struct {
	// Authorize decides whether a request is allowed. It is required.
	Authorize Authorize
	// Controls load policy files. It may be empty.
	Controls []*Control
	// Overrides applies overrides. It may be nil.
	Overrides *override.Set
}

// Handler returns the handler of s. It panics if Authorize is nil. Paths are relative to
// the path at which the handler is mounted with [http.StripPrefix]:
//
//	GET    /                      what is in force, as JSON
//	GET    /policies?package=P    the policy file that is in force
//	PUT    /policies?package=P    loads the policy file in the body (application/yaml)
//	POST   /overrides             puts the override in the body (application/json)
//	DELETE /overrides/ID          ends an override
//
// The parameter package is optional if there is only one Control. If a policy file is
// refused, the status is 422 and the body contains the problems. Requests that a browser
// sends on behalf of another site are refused.
func (s Server) Handler() http.Handler {
	if s.Authorize == nil {
		panic("live: a Server without Authorize would let anybody stop all calls")
	}
	mux := http.NewServeMux()
	handle := func(pattern string, f func(w http.ResponseWriter, r *http.Request, who string) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			who, err := s.Authorize(r)
			if err != nil {
				http.Error(w, "not allowed: "+err.Error(), http.StatusForbidden)
				return
			}
			w.Header().Set("Cache-Control", "no-store")
			if err := f(w, r, who); err != nil {
				answerError(w, err)
			}
		})
	}
	handle("GET /{$}", s.show)
	handle("GET /policies", s.text)
	handle("PUT /policies", s.load)
	handle("POST /overrides", s.override)
	handle("DELETE /overrides/{id}", s.end)
	return http.NewCrossOriginProtection().Handler(mux)
}

// A requestError is an error with a status.
type requestError struct {
	status int
	text   string
}

func (e *requestError) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &requestError{status, fmt.Sprintf(format, args...)}
}

func answerError(w http.ResponseWriter, err error) {
	status, text := http.StatusBadRequest, err.Error()
	if e, ok := errors.AsType[*requestError](err); ok {
		status = e.status
	} else if e, ok := errors.AsType[*Error](err); ok {
		status, text = http.StatusUnprocessableEntity, e.Print()
	} else if errors.Is(err, ErrOtherControl) {
		status = http.StatusConflict
	} else if errors.Is(err, override.ErrClosed) { // the program ends
		status = http.StatusServiceUnavailable
	}
	http.Error(w, strings.TrimSuffix(text, "\n"), status)
}

func answer(w http.ResponseWriter, status int, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "%s\n", text) // if that fails, nobody reads an error either
	return nil
}

// An Overview describes the policies, breakers and overrides of a program. It is the
// response to GET /.
type Overview struct {
	Packages  []PackageOverview   `json:"packages"`
	Overrides []override.Override `json:"overrides"`
}

// A PackageOverview describes a generated package.
type PackageOverview struct {
	Status
	Policies []PolicyOverview  `json:"policies"`
	Breakers []BreakerOverview `json:"breakers,omitempty"`
}

// A PolicyOverview describes a policy with the settings that calls currently use.
type PolicyOverview struct {
	Name        string `json:"name"`
	MaxAttempts int    `json:"max_attempts"` // limit on attempts; 0 means no limit
	Schedule    string `json:"schedule"`
}

// A BreakerOverview is the state of a breaker as calls see it.
type BreakerOverview struct {
	Name  string        `json:"name"`
	State breaker.State `json:"state"`
	Until time.Time     `json:"until,omitzero"` // set if the breaker is open
}

// Overview returns the current policies, breakers and overrides.
func (s Server) Overview() Overview {
	all := Overview{Packages: []PackageOverview{}, Overrides: []override.Override{}}
	for _, c := range s.Controls {
		one := PackageOverview{Status: c.Status()}
		for _, p := range c.Policies() {
			settings := p.Settings()
			attempts := settings.MaxAttempts()
			if attempts == retry.Unlimited {
				attempts = 0
			}
			one.Policies = append(one.Policies, PolicyOverview{p.Name, attempts, settings.Schedule()})
		}
		for _, shared := range c.pkg.Shared {
			for _, b := range shared.Breakers {
				state, until := b.Outlook()
				one.Breakers = append(one.Breakers, BreakerOverview{b.Policy().Name, state, until})
			}
		}
		all.Packages = append(all.Packages, one)
	}
	if s.Overrides != nil {
		all.Overrides = append(all.Overrides, s.Overrides.List()...)
	}
	return all
}

func (s Server) show(w http.ResponseWriter, _ *http.Request, _ string) error {
	return answer(w, http.StatusOK, s.Overview())
}

// control returns the Control that a request is for.
func (s Server) control(r *http.Request) (*Control, error) {
	path := r.URL.Query().Get("package")
	i := slices.IndexFunc(s.Controls, func(c *Control) bool { return c.pkg.Package == path })
	switch {
	case i >= 0:
		return s.Controls[i], nil
	case path == "" && len(s.Controls) == 1:
		return s.Controls[0], nil
	}
	var known []string
	for _, c := range s.Controls {
		known = append(known, c.pkg.Package)
	}
	return nil, refuse(http.StatusNotFound, "package %q has no policies that can be loaded: write package=%s", path,
		strings.Join(known, " or package="))
}

func (s Server) text(w http.ResponseWriter, r *http.Request, _ string) error {
	c, err := s.control(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	_, _ = io.WriteString(w, c.Status().Text)
	return nil
}

// body returns the body of a request with one of some media types.
func body(w http.ResponseWriter, r *http.Request, most int64, types ...string) ([]byte, error) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if !slices.Contains(types, media) {
		return nil, refuse(http.StatusUnsupportedMediaType, "the Content-Type is %q: send %s", media, types[0])
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", most)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body cannot be read: %v", err)
	}
	return text, nil
}

func (s Server) load(w http.ResponseWriter, r *http.Request, who string) error {
	c, err := s.control(r)
	if err != nil {
		return err
	}
	text, err := body(w, r, MaxSize, "application/yaml", "application/x-yaml", "text/yaml")
	if err != nil {
		return err
	}
	change, err := c.Load(text, who)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, change)
}

func (s Server) override(w http.ResponseWriter, r *http.Request, who string) error {
	if s.Overrides == nil {
		return refuse(http.StatusNotFound, "this program takes no overrides")
	}
	text, err := body(w, r, 1<<16, "application/json")
	if err != nil {
		return err
	}
	var o override.Override
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return fmt.Errorf("the override cannot be read: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("the body has more than one override: send one at a time")
	}
	o.By = who
	put, err := s.Overrides.Put(o)
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, put)
}

func (s Server) end(w http.ResponseWriter, r *http.Request, _ string) error {
	id := r.PathValue("id")
	if s.Overrides == nil || !s.Overrides.Remove(id) {
		return refuse(http.StatusNotFound, "no override %s has been put here: it may have ended, or be one of the store", id)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
