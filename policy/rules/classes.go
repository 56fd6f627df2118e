package rules

import (
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/grpcstatus"
	retry "github.com/retrygen/retrygen/runtime"
)

// classRules lists the rules about classes of errors.
var classRules = []Rule{
	{ID: "P701", Severity: Error, file: permanentRetried},
	{ID: "P703", Severity: Info, file: unreachable},
}

// codes is a set of status codes: of gRPC from 1 to 16, of HTTP from 100.
type codes [600]bool

// codes returns the codes of the errors that belong to the class. It includes a
// gRPC code if the class has the code or the equivalent HTTP status.
func (c *ErrorClass) codes() *codes {
	if c.set != nil {
		return c.set
	}
	c.set = new(codes)
	for _, r := range c.HTTP {
		for status := r[0]; status <= r[1]; status++ {
			c.set[status] = true
		}
	}
	for code := uint32(1); code <= 16; code++ {
		c.set[code] = c.set[grpcstatus.HTTP(code)] || slices.Contains(c.GRPC, code)
	}
	return c.set
}

// onlyCodes reports whether codes are the only tests of the class. Classes with
// other tests cannot be compared.
func (c *ErrorClass) onlyCodes() bool {
	return !c.InGo && !c.Unknown && c.Pattern == nil && len(c.HTTP)+len(c.GRPC) > 0
}

// within reports whether all errors of the class have codes of the set.
func (c *ErrorClass) within(set *codes) bool {
	if !c.onlyCodes() {
		return false
	}
	for code, has := range c.codes() {
		if has && !set[code] {
			return false
		}
	}
	return true
}

// permanent reports whether the action of the class is to never retry its errors.
func (c *ErrorClass) permanent() bool {
	return c.Action == retry.ActionFail || c.Action == retry.ActionEscalate
}

// requestErrors are the codes of errors that the request has caused. They are never
// retried unless a class has the action retry.
var requestErrors = (&ErrorClass{
	ErrorClass: retry.ErrorClass{HTTP: [][2]int{{400, 401}, {403, 404}, {422, 422}}},
}).codes()

// A decider describes the action for errors with some code. It is the action of
// the first class with the code, unless a class above matches the error by a test
// other than codes.
type decider struct {
	class    *ErrorClass
	mayRetry bool // a class above may retry the error
	mayDefer bool // a class above may leave the decision to the policy
}

// deciders returns the decider of each code.
func (f *File) deciders() *[len(codes{})]decider {
	if f.decides != nil {
		return f.decides
	}
	f.decides = new([len(codes{})]decider)
	var above decider
	for i := range f.Errors {
		c := &f.Errors[i]
		above.class = c
		for code, has := range c.codes() {
			if d := &f.decides[code]; has && d.class == nil {
				*d = above
			}
		}
		if !c.onlyCodes() {
			above.mayRetry = above.mayRetry || c.Unknown || c.Action == retry.ActionRetry
			above.mayDefer = above.mayDefer || c.Unknown || c.Action == retry.ActionDefault
		}
	}
	return f.decides
}

// neverRetried reports whether no policy retries the errors of a class. by is the
// class whose action prevents it, if any: c, or the first above it that matches
// its errors.
func (f *File) neverRetried(c *ErrorClass) (by *ErrorClass, is bool) {
	switch {
	case c.permanent():
		return c, true
	case !c.onlyCodes():
		return nil, false
	}
	for code, has := range c.codes() {
		if !has {
			continue
		}
		d := f.deciders()[code]
		deferred := d.mayDefer || d.class.Action == retry.ActionDefault
		if d.mayRetry || d.class.Action == retry.ActionRetry || deferred && !requestErrors[code] {
			return nil, false
		}
		if by == nil && d.class.permanent() {
			by = d.class
		}
	}
	return by, true
}

// covers reports whether every error of class inner is one of outer, too.
func (f *File) covers(outer, inner retry.Class) bool {
	if covers(outer, inner) {
		return true
	}
	o, i := f.class(outer), f.class(inner)
	return o != nil && i != nil && i.within(o.codes())
}

// permanentRetried is P701.
func permanentRetried(f *File, report report) {
	for _, p := range f.Policies {
		for _, class := range p.RetryOn {
			c := f.class(class)
			if c == nil || c.Action == retry.ActionRetry { // P703 reports where that has no effect
				continue
			}
			at := Place{"policies", p.Name, "retry_on"}
			switch by, final := f.neverRetried(c); {
			case !final:
			case by == nil:
				report(Error, at,
					"`retry_on` has %s, but its statuses are errors of the request: remove it | write `retryable`: true at the class",
					className(class))
			case by == c:
				report(Error, at,
					"`retry_on` has %s, whose errors are never retried: remove it here | remove `retryable`: false at the class",
					className(class))
			default:
				report(Error, at,
					"`retry_on` has %s, but class %s above it takes its errors and never retries them: move %[1]s up under errors | "+
						"remove it", className(class), className(by.Class))
			}
		}
	}
}

