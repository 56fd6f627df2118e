package storm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/spelling"
	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/schema"
)

// afterEvents is how long a scenario continues after its last event, unless it sets a length.
const afterEvents = 90 * time.Second

// longest is the maximum duration in a scenario, and the maximum length of a scenario.
const longest = 24 * time.Hour

// Read reads a scenario from text. name is used only for positions. open returns the
// policy file at a path that the scenario contains. If the scenario has problems, Read
// returns them, sorted, and no system. If open returns an error, Read returns it, wrapped
// with the position of the policy.
func Read(name string, text []byte, open func(path string) (*policy.File, error)) (*System, []policy.Problem, error) {
	r := &scenario{name: name, open: open, files: map[string]*policy.File{}}
	root := syntax.Parse(text, func(p syntax.Problem) { r.problem(p.Span, p.Rule, "%s", p.Text) })
	if root == nil || len(r.problems) > 0 {
		return nil, r.problems, nil
	}
	for _, v := range schema.ValidateScenario(root.Value) {
		r.problem(root.Locate(v.Path, v.Property), "P102", "%s", v.Message)
	}
	if len(r.problems) > 0 { // the following code relies on the types of all values
		policy.Sort(r.problems)
		return nil, r.problems, nil
	}
	sys := r.read(root)
	if r.err == nil && len(r.problems) == 0 {
		r.cycles(root)
	}
	if r.err == nil && len(r.problems) == 0 {
		r.overloaded(root, sys)
	}
	policy.Sort(r.problems)
	if r.err != nil || len(r.problems) > 0 {
		return nil, r.problems, r.err
	}
	return sys, nil, nil
}

// A scenario holds the state while a scenario is read.
type scenario struct {
	name     string
	open     func(path string) (*policy.File, error)
	files    map[string]*policy.File // by path; nil if it cannot be read
	err      error                   // of open
	problems []policy.Problem

	services, loads []string // names
	sys             *System
}

func (r *scenario) problem(at syntax.Span, rule, format string, args ...any) {
	r.problems = append(r.problems, policy.Problem{
		File: r.name, Pos: policy.Pos{Line: at.Line, Col: at.Col}, Width: at.Width, Rule: rule, Severity: rules.Error,
		Text: fmt.Sprintf(format, args...),
	})
}

// read reads the services, loads and events. The values have the types of the schema.
func (r *scenario) read(root *syntax.Node) *System {
	r.sys = &System{Name: r.name}
	services, loads := root.Get("services").Value, root.Get("loads").Value
	for _, e := range services.Entries {
		r.services = append(r.services, e.Key)
	}
	for _, e := range loads.Entries {
		r.loads = append(r.loads, e.Key)
	}
	file := "retry.yaml"
	if e := root.Written("policies"); e != nil {
		file = e.Value.Text
	}
	for _, e := range services.Entries {
		r.sys.Services = append(r.sys.Services, r.service(e, file))
	}
	for _, e := range loads.Entries {
		r.sys.Loads = append(r.sys.Loads, r.load(e, file))
	}
	if e := root.Written("events"); e != nil {
		for _, item := range e.Value.Items {
			if event, ok := r.event(item); ok {
				r.sys.Events = append(r.sys.Events, event)
			}
		}
	}
	r.length(root)
	return r.sys
}

// length sets the length of the simulation, and compares the events with it.
func (r *scenario) length(root *syntax.Node) {
	e := root.Written("length")
	r.sys.Length = r.duration(root, "length", r.sys.End()+afterEvents)
	switch {
	case len(r.sys.Events) == 0:
		if e == nil {
			r.sys.Length = afterEvents
		}
	case e == nil && r.sys.Length > longest && len(r.problems) == 0:
		r.problem(root.Written("events").At, "P102",
			"the last event ends after %s, but a scenario has at most %s: let it begin or end earlier",
			duration.Format(r.sys.End()), duration.Format(longest))
	case e != nil && r.sys.Length < r.sys.End()+2*window*time.Second:
		r.problem(e.Value.Span, "P102", "the last event ends after %s: write a length of at least %s, to see what follows",
			duration.Format(r.sys.End()), duration.Format(r.sys.End()+2*window*time.Second))
	}
}

