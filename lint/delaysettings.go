package lint

import (
	"fmt"
	"go/types"
	"slices"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

const (
	goRedis   = "github.com/redis/go-redis/v9"
	goResty   = "github.com/go-resty/resty/v2"
	goRestyv3 = "resty.dev/v3"
	awsRetry  = "github.com/aws/aws-sdk-go-v2/aws/retry"
	avastv5   = "github.com/avast/retry-go/v5"
)

// The paths of versions with the same settings.
var (
	cenkaltiPaths = []string{cenkalti, cenk, cenkalti + "/v3", cenkalti + "/v4", cenkalti + "/v5", cenkalti + "/v6",
		cenkalti + "/v7"}
	avastPaths = []string{"github.com/avast/retry-go", "github.com/avast/retry-go/v3", "github.com/avast/retry-go/v4"}
)

// delaySettings are the settings of a library for the first delay and the greatest.
type delaySettings struct {
	paths []string // of the library's versions
	// makers are functions that return what has the settings, or that are given them as options.
	makers []string
	types  []string // types whose literals have the settings
	first  delaySetting
	most   delaySetting
	// custom is a setting that makes the library read the two in another way, if there is one.
	custom string
}

// A delaySetting is a duration that a library can be given.
type delaySetting struct {
	names []string      // of the field, the method or the option that sets it; messages have the first
	unset time.Duration // if nothing sets it; 0: not known
}

// allDelaySettings is what is known of the popular libraries. A greatest delay of 0 is the default
// of a library or none, and a negative one is none.
//
// Not here are the settings of pgx: its pool and its connections retry nothing after a delay. Nor is
// AddWithMaxAttempts of the AWS SDK with 0: its rate limiter and the context of each call end its retries.
var allDelaySettings = []delaySettings{
	{paths: []string{goRedis}, types: []string{"Options", "ClusterOptions", "FailoverOptions", "RingOptions",
		"UniversalOptions"}, first: delaySetting{names: []string{"MinRetryBackoff"}},
		most: delaySetting{names: []string{"MaxRetryBackoff"}}},
	{paths: []string{goResty}, makers: []string{"New", "NewWithClient", "NewWithLocalAddr"},
		first: delaySetting{[]string{"RetryWaitTime", "SetRetryWaitTime"}, 100 * time.Millisecond},
		most:  delaySetting{[]string{"RetryMaxWaitTime", "SetRetryMaxWaitTime"}, 2 * time.Second}},
	{paths: []string{goRestyv3}, makers: []string{"New", "NewWithClient", "NewWithDialer",
		"NewWithDialerAndTransportSettings", "NewWithTransportSettings"}, custom: "SetRetryDelayStrategy",
		first: delaySetting{[]string{"RetryWaitTime", "SetRetryWaitTime"}, 100 * time.Millisecond},
		most:  delaySetting{[]string{"RetryMaxWaitTime", "SetRetryMaxWaitTime"}, 2 * time.Second}},
	{paths: []string{retryablehttp}, makers: []string{"NewClient"}, custom: "Backoff",
		first: delaySetting{[]string{"RetryWaitMin"}, time.Second},
		most:  delaySetting{[]string{"RetryWaitMax"}, 30 * time.Second}},
	{paths: []string{retryablehttp}, types: []string{"Client"}, custom: "Backoff",
		first: delaySetting{names: []string{"RetryWaitMin"}}, most: delaySetting{names: []string{"RetryWaitMax"}}},
	{paths: cenkaltiPaths, makers: []string{"NewExponentialBackOff"},
		first: delaySetting{[]string{"InitialInterval", "WithInitialInterval"}, 500 * time.Millisecond},
		most:  delaySetting{[]string{"MaxInterval", "WithMaxInterval"}, time.Minute}},
	{paths: cenkaltiPaths, types: []string{"ExponentialBackOff"},
		first: delaySetting{names: []string{"InitialInterval"}}, most: delaySetting{names: []string{"MaxInterval"}}},
	{paths: avastPaths, makers: []string{"Do", "DoWithData"}, custom: "DelayType",
		first: delaySetting{names: []string{"Delay"}}, most: delaySetting{names: []string{"MaxDelay"}}},
	{paths: []string{avastv5}, makers: []string{"New", "NewWithData"}, custom: "DelayType",
		first: delaySetting{names: []string{"Delay"}}, most: delaySetting{names: []string{"MaxDelay"}}},
	{paths: []string{awsRetry}, makers: []string{"NewStandard"}, custom: "Backoff",
		first: delaySetting{names: []string{"BaseDelay"}},
		most:  delaySetting{[]string{"MaxBackoff"}, 20 * time.Second}},
}

// contradiction describes that the first delay of what an instruction makes is above the greatest,
// or returns "". If one of the two is a default, the author may mean a constant delay.
func contradiction(instr ssa.Instruction) (text string, evidence Evidence) {
	for _, s := range allDelaySettings {
		first, most, w, ok := s.delays(instr)
		if !ok || most <= 0 || first <= most {
			continue
		}
		evidence = Library
		if !w.sets(s.first.names...) || !w.sets(s.most.names...) {
			evidence = Named
		}
		return fmt.Sprintf("the first delay %v is above %s, which is %v, so delays never grow: lower it, or raise the other",
			first, s.most.names[0], most), evidence
	}
	return "", Named
}

// delays returns the first and the greatest delay of what an instruction makes, and all of its
// settings, if the row describes it and both delays are known and have an effect.
func (s *delaySettings) delays(instr ssa.Instruction) (first, most time.Duration, w writtenSettings, ok bool) {
	if w, ok = s.writtenFor(instr); !ok {
		return 0, 0, w, false
	}
	first, known := w.value(s.first)
	most, bounded := w.value(s.most)
	return first, most, w, known && bounded && !w.sets(s.custom)
}

// writtenSettings are the values that something is given, by the name of the field, the method or
// the option.
type writtenSettings struct {
	paths   []string // of the library
	values  map[string][]ssa.Value
	kept    bool // in a variable that others may read
	changed bool // perhaps, by code that is not the library's
}

// writtenFor returns the settings of what an instruction makes, if the row describes it.
func (s *delaySettings) writtenFor(instr ssa.Instruction) (w writtenSettings, ok bool) {
	w = writtenSettings{paths: s.paths, values: map[string][]ssa.Value{}}
	switch instr := instr.(type) {
	case *ssa.Alloc:
		made := instr.Type().(*types.Pointer).Elem()
		for _, path := range s.paths {
			ok = ok || slices.ContainsFunc(s.types, func(name string) bool { return isNamedType(made, path, name) })
		}
		if ok {
			w.use(instr)
		}
	case *ssa.Call:
		for _, path := range s.paths {
			ok = ok || isCallOf(instr, path, s.makers...)
		}
		if ok {
			w.use(instr)
			for _, arg := range instr.Call.Args {
				w.options(arg)
			}
		}
	}
	return w, ok && !w.changed
}

// use collects what the fields of v are set to, and what its methods are given. A method that
// returns the same type returns v.
func (w *writtenSettings) use(v ssa.Value) {
	for _, ref := range *v.Referrers() {
		switch ref := ref.(type) {
		case *ssa.FieldAddr:
			for _, use := range *ref.Referrers() {
				if store, ok := use.(*ssa.Store); ok && store.Addr == ref {
					w.values[fieldName(ref)] = append(w.values[fieldName(ref)], store.Val)
				}
			}
		case *ssa.Call:
			w.call(v, &ref.Call)
			if types.Identical(ref.Type(), v.Type()) {
				w.use(ref)
			}
		case *ssa.Return, *ssa.DebugRef, *ssa.MakeInterface, *ssa.UnOp:
		default:
			w.kept = true
		}
	}
}

// call collects what a method of v is given. Functions of others may change v.
func (w *writtenSettings) call(v ssa.Value, call *ssa.CallCommon) {
	fn := call.StaticCallee()
	if !w.ofLibrary(fn) {
		w.changed = true
	} else if fn.Signature.Recv() != nil && call.Args[0] == v && len(call.Args) > 1 {
		w.values[fn.Name()] = append(w.values[fn.Name()], call.Args[1])
	}
}

// options collects what options are given: calls of functions of the library, or functions that
// set the fields of their parameter.
func (w *writtenSettings) options(list ssa.Value) {
	if _, ok := list.Type().Underlying().(*types.Slice); !ok || flow.IsNil(list) {
		return
	}
	written := elements(list)
	w.changed = w.changed || len(written) == 0
	for _, v := range written {
		call, isCall := origin(v).(*ssa.Call)
		if isCall && w.ofLibrary(call.Call.StaticCallee()) {
			name := call.Call.StaticCallee().Name()
			w.values[name] = append(w.values[name], call.Call.Args...)
		} else if fn := operation(origin(v)); fn != nil && len(fn.Blocks) > 0 && len(fn.Params) > 0 {
			w.use(fn.Params[0])
		} else {
			w.changed = true
		}
	}
}

// ofLibrary reports whether a function is one of the library.
func (w *writtenSettings) ofLibrary(fn *ssa.Function) bool {
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil &&
		slices.Contains(w.paths, fn.Object().Pkg().Path())
}

// sets reports whether one of the named settings is given.
func (w *writtenSettings) sets(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(w.values[name]) > 0 })
}

// value returns the constant that a setting is given, or its default if it is given none.
func (w *writtenSettings) value(s delaySetting) (time.Duration, bool) {
	var given []ssa.Value
	for _, name := range s.names {
		given = append(given, w.values[name]...)
	}
	switch len(given) {
	case 0:
		return s.unset, !w.kept
	case 1:
		return durationOf(given[0])
	}
	return 0, false
}
