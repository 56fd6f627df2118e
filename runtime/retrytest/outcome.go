package retrytest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// An Outcome describes what one call does. The zero Outcome calls the function at once.
type Outcome struct {
	Name  string        // used in records and errors; if empty, derived from the other fields
	Delay time.Duration // time that the call takes first, unless its context ends earlier
	Err   error         // returned instead of calling the function; nil means that it is called

	Partial bool // call the function first, and return its results together with Err
	Hang    bool // return the context's error when the context has ended, instead of Err
	Panic   bool // panic with an [*Error], instead of returning Err

	inject func(*Error) error // gives an injected error its class; replaces Err
}

// calls reports whether the outcome calls the callee and keeps its error.
func (o *Outcome) calls() bool { return o.Err == nil && o.inject == nil && !o.Hang && !o.Panic }

// err returns the error of the outcome for a call, or nil.
func (o *Outcome) err(c Call) error {
	e := &Error{Func: c.Func, Name: o.Name, Attempt: c.Attempt}
	switch {
	case o.Panic:
		e.Name = o.String()
		return e
	case o.inject != nil:
		return o.inject(e)
	}
	return o.Err
}

// String returns the outcome as it is written in scripts.
func (o Outcome) String() string {
	name := o.Name
	switch {
	case name != "":
	case o.Hang:
		name = "hang"
	case o.Panic:
		name = "panic"
	case o.Partial:
		name = "partial"
	case o.Err != nil:
		name = o.Err.Error()
	default:
		name = "ok"
	}
	if o.Delay > 0 {
		return o.Delay.String() + " " + name
	}
	return name
}

// An Error is an injected error.
type Error struct {
	Func    string // the function that fails
	Name    string // name of the outcome, as in the script
	Attempt int    // number of the attempt: see [retry.AttemptNumber]
	Status  int    // the HTTP status, or 0
	Err     error  // the wrapped error, which determines the class, or nil
}

// Error describes the error. The text does not contain Func, because the runtime could
// mistake a word in the name, such as timeout, for the class of the error.
func (e *Error) Error() string {
	return fmt.Sprintf("injected fault %s in attempt %d", e.Name, e.Attempt)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// StatusCode returns Status. The runtime uses it to classify errors.
func (e *Error) StatusCode() int { return e.Status }

// wrapping and status return functions for the field inject.

func wrapping(err error) func(*Error) error {
	return func(e *Error) error { e.Err = err; return e }
}

func status(code int) func(*Error) error {
	return func(e *Error) error { e.Status = code; return e }
}

// A netError is an error of class network or timeout, by the methods of net.Error. It is
// no error of the standard library, which a class of a policy file might contain.
type netError struct{ timeout bool }

// Error returns a text without a word that the runtime knows.
func (e netError) Error() string { return "injected" }

// Timeout reports whether the error is of class timeout.
func (e netError) Timeout() bool { return e.timeout }

// Temporary returns true.
func (e netError) Temporary() bool { return true }

// named are the outcomes that have a name.
var named = map[string]Outcome{
	"ok":           {},
	"network":      {inject: wrapping(netError{})},
	"timeout":      {inject: wrapping(netError{timeout: true})},
	"canceled":     {inject: wrapping(context.Canceled)},
	"server_error": {inject: status(503)},
	"rate_limit":   {inject: status(429)},
	"unknown":      {inject: wrapping(nil)},
	"permanent":    {inject: func(e *Error) error { return retry.Permanent(e) }},
	"partial":      {inject: wrapping(netError{}), Partial: true},
	"hang":         {Hang: true},
	"panic":        {Panic: true},
}

// parseOutcome parses the name of an outcome, with the wait that it asks for. errs are
// errors by name.
func parseOutcome(text string, errs map[string]error) (Outcome, error) {
	name, wait, asks := strings.Cut(text, "@")
	kind, partial := strings.CutPrefix(name, "partial=")
	o, known := named[kind]
	if err, ok := errs[kind]; ok {
		o, known = Outcome{Err: err}, true
	} else if code, err := strconv.Atoi(kind); err == nil && code >= 100 && code <= 599 {
		o, known = Outcome{inject: status(code)}, true
	}
	switch fails := o.Err != nil || o.inject != nil; {
	case !known:
		return o, fmt.Errorf("%q is no outcome: write ok, hang, panic, partial, permanent, a class such as network, "+
			"an HTTP status, or a time such as 300ms", name)
	case partial && !fails:
		return o, fmt.Errorf("%q returns no error: write partial=503", name)
	}
	o.Partial = o.Partial || partial
	o.Name = text
	if asks {
		d, err := time.ParseDuration(wait)
		if err != nil || d <= 0 || o.calls() || o.Hang || o.Panic {
			return o, fmt.Errorf("%q asks for no wait: write it as 429@2s", text)
		}
		own := o
		o.inject = func(e *Error) error { return retry.After(own.err(Call{e.Func, 0, e.Attempt, nil}), d) }
	}
	return o, nil
}

// A script is a sequence of outcomes.
type script struct {
	list    []Outcome
	forever bool // the last one repeats
}

// at returns the outcome of call n, from 0.
func (s *script) at(n int) Outcome {
	switch {
	case n < len(s.list):
		return s.list[n]
	case s.forever:
		return s.list[len(s.list)-1]
	}
	return Outcome{}
}

const maxRepeat = 100_000

// parseScript parses a sequence of outcomes.
func parseScript(text string, errs map[string]error) (s script, err error) {
	var delay time.Duration
	for _, field := range strings.Fields(text) {
		if s.forever {
			return s, fmt.Errorf("%q follows an outcome that repeats forever: end the script there", field)
		}
		if d, err := time.ParseDuration(field); err == nil && d >= 0 && field != "0" {
			delay += d
			continue
		}
		times := 1
		if name, ok := strings.CutSuffix(field, "..."); ok {
			field, s.forever = name, true
		} else if name, count, ok := strings.Cut(field, "*"); ok {
			if times, err = strconv.Atoi(count); err != nil || times < 1 || times > maxRepeat {
				return s, fmt.Errorf("%q has no number of calls from 1 to %d: write 503*3", field, maxRepeat)
			}
			field = name
		}
		o, err := parseOutcome(field, errs)
		if err != nil {
			return s, err
		}
		o.Delay, delay = delay, 0
		for range times {
			s.list = append(s.list, o)
		}
	}
	if delay > 0 {
		s.list = append(s.list, Outcome{Name: "ok", Delay: delay})
	}
	if len(s.list) == 0 {
		return s, errors.New("there is no outcome: write 503 ok, for example")
	}
	return s, nil
}
