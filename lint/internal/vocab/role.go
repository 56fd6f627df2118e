package vocab

import (
	"go/types"
	"regexp"
	"strings"
	"sync"
)

// A Role is a set that describes what a function does, as far as that is known without its
// body.
type Role uint32

// The roles.
const (
	Pure     Role = 1 << iota // it returns the same result for the same arguments, and changes nothing
	Logs                      // it changes nothing that an operation depends on
	Clock                     // it reads the time, or creates a value that a time ends
	Waits                     // it blocks for a time
	Receives                  // it returns a different item each time
	Makes                     // it creates an equal object each time
	Remote                    // it leaves the process
	Exits                     // it does not return
	Asks                      // it asks a person
	Serves                    // it returns when the code that it runs has ended, which may be never
	Locks                     // it fails because others hold what it needs
	Judges                    // it reports which kind of error an error is
	Random                    // its result is random
	Cleans                    // it closes, cancels or unlocks something
	Stops                     // it reports whether other code has asked to stop
	Derives                   // it returns a context that is derived from a context argument
	Gets                      // it creates or requests its result
	Loads                     // it reads the variable to which its receiver, or first argument, points
	Stores                    // it writes to that variable
	Fails                     // it returns an error that is not nil
	Wraps                     // it returns an error that is nil if and only if its first argument is
	Roots                     // it returns a context that never ends
	Limits                    // the context that it derives ends at some time
	Ends                      // it reports whether a context has ended, and why
	Adds                      // it returns a time that is later by a duration
	Attaches                  // it returns a context that others end, such as that of a request or a signal
	Blocks                    // it blocks until it succeeds, and fails immediately
	Persists                  // after one failure, it always fails immediately
	Ticks                     // it returns a channel on which the time is sent repeatedly
)

// A Row assigns a role to the functions that it describes. Pkg, Recv and Name are regular
// expressions that match the whole import path, the whole name of the receiver's type, and the
// whole name of the function. An empty Recv describes functions without a receiver, and ".*"
// describes functions and methods.
type Row struct {
	Pkg, Recv, Name string
	Role            Role
	Duration        int // index of the duration, or of the time that the result refers to; -1 if there is none
	Evidence        Evidence
}

// A Known is what the table contains about one function.
type Known struct {
	Role     Role
	Duration int // as in a Row
	Evidence Evidence
}

// Is reports whether a function has one of the given roles.
func (k Known) Is(roles Role) bool { return k.Role&roles != 0 }

// NameOf returns the name of a function or method. The receiver is the name of its type,
// without a pointer. Methods of unnamed types have the receiver "interface". A method that
// takes call options of gRPC or of Google's clients has the name of the gRPC method that it
// calls. A method Recv of a gRPC stream has the name of the stream method that it calls.
func NameOf(fn *types.Func) Name {
	fn = fn.Origin()
	if takesCallOptions(fn.Signature()) {
		return Name{"google.golang.org/grpc", "ClientConnInterface", "Invoke"}
	}
	if fn.Name() == "Recv" && isStream(fn.Signature()) {
		return Name{"google.golang.org/grpc", "Stream", "RecvMsg"}
	}
	n := Name{Func: fn.Name()}
	if fn.Pkg() != nil {
		n.Pkg = fn.Pkg().Path()
		if i := strings.LastIndex(n.Pkg, "/vendor/"); i >= 0 {
			n.Pkg = n.Pkg[i+len("/vendor/"):]
		}
	}
	if recv := fn.Signature().Recv(); recv != nil {
		n.Recv = "interface"
		if t := TypeName(recv.Type()); t != nil {
			n.Recv = t.Name()
		}
	}
	return n
}

func takesCallOptions(sig *types.Signature) bool {
	if !sig.Variadic() || sig.Recv() == nil {
		return false
	}
	last := sig.Params().At(sig.Params().Len() - 1).Type()
	slice, ok := last.(*types.Slice)
	return ok && (IsType(slice.Elem(), "google.golang.org/grpc", "CallOption") ||
		IsType(slice.Elem(), "github.com/googleapis/gax-go/v2", "CallOption"))
}

// isStream reports whether a method belongs to a generated type that embeds a gRPC stream.
func isStream(sig *types.Signature) bool {
	if sig.Recv() == nil {
		return false
	}
	obj, _, _ := types.LookupFieldOrMethod(sig.Recv().Type(), true, nil, "RecvMsg")
	return obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == "google.golang.org/grpc"
}

// TypeName returns the name of a type, or of the type that it points to, or nil.
func TypeName(t types.Type) *types.TypeName {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj()
	}
	return nil
}

// IsType reports whether t is the named type of a package, or a pointer to it.
func IsType(t types.Type, pkg, name string) bool {
	obj := TypeName(t)
	return obj != nil && obj.Name() == name && obj.Pkg() != nil && obj.Pkg().Path() == pkg
}

