package emit

import (
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/retrygen/retrygen/gen/internal/bind"
)

// Names of what is generated, from the names of what is bound.

// WrapperName returns the name of the wrapper of a function, method or type.
func WrapperName(name string) string {
	if token.IsExported(name) {
		return "Retry" + name
	}
	return "retry" + upperFirst(name)
}

// ConstructorName returns the name of the constructor of a decorator.
func ConstructorName(wrapper string) string {
	if token.IsExported(wrapper) {
		return "New" + wrapper
	}
	return "new" + upperFirst(wrapper)
}

// MethodsName returns the name of the interface with the methods of a type that
// is none itself.
func MethodsName(name string) string { return name + "Methods" }

// VarName returns the name of the variable that holds a policy.
func VarName(policy string) string { return "policy" + camel(policy) }

// FuncName returns the name of the generic function of a policy.
func FuncName(policy string) string { return camel(policy) }

// camel turns read_only into ReadOnly.
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

// imported returns the names of all packages that f may need, by import path.
func imported(f File) map[string]string {
	paths := map[string]string{"context": "context", "regexp": "regexp", "slices": "slices", "time": "time",
		RuntimePath: "retry", RequestPath: "httpretry"}
	if len(f.Groups) > 0 {
		paths[JobPath] = "job"
	}
	if f.HasSteps() {
		paths[DurablePath] = "durable"
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
	for _, c := range f.Errors {
		for _, r := range slices.Concat(c.IsRefs, c.AsRefs) {
			refer(&r)
		}
		if len(c.GRPC) > 0 {
			paths[grpcCodes] = "codes"
		}
	}
	if f.GRPC {
		paths[GRPCStatus] = "status"
	}
	for _, w := range f.Wrappers {
		if w.Target.Pkg != "" {
			paths[w.Target.Pkg] = w.Target.PkgName
		}
		for _, t := range typesOf(w.Target) {
			for _, piece := range t.Split() {
				if piece.Pkg != "" {
					paths[piece.Pkg] = piece.PkgName
				}
			}
		}
	}
	return paths
}

// aliases chooses the name of every import: the package's own name, or that with
// a number where the package, another import or Go itself has it. "err" is one
// that Jennifer keeps for itself.
func aliases(f File, paths map[string]string) map[string]string {
	used := map[string]bool{"err": true, "init": true}
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

// scope gives out names that are free in one function.
type scope map[string]bool

// name returns want, or want with a number, and takes it.
func (s scope) name(want string) string {
	name := want
	for n := 2; s[name] || token.IsKeyword(name); n++ {
		name = want + strconv.Itoa(n)
	}
	s[name] = true
	return name
}

// locals are the names inside one wrapper, chosen once.
type locals struct {
	recv    string
	params  []string
	results []string
	err     string // the last result, or a variable
	call    string
	named   bool // the results are named in the signature

	shared, pass, ready string

	starts []string // of the inputs that are rewound, in their order

	// Of a durable step: the context of an attempt, the step with what it shares,
	// the type and the value of several results, and whether the step has failed.
	ctx, step, record, all, failed string
}

// choose picks the names of a wrapper of fn. outer are the names that its body
// refers to from outside, which nothing may shadow.
func choose(fn bind.Func, recv string, outer ...string) locals {
	s := scope{}
	for _, name := range outer {
		s[name] = true
	}
	var l locals
	l.named = len(fn.Results) > 0 && !slices.ContainsFunc(fn.Results, func(p bind.Param) bool { return unnamed(p.Name) })
	// The signature's own names come first: they are what a caller reads.
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
	return l
}

func unnamed(name string) bool { return name == "" || name == "_" }

// valueName calls a value after its type: user for a *User. Types of the
// language and names that would hide something of it are called otherwise.
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