// coveredByAbort is the message of P702 about two classes.
const coveredByAbort = "%s is in `retry_on`, but `abort_on` has %s, which covers it: remove one of the two"

// retriedAndAborted is the part of P702 about classes that the file defines.
func retriedAndAborted(f *File, report report) {
	for _, p := range f.Policies {
		for _, c := range p.RetryOn {
			for _, a := range p.AbortOn {
				if !covers(a, c) && f.covers(a, c) { // the check of single policies reports the others
					report(Error, Place{"policies", p.Name, "abort_on"},
						coveredByAbort, className(c), className(a))
				}
			}
		}
	}
}

// unreachable is P703.
func unreachable(f *File, report report) {
	for i := range f.Errors {
		c := &f.Errors[i]
		// Lists test every class; only actions depend on the first that matches.
		if above := f.above(c); c.Action != retry.ActionDefault && len(above) > 0 {
			report(Info, Place{"errors", string(c.Class), ""},
				"%s has no effect at class %s, since all of its codes are those of %s above it: move it up, or remove it", c.Action,
				c.Class, strings.Join(above, ", "))
		}
	}
	for _, p := range f.Policies {
		for _, list := range []struct {
			field   Field
			classes []retry.Class
		}{{"retry_on", p.RetryOn}, {"abort_on", p.AbortOn}} {
			if !p.Written(list.field) {
				continue
			}
			if outer, inner, found := f.redundant(list.classes); found {
				report(Info, Place{"policies", p.Name, list.field},
					"%s has no effect next to %s, which covers it: remove one of the two", className(inner), className(outer))
			}
		}
		for i, o := range p.PerError {
			f.schedule(p, p.PerError[:i], o.Class, report)
		}
	}
}

// schedule is the part of P703 about the schedule of one class. before are the
// schedules of the classes that are tested before it.
func (f *File) schedule(p Policy, before []retry.Override, class retry.Class, report report) {
	at := Place{"policies", p.Name, PerError(class)}
	if !p.Written(at.Field) {
		return
	}
	never := slices.ContainsFunc(p.AbortOn, func(a retry.Class) bool { return f.covers(a, class) })
	if c := f.class(class); c != nil && !never {
		_, never = f.neverRetried(c)
	}
	if never {
		report(Info, at, "errors of class %s are never retried, so this has no effect: remove it", className(class))
		return
	}
	if p.leavesOut(class) {
		report(Info, at, "errors of class %s are not in `retry_on`, so this has no effect: add it there | remove it",
			className(class))
		return
	}
	for _, o := range before {
		if f.covers(o.Class, class) {
			report(Info, at, "%s has no effect: %s is above it under errors and covers it; move %[1]s up, or remove it here",
				className(class), className(o.Class))
			return
		}
	}
}

// leavesOut reports whether no class of retry_on has errors of a class. Only classes
// that are built in have no errors in common: but for timeouts, since an attempt of
// any error may take too long.
func (p *Policy) leavesOut(class retry.Class) bool {
	disjoint := []retry.Class{retry.ClassNetwork, retry.ClassServerError, retry.ClassRateLimit}
	return len(p.RetryOn) > 0 && slices.Contains(disjoint, class) &&
		!slices.ContainsFunc(p.RetryOn, func(c retry.Class) bool { return c == class || !slices.Contains(disjoint, c) })
}

// above returns the names of the classes before c that together match all of its
// errors. It returns nil if all have the same action as c.
func (f *File) above(c *ErrorClass) (names []string) {
	if !c.onlyCodes() {
		return nil
	}
	differ := false
	for code, has := range c.codes() {
		if !has {
			continue
		}
		by := f.deciders()[code].class
		if by == c {
			return nil
		}
		differ = differ || by.Action != c.Action
		if !slices.Contains(names, string(by.Class)) {
			names = append(names, string(by.Class))
		}
	}
	if !differ {
		return nil
	}
	return names
}

// redundant returns a class of a list that another one covers.
func (f *File) redundant(list []retry.Class) (outer, inner retry.Class, found bool) {
	for _, outer := range list {
		for _, inner := range list {
			// A refusal is retried only where its class is named.
			if outer != inner && !slices.Contains(refusals, inner) && f.covers(outer, inner) {
				return outer, inner, true
			}
		}
	}
	return "", "", false
}