// Of returns what the table contains about a function. If a row with library evidence describes
// the function, that is the first such row. Otherwise, Of combines all rows with named
// evidence. It may be called concurrently.
func Of(fn *types.Func) Known {
	all := Known{Duration: -1, Evidence: Named}
	for _, r := range roles.all(NameOf(fn)) {
		if r.Evidence > Named {
			return Known{r.Role, r.Duration, r.Evidence}
		}
		all.Role |= r.Role
		all.Duration = max(all.Duration, r.Duration)
	}
	return all
}

var roles = index[Row]{rows: Table, pattern: func(r Row) Name { return Name{r.Pkg, r.Recv, r.Name} }}

// EndsByName reports whether the name of an error or a variable suggests that other code has
// asked to stop, or that there are no more items.
func EndsByName(name string) bool { return ends.MatchString(name) }

var ends = regexp.MustCompile(`(?i)closed|shutdown|shuttingdown|stopp|cancel|terminat|exit|quit|EOF|done`)

// StopsByName reports whether the name of a channel suggests that it is closed to ask its
// receivers to stop.
func StopsByName(name string) bool { return stops.MatchString(name) }

var stops = regexp.MustCompile(`(?i)stop|quit|done|exit|clos|shutdown|terminat|cancel|kill`)

// IsContext reports whether t is context.Context, a type that embeds it, or a pointer to such a
// type. The channel of such a type is that of the embedded context.
func IsContext(t types.Type) bool {
	obj := TypeName(t)
	if obj == nil || obj.Pkg() == nil {
		return false
	}
	if obj.Pkg().Path() == "context" {
		_, pointer := types.Unalias(t).(*types.Pointer)
		return obj.Name() == "Context" && !pointer
	}
	if is, ok := contexts.Load(obj); ok {
		return is.(bool)
	}
	done, _, _ := types.LookupFieldOrMethod(obj.Type(), true, obj.Pkg(), "Done")
	is := done != nil && done.Pkg() != nil && done.Pkg().Path() == "context"
	contexts.Store(obj, is)
	return is
}

var contexts sync.Map // by *types.TypeName: whether values of the type are contexts

// IsCancel reports whether t is the type of functions that end a context.
func IsCancel(t types.Type) bool {
	return IsType(t, "context", "CancelFunc") || IsType(t, "context", "CancelCauseFunc")
}

// IsNamedContext reports whether t is a context according to both its methods and its name.
func IsNamedContext(t types.Type) bool {
	return IsContext(t) && namedContext.MatchString(TypeName(t).Name())
}

var namedContext = regexp.MustCompile(`(?i)(context|ctx)$`)

// IsTimer reports whether t is a time.Timer or time.Ticker, or a pointer to one.
func IsTimer(t types.Type) bool { return IsType(t, "time", "Timer") || IsTicker(t) }

// IsTicker reports whether t is a time.Ticker or a pointer to one.
func IsTicker(t types.Type) bool { return IsType(t, "time", "Ticker") }

// MayFailTest reports whether values of type t can end a test, because they have a method
// FailNow.
func MayFailTest(t types.Type) bool {
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, "FailNow")
	_, method := obj.(*types.Func)
	return method
}

// IsSignal reports whether a channel of type t receives signals of the operating system, which
// ask a program to end.
func IsSignal(t types.Type) bool {
	ch, ok := t.Underlying().(*types.Chan)
	return ok && IsType(ch.Elem(), "os", "Signal")
}

// IsStopChannel reports whether values of type t are channels without content, which are closed
// instead of sent on.
func IsStopChannel(t types.Type) bool {
	ch, ok := t.Underlying().(*types.Chan)
	if !ok || ch.Dir() == types.SendOnly {
		return false
	}
	empty, ok := ch.Elem().Underlying().(*types.Struct)
	return ok && empty.NumFields() == 0
}

// IsTime reports whether t is time.Time or a pointer to it.
func IsTime(t types.Type) bool { return IsType(t, "time", "Time") }

// IsDuration reports whether t is time.Duration.
func IsDuration(t types.Type) bool {
	_, pointer := types.Unalias(t).(*types.Pointer)
	return !pointer && IsType(t, "time", "Duration")
}

// IsTest reports whether t is a test, a benchmark or a fuzz test, or a pointer to one.
func IsTest(t types.Type) bool {
	obj := TypeName(t)
	return obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == "testing"
}

// IsConn reports whether t is a connection of the standard library, or a pointer to one.
func IsConn(t types.Type) bool {
	obj := TypeName(t)
	return obj != nil && obj.Pkg() != nil && (obj.Pkg().Path() == "net" || obj.Pkg().Path() == "crypto/tls") &&
		strings.HasSuffix(obj.Name(), "Conn")
}
