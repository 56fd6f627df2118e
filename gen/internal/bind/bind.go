// Package bind finds the Go symbols that a policy file binds and turns them
// into plain data: names, parameters and types as text. It makes the only
// packages.Load of a run; nothing after it knows go/types.
package bind

import (
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// A Target is a bound symbol.
type Target struct {
	Kind       Kind
	Name       string   // of the function or type
	TypeParams []Param  // of the function or type
	Pkg        string   // import path where it is declared elsewhere, else ""
	PkgName    string   // name of that package
	Recv       Param    // Method: the receiver, by its name in the source
	Func       Func     // Function, Method
	Methods    []Method // Interface: all methods; Concrete: the exported ones; by name
	Offers     string   // a type that Methods return, as a symbol, which has methods that return errors, if any
	Pos        string   // file:line:col of the declaration, the file absolute
	Constraint string   // the build constraint under which all of it is there, or empty
}

// A Kind says what a bound symbol is.
type Kind uint8

const (
	Function Kind = iota
	MethodOf
	Interface
	Concrete // any other type, as a whole
)

// A Method is one method of a bound interface.
type Method struct {
	Func
	Pos string // file:line:col of the declaration, the file absolute
}

// A Func is a signature.
type Func struct {
	Name     string
	Doc      string
	Params   []Param
	Variadic bool
	Results  []Param
	Ctx      int    // index of the parameter that is a context.Context, or implements it, or -1
	CtxType  string // the type of that parameter, if no context.Context can be given for it: *gin.Context
	HasError bool   // the last result is an error
	Command  bool   // the only result is a command: its method Err returns the error of the call
	Nilable  bool   // the command is a pointer or an interface, and nil if a mock returns none
	// TakesError reports whether a new command can be made to hold an error.
	TakesError bool
	// NoFailure says why no result shows that a call has failed. It is empty where
	// HasError or Command is true.
	NoFailure string
	Request   int    // index of the *http.Request whose context is that of the call, where Ctx is -1; or -1
	Stream    string // the result that lives on after the call, if any: *http.Response
	Inputs    []Input
	Exchange  bool // it sends an *http.Request and returns the *http.Response
}

// TakesContext reports whether a call can be given another context.
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
	typ  types.Type // to tell whether two are the same; of a type parameter itself; may be nil
}

// A Type is the text of a type as Go writes it, in which the package of every
// name from elsewhere is marked: see [Type.Split].
type Type string

// mark surrounds the import path and the name of a package in a Type: no Go
// source contains a NUL.
const mark = "\x00"

var qualified = regexp.MustCompile(mark + "([^" + mark + "]*) ([^" + mark + "]*)" + mark + `\.([\pL_][\pL_\p{Nd}]*)`)

// ContextType is the type context.Context.
const ContextType Type = mark + "context context" + mark + ".Context"

// A Piece is a part of a type's text: a name of another package, or, where Pkg
// is empty, text as it stands.
type Piece struct{ Pkg, PkgName, Text string }

// Split cuts t into pieces.
func (t Type) Split() []Piece {
	var pieces []Piece
	text := string(t)
	for {
		m := qualified.FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		if m[0] > 0 {
			pieces = append(pieces, Piece{Text: text[:m[0]]})
		}
		pieces = append(pieces, Piece{text[m[2]:m[3]], text[m[4]:m[5]], text[m[6]:m[7]]})
		text = text[m[1]:]
	}
	if text != "" {
		pieces = append(pieces, Piece{Text: text})
	}
	return pieces
}

var baseName = regexp.MustCompile(`^\**(` + mark + `[^` + mark + `]*` + mark + `\.)?[\pL_][\pL_\p{Nd}]*$`)

// Base returns the last name in t, by which a value of it may be called: User
// for *api.User.
func (t Type) Base() string {
	if !baseName.MatchString(string(t)) {
		return ""
	}
	return string(t)[strings.LastIndexAny(string(t), "*."+mark)+1:]
}
