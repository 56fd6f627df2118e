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
	Name       string   // name of the function or type
	TypeParams []Param  // type parameters of the function or type
	Pkg        string   // import path of its package, or "" for the package itself
	PkgName    string   // name of that package
	Home       string   // name for the declaring package in the names of durable steps: see home
	Path       string   // import path of the declaring package
	Recv       Param    // MethodOf: the receiver, with its name in the source
	Func       Func     // Function, MethodOf: the signature
	Methods    []Method // Interface: all methods; Concrete: the exported ones; sorted by name
	Offers     string   // symbol of a type that Methods return and whose methods return errors, or ""
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
	Nilable  bool   // the command may be nil, for example if a mock returns it
	// TakesError reports whether a new value of the only result, such as a command, can hold an
	// error, because it has a method SetErr.
	TakesError bool
	HasErr     bool // the only result has a method Err, whose error may differ from the error of the call
	// NoFailure is why no result shows that a call has failed. It is empty if
	// HasError or Command is true.
	NoFailure string
	Request   int    // index of the *http.Request that has the context of the call if Ctx is -1; or -1
	Held      *Held  // the builder that has the context of the call if Ctx and Request are -1; or nil
	Stream    string // type of a result that uses the context after the call, such as *http.Response, or ""
	Closes    string // type of a result that has to be closed, or ""
	Inputs    []Input
	Carried   Carried // how a failed attempt changes the state of the receiver
	Writes    string  // what shows that the function writes: its name or its result; or ""
	Exchange  bool    // the function returns an *http.Response and an error
	Status    *Status // an HTTP status in the result that does not make the call fail; or nil
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
	typ  types.Type // for comparisons; for a type parameter, the parameter itself; may be nil
}
