// Package bind finds the Go symbols that a policy file binds and describes them as
// plain data: names, parameters, and types as text. Only this package loads Go
// packages and uses go/types.
package bind

import (
	"go/types"
	"slices"
)

// A Target is a bound symbol.
type Target struct {
	Kind       Kind
	Name       string   // of the function or type
	TypeParams []Param  // of the function or type
	Pkg        string   // import path of its package, or "" for the package itself
	PkgName    string   // name of that package
	Home       string   // the package that declares it, in the names of durable steps: see home
	Path       string   // import path of that package
	Recv       Param    // MethodOf: the receiver, with its name in the source
	Func       Func     // Function, MethodOf: the signature
	Methods    []Method // Interface: all methods; Concrete: the exported ones; sorted by name
	Offers     string   // symbol of a type that Methods return and that has methods that return errors, or ""
	Pos        string   // file:line:col of the declaration, with an absolute path
	Constraint string   // build constraint of the builds that declare it, or empty for all
}

// A Kind is the kind of a bound symbol.
type Kind uint8

// The kinds.
const (
	Function  Kind = iota
	MethodOf       // one method of a type
	Interface      // an interface with all its methods
	Concrete       // any other type with its exported methods
)

// IsWhole reports whether all methods of a type are bound.
func (t *Target) IsWhole() bool { return t.Kind == Interface || t.Kind == Concrete }

// A Method is one method of a bound type.
type Method struct {
	Func
	Pos string // file:line:col of the declaration, with an absolute path
}

// A Func describes a function or method.
type Func struct {
	Name     string
	Package  string // import path of the package that declares it
	Doc      string
	Params   []Param
	Variadic bool
	Results  []Param
	Ctx      int    // index of the parameter that is a context.Context, or implements it, or -1
	CtxType  string // type of that parameter if it is not context.Context, such as *gin.Context
	HasError bool   // the last result is an error
	Command  bool   // the only result is a command: its method Err returns the error of the call
	Nilable  bool   // the command may be nil, as from a mock
	// TakesError reports whether a new value of the only result, such as a command,
	// can hold an error: it has a method SetErr.
	TakesError bool
	HasErr     bool // the only result has a method Err, whose error may be another one than the error of the call
	// NoFailure is why no result shows that a call has failed. It is empty if
	// HasError or Command is true.
	NoFailure string
	Request   int    // index of the *http.Request that has the context of the call if Ctx is -1; or -1
	Held      *Held  // the builder that has the context of the call if Ctx and Request are -1; or nil
	Stream    string // type of a result that uses the context after the call, such as *http.Response, or ""
	Closes    string // type of a result that has to be closed, or ""
	Inputs    []Input
	Carried   Carried // the state of the receiver that a failed attempt leaves
	Writes    string  // what shows that it writes: its name, its result; or ""
	Exchange  bool    // it returns an *http.Response and an error
	Status    *Status // of its result, with which it does not fail; or nil
}

// TakesContext reports whether the wrapper can pass another context to a call.
func (f *Func) TakesContext() bool { return f.Ctx >= 0 && f.CtxType == "" || f.Request >= 0 }

// WithReceiver returns f as a function whose first parameter is the receiver.
func (f Func) WithReceiver(recv Param) Func {
	f.Params = append([]Param{recv}, f.Params...)
	if f.Ctx >= 0 {
		f.Ctx++
	}
	if f.Request >= 0 {
		f.Request++
	}
	if f.Held != nil {
		held := *f.Held
		held.Param++
		f.Held = &held
	}
	f.Inputs = slices.Clone(f.Inputs)
	for i := range f.Inputs {
		f.Inputs[i].Param++
	}
	return f
}

// A Param is a parameter, result or type parameter. Its name may be empty or
// "_".
type Param struct {
	Name string
	Type Type
	typ  types.Type // for comparisons; of a type parameter, the parameter itself; may be nil
}