// service reads a service.
func (r *scenario) service(e syntax.Entry, file string) Service {
	n := e.Value
	s := Service{
		Name: e.Key, Instances: integer(n, "instances", 1), Workers: integer(n, "workers", 1),
		Queue: Unlimited, Notices: boolean(n, "drops_abandoned"), Parallel: boolean(n, "parallel"),
	}
	s.Time = r.times(n.Get("time").Value)
	if q := n.Written("queue"); q != nil && q.Value.Text != "unlimited" {
		s.Queue = integer(n, "queue", 0)
	}
	if p := n.Written("policies"); p != nil {
		file = p.Value.Text
	}
	if calls := n.Written("calls"); calls != nil {
		for _, item := range calls.Value.Items {
			if t, ok := r.target(item, file); ok {
				s.Calls = append(s.Calls, t)
			}
		}
	}
	return s
}

// times reads the distribution of the service time of a request.
func (r *scenario) times(n *syntax.Node) Times {
	if !n.IsMap() {
		return ExponentialTime(r.positive(n))
	}
	constant, p50, p99 := n.Written("constant"), n.Written("p50"), n.Written("p99")
	switch {
	case constant != nil && p50 == nil && p99 == nil:
		return ConstantTime(r.positive(constant.Value))
	case constant == nil && p50 != nil && p99 != nil:
		median, most := r.positive(p50.Value), r.positive(p99.Value)
		if most < median {
			r.problem(p99.Value.Span, "P102", "p99 %s is less than p50 %s", duration.Format(most), duration.Format(median))
			return ConstantTime(median)
		}
		return LognormalTime(median, most)
	}
	r.problem(n.Span, "P102", "time is a mean such as 100ms, {constant: 100ms}, or {p50: 80ms, p99: 500ms}")
	return ConstantTime(time.Second)
}

// load reads a load.
func (r *scenario) load(e syntax.Entry, file string) Load {
	n := e.Value
	if p := n.Written("policies"); p != nil {
		file = p.Value.Text
	}
	l := Load{Name: e.Key, Clients: integer(n, "processes", 1), Users: integer(n, "users", 0)}
	l.Target, _ = r.target(n, file)
	rate := n.Written("rate")
	switch {
	case (rate == nil) == (l.Users == 0):
		r.problem(e.At, "P102", "load %s has either rate, the calls per second, or users", e.Key)
	case rate != nil:
		l.Rate = number(rate.Value)
		if think := n.Written("think"); think != nil {
			r.problem(think.At, "P109", "think is not read without users: remove it, or write users instead of rate")
		}
	default:
		l.Think = r.duration(n, "think", time.Second)
	}
	if slices.Contains(r.services, e.Key) {
		r.problem(e.At, "P102", "%s is the name of a service: a load has a name of its own", e.Key)
	}
	return l
}

// target reads the service and the policy of a call.
func (r *scenario) target(n *syntax.Node, file string) (t Target, ok bool) {
	service, name := n.Get("service").Value, n.Get("policy").Value
	t.Service, ok = service.Text, r.known(service, "service", r.services)
	f := r.file(file, name)
	if f == nil {
		return t, false
	}
	client, found := ClientOf(f, name.Text)
	if !found {
		var names []string
		for _, p := range f.Policies {
			names = append(names, p.Name)
		}
		r.known(name, "policy", names)
		return t, false
	}
	t.Client = client
	return t, ok
}

// file returns the policy file at a path, or nil. n is the name of a policy in the file, for
// the position of an error.
func (r *scenario) file(path string, n *syntax.Node) *policy.File {
	f, ok := r.files[path]
	if !ok && r.err == nil {
		if f, r.err = r.open(path); r.err != nil {
			r.err = fmt.Errorf("%s:%d:%d: the policy %s: %w", r.name, n.Span.Line, n.Span.Col, syntax.Quote(n.Text), r.err)
		}
		r.files[path] = f
	}
	return f
}

// known reports whether a node is one of the given names.
func (r *scenario) known(n *syntax.Node, what string, names []string) bool {
	if slices.Contains(names, n.Text) {
		return true
	}
	hint := ": write " + strings.Join(names[:min(len(names), 8)], ", ")
	if near := spelling.Nearest(n.Text, names); near != "" {
		hint = ": did you mean " + near + "?"
	} else if len(names) == 0 {
		hint = ""
	}
	r.problem(n.Span, "P901", "there is no %s %s%s", what, syntax.Quote(n.Text), hint)
	return false
}

