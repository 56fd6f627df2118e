package emit

import (
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retrygen/retrygen/gen/internal/bind"
)

// The functions below derive generated names from bound symbols and from names in the policy
// file.

// WrapperName returns the name of the wrapper of a function, method or type.
func WrapperName(name string) string {
	if token.IsExported(name) {
		return "Retry" + name
	}
	return "retry" + upperFirst(name)
}

// JobName returns the name of the function that registers a durable step as a job.
func JobName(name string) string {
	if token.IsExported(name) {
		return "Handle" + name
	}
	return "handle" + upperFirst(name)
}

// ConstructorName returns the name of the constructor of a decorator.
func ConstructorName(wrapper string) string {
	if token.IsExported(wrapper) {
		return "New" + wrapper
	}
	return "new" + upperFirst(wrapper)
}

// MethodsName returns the name of the interface with the methods of a bound type
// that is not an interface.
func MethodsName(name string) string { return name + "Methods" }

// VarName returns the name of the variable that holds a policy.
func VarName(policy string) string { return "policy" + camel(policy) }

// FuncName returns the name of the generic function of a policy.
func FuncName(policy string) string { return camel(policy) }

// camel converts read_only to ReadOnly.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' }) {
		b.WriteString(upperFirst(part))
	}
	return b.String()
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

// DurablePath is the import path of package durable. Only files with durable steps
// import it.
const DurablePath = RuntimePath + "/durable"

// The import paths of the package that the generated code of durable steps calls, and of the
// package with the state that processes share through a store.
const (
	StepAPIPath = DurablePath + "/genapi"
	SharedPath  = DurablePath + "/shared"
)

// imported returns the names of all packages that f may need, by import path.
func imported(f File) map[string]string {
	paths := map[string]string{"context": "context", "regexp": "regexp", "slices": "slices", "time": "time",
		RuntimePath: "retry", GenapiPath: "genapi", RequestPath: "httpretry"}
	if f.hasBreakers() {
		paths[BreakerPath] = "breaker"
	}
	if len(f.Budgets)+len(f.StoredBudgets) > 0 {
		paths[BudgetPath] = "budget"
	}
	for _, part := range f.Parts {
		paths[part.Pkg] = path.Base(part.Pkg)
	}
	if len(f.Groups) > 0 {
		paths[JobPath] = "job"
	}
	if f.HasSteps() {
		paths[DurablePath], paths[StepAPIPath] = "durable", "genapi"
	}
	if f.HasConnected() {
		paths[SharedPath] = "shared"
	}
	if f.hasStep(func(u *Use) bool { return u.Fallback != "" }) {
		paths["errors"] = "errors"
	}
	refer := func(r *bind.Ref) {
		if r != nil && r.Pkg != "" {
			paths[r.Pkg] = r.PkgName
		}
	}
	for _, b := range f.Breakers {
		refer(b.From)
	}
	for _, b := range f.Budgets {
		refer(b.From)
	}
	for _, part := range f.Parts {
		refer(part.From)
	}
	for _, c := range f.Errors {
		for _, r := range slices.Concat(c.IsRefs, c.AsRefs) {
			refer(&r)
		}
		if len(c.GRPC) > 0 {
			paths[grpcCodes] = "codes"
		}
	}
	f.factsImports(paths)
	for _, w := range f.Wrappers {
		if w.Target.Pkg != "" {
			paths[w.Target.Pkg] = w.Target.PkgName
		}
		for _, t := range typesOf(w.Target) {
			for _, piece := range t {
				if piece.Pkg != "" {
					paths[piece.Pkg] = piece.PkgName
				}
			}
		}
	}
	return paths
}

// aliases chooses the name of every import. It is the package's own name, followed by a number
// if the analyzed package, another import or Go itself uses that name. The name err is avoided
// because jennifer reserves it.
func aliases(f File, paths map[string]string) map[string]string {
	used := map[string]bool{"err": true, "init": true}
	if f.HasFacts() {
		for _, local := range readerLocals {
			used[local] = true
		}
	}
	for _, w := range f.Wrappers {
		for _, tp := range w.Target.TypeParams {
			used[tp.Name] = true // it would hide the import in the signature
		}
	}
	chosen := map[string]string{}
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		name := paths[p]
		for n := 2; used[name] || f.Taken(name) || types.Universe.Lookup(name) != nil; n++ {
			name = paths[p] + strconv.Itoa(n)
		}
		used[name] = true
		chosen[p] = name
	}
	return chosen
}