// effects lists the keys of an event that determine its effect.
var effects = []struct {
	key    string
	effect Effect
	load   bool // the effect is on a load; the other effects are on a service
}{
	{"capacity", Capacity, false}, {"time", Slowness, false}, {"errors", Errors, false}, {"down", Down, false},
	{"factor", Surge, true}, {"restart", Restart, false},
}

// event reads an event.
func (r *scenario) event(n *syntax.Node) (v Event, ok bool) {
	v.At, v.For = r.duration(n, "at", 0), r.duration(n, "for", 0)
	if least := 2 * window * time.Second; v.At < least {
		r.problem(n.Get("at").Value.Span, "P102",
			"an event begins after %s or later: the time before it shows the system without storm", duration.Format(least))
	}
	var found []string
	load := false
	for _, e := range effects {
		if written := n.Written(e.key); written != nil {
			found = append(found, e.key)
			v.Effect, load = e.effect, e.load
			if written.Value.Value != true {
				v.Factor = number(written.Value)
			}
		}
	}
	if len(found) != 1 {
		r.problem(n.Span, "P102", "an event has exactly one of capacity, time, errors, down, factor and restart")
		return v, false
	}
	switch e := n.Written("for"); {
	case v.Effect == Restart && e != nil:
		r.problem(e.At, "P109", "for is not read with restart: remove it")
	case v.Effect != Restart && v.For <= 0:
		r.problem(n.Span, "P102", "the event has no duration: write for, such as for: 10s")
	}
	return v, r.subject(n, &v, found[0], load) && r.class(n, &v)
}

// subject reads the service or the load that an event disturbs.
func (r *scenario) subject(n *syntax.Node, v *Event, effect string, ofLoad bool) bool {
	service, load := n.Written("service"), n.Written("load")
	switch {
	case (service == nil) == (load == nil), ofLoad && load == nil, !ofLoad && v.Effect != Restart && service == nil:
		what := "a service"
		switch {
		case v.Effect == Restart:
			what = "a service or a load"
		case ofLoad:
			what = "a load"
		}
		r.problem(n.Span, "P102", "%s is about %s: write its name", effect, what)
		return false
	case service != nil:
		v.Service = service.Value.Text
		return r.known(service.Value, "service", r.services)
	}
	v.Load = load.Value.Text
	return r.known(load.Value, "load", r.loads)
}

// class reads the class of the errors of an event.
func (r *scenario) class(n *syntax.Node, v *Event) bool {
	e := n.Written("class")
	switch {
	case e == nil:
		v.Class = retry.ClassServerError
		return true
	case v.Effect != Errors:
		r.problem(e.At, "P109", "class is not read without errors: remove it")
		return false
	}
	names := []string{"network", "timeout", "server_error", "rate_limit", "unknown"}
	for _, f := range r.files {
		if f == nil {
			continue
		}
		for _, class := range f.Errors {
			names = append(names, class.Name)
		}
	}
	v.Class = retry.Class(e.Value.Text)
	slices.Sort(names[5:])
	return r.known(e.Value, "class", slices.Compact(names))
}

// duration reads a duration, or returns absent if it is not set.
func (r *scenario) duration(n *syntax.Node, key string, absent time.Duration) time.Duration {
	e := n.Written(key)
	if e == nil {
		return absent
	}
	return r.positive(e.Value)
}

// positive reads a duration above 0.
func (r *scenario) positive(n *syntax.Node) time.Duration {
	d, err := duration.Parse(n.Text)
	switch {
	case err != nil:
		r.problem(n.Span, "P103", "%v", err)
	case d <= 0:
		r.problem(n.Span, "P102", "this duration is %s: write one above 0", n.Text)
	case d > longest:
		r.problem(n.Span, "P102", "this duration is %s: write one of at most %s", n.Text, duration.Format(longest))
	}
	return min(max(d, 1), longest)
}

// integer, boolean and number return a value, which has the type of the schema.

func integer(n *syntax.Node, key string, absent int) int {
	if e := n.Written(key); e != nil {
		return int(number(e.Value))
	}
	return absent
}

func boolean(n *syntax.Node, key string) bool {
	e := n.Written(key)
	return e != nil && e.Value.Value == true
}

func number(n *syntax.Node) float64 {
	switch v := n.Value.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}