// typesOf returns the types in the signatures of a target.
func typesOf(t *bind.Target) (all []bind.Type) {
	add := func(params []bind.Param) {
		for _, p := range params {
			all = append(all, p.Type)
		}
	}
	add(t.TypeParams)
	add([]bind.Param{t.Recv})
	funcs := []bind.Func{t.Func}
	for _, m := range t.Methods {
		funcs = append(funcs, m.Func)
	}
	for _, f := range funcs {
		add(f.Params)
		add(f.Results)
	}
	return all
}

// A scope holds the names that are in use in one function.
type scope map[string]bool

// name returns want, or want with a number if it is in use, and marks it as used.
func (s scope) name(want string) string {
	name := want
	for n := 2; s[name] || token.IsKeyword(name); n++ {
		name = want + strconv.Itoa(n)
	}
	s[name] = true
	return name
}

// locals holds the names of variables inside one wrapper.
type locals struct {
	recv    string
	params  []string
	results []string
	err     string // the last result, or a separate variable
	call    string
	named   bool // the results are named in the signature

	shared, pass, ready string

	before, after string // for a double

	race string // for a hedged attempt; first is the context of its first request

	starts []string // the start positions of the inputs that are rewound, in the order of the inputs

	// For a durable step: ctx is the context of an attempt, step is the copy of the step with
	// its breaker and budget, record and all are the type and the value of several results, and
	// failed reports whether the step has failed. first is the attempt that is made before
	// anything is recorded.
	ctx, step, record, all, failed, first string

	engine, options string // for the function that registers the step as a job
}

// choose chooses the names inside a wrapper of fn. outer lists the names declared outside the
// wrapper that it uses, which no local name may hide.
func choose(fn bind.Func, recv string, outer ...string) locals {
	s := scope{}
	for _, name := range outer {
		s[name] = true
	}
	var l locals
	l.named = len(fn.Results) > 0 && !slices.ContainsFunc(fn.Results, func(p bind.Param) bool { return unnamed(p.Name) })
	// The names in the signature come first, because they are part of the documentation.
	l.params = make([]string, len(fn.Params))
	l.results = make([]string, len(fn.Results))
	for i, p := range fn.Params {
		if !unnamed(p.Name) {
			l.params[i] = s.name(p.Name)
		}
	}
	if l.named {
		for i, p := range fn.Results {
			l.results[i] = s.name(p.Name)
		}
	}
	if recv != "" {
		l.recv = s.name(recv)
	}
	for i := range fn.Params {
		switch {
		case l.params[i] != "":
		case i == fn.Ctx:
			l.params[i] = s.name("ctx")
		default:
			l.params[i] = s.name(valueName(fn.Params[i].Type, "arg"))
		}
	}
	for i := range fn.Results {
		switch {
		case l.named:
		case i == len(fn.Results)-1 && fn.HasError:
			l.results[i] = s.name("err")
		default:
			l.results[i] = s.name(valueName(fn.Results[i].Type, "v"))
		}
	}
	if fn.HasError {
		l.err = l.results[len(l.results)-1]
	} else {
		l.err = s.name("err")
	}
	l.call = s.name("call")
	l.shared, l.pass, l.ready = s.name("shared"), s.name("pass"), s.name("ready")
	for _, in := range fn.Inputs {
		if in.Rewinds() {
			l.starts = append(l.starts, s.name("start"))
		}
	}
	if fn.Ctx >= 0 {
		l.ctx = l.params[fn.Ctx]
	} else {
		l.ctx = s.name("ctx")
	}
	l.step, l.record, l.all, l.failed = s.name("step"), s.name("results"), s.name("all"), s.name("failed")
	l.engine, l.options = s.name("engine"), s.name("options")
	l.first, l.race = s.name("first"), s.name("race")
	l.before, l.after = s.name("before"), s.name("after")
	return l
}

// unnamed reports whether a parameter has no usable name.
func unnamed(name string) bool { return name == "" || name == "_" }

// valueName returns a name for a value of type t, such as user for a *User. It
// returns otherwise if the type is predeclared or the name would hide a
// predeclared one.
func valueName(t bind.Type, otherwise string) string {
	base := t.Base()
	if base == "" || types.Universe.Lookup(base) != nil {
		return otherwise
	}
	name := lowerFirst(base)
	if strings.ToUpper(base) == base { // ID, URL
		name = strings.ToLower(base)
	}
	if len(name) == 1 || token.IsKeyword(name) || types.Universe.Lookup(name) != nil {
		return otherwise
	}
	return name
}
