package bind

import (
	"go/types"
	"regexp"
)

// A result is alive if the call goes on in it after the return: it sends or
// fetches more under the context of the call, which the end of a time limit
// ends. No type says so in as many words, but one sign shows it: the result can
// be asked for work that may block or fail, and the request takes no context, so
// that the only one there is for it is that of the call. Such work is
//
//   - to take from or send to a channel, which the call goes on serving;
//   - to range over an iterator (iter.Seq, iter.Seq2);
//   - to read or write what has to be closed: io.ReadCloser, io.WriteCloser, but
//     not files and connections, which have deadlines of their own;
//   - to fetch the next item by Recv, RecvMsg, Receive, Next or a variadic Scan,
//     which return an error, or a bool that Err() error or Close() error explains;
//   - to end a transaction: Commit() error and Rollback() error.
//
// A result is alive as well through one level of what holds such a value: the
// items of a list or map; its fields, promoted ones included; and methods
// without parameters that return a channel, or a type with such a method, as the
// GetStream().Events() of event streams.
//
// A held *http.Response proves nothing, embedded or not: it is usually kept for
// its status and header after its body has been read. Neither does a chan
// struct{} behind a method or in a field: it signals the end.

// isStream reports whether a result of type t is alive.
func isStream(t types.Type) bool {
	if isAlive(t) || isHandle(t) {
		return true
	}
	switch t := t.Underlying().(type) {
	case *types.Slice:
		return isAlive(t.Elem())
	case *types.Array:
		return isAlive(t.Elem())
	case *types.Map:
		return isAlive(t.Elem())
	}
	return holdsAlive(t, 0)
}

// isAlive reports whether a value of type t itself is alive.
func isAlive(t types.Type) bool {
	if _, isChannel := t.Underlying().(*types.Chan); isChannel || isResponse(t) || isSequence(t) {
		return true
	}
	t = addressed(t)
	return isOpen(t) || isCursor(t) || receives(t) || isTransaction(t)
}

// addressed returns the type whose methods can be called on a variable of type t.
func addressed(t types.Type) types.Type {
	if _, isPointer := t.Underlying().(*types.Pointer); isPointer || types.IsInterface(t) {
		return t
	}
	return types.NewPointer(t)
}

// holdsAlive reports whether a struct, or a pointer to one, has an exported field
// that is alive. depth is how often it is embedded.
func holdsAlive(t types.Type, depth int) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || depth > 8 {
		return false
	}
	for f := range s.Fields() {
		switch {
		case isResponse(f.Type()) || isSignal(f.Type()):
		case f.Exported() && isAlive(f.Type()):
			return true
		case f.Embedded() && holdsAlive(f.Type(), depth+1):
			return true
		}
	}
	return false
}

// isHandle reports whether a method of t gives a channel of items, or what has
// one itself.
func isHandle(t types.Type) bool {
	return hasGetter(t, func(got types.Type) bool { return isChannelOfItems(got) || hasGetter(got, isChannelOfItems) })
}

func isChannelOfItems(t types.Type) bool {
	c, ok := t.Underlying().(*types.Chan)
	return ok && c.Dir() != types.SendOnly && !isSignal(t)
}

// isSignal reports whether t is a channel of empty structs.
func isSignal(t types.Type) bool {
	c, ok := t.Underlying().(*types.Chan)
	return ok && isEmptyStruct(c.Elem())
}

// hasGetter reports whether an exported method of t without parameters has one
// result, of which is holds.
func hasGetter(t types.Type, is func(types.Type) bool) bool {
	for m := range types.NewMethodSet(addressed(t)).Methods() {
		if f, ok := m.Obj().(*types.Func); ok && f.Exported() {
			if sig := f.Signature(); sig.Params().Len() == 0 && sig.Results().Len() == 1 && is(sig.Results().At(0).Type()) {
				return true
			}
		}
	}
	return false
}

// isResponse reports whether t is an http.Response, whose body is to be read.
func isResponse(t types.Type) bool { return isNamed(deref(types.Unalias(t)), "net/http", "Response") }

// isOpen reports whether t is read or written until it is closed.
func isOpen(t types.Type) bool {
	return (moves(t, "Read") || moves(t, "Write")) && methodOf(t, "Close") != nil && methodOf(t, "SetDeadline") == nil
}

// isCursor reports whether t steps through items: sql.Rows, sql.Row and those of
// other drivers, iterators of cloud APIs. One whose step takes a context does not
// need that of the call.
func isCursor(t types.Type) bool {
	if next := methodOf(t, "Next"); next != nil && isStep(t, next) {
		return true
	}
	// Values that read themselves from a database have Scan(any) error.
	scan := methodOf(t, "Scan")
	return scan != nil && isStep(t, scan) && (scan.Variadic() || !fails(scan))
}

// receives reports whether t has a method that receives a message.
func receives(t types.Type) bool {
	for m := range types.NewMethodSet(t).Methods() {
		if f, ok := m.Obj().(*types.Func); ok && receive.MatchString(f.Name()) && isStep(t, f.Signature()) {
			return true
		}
	}
	return false
}

var receive = regexp.MustCompile(`^(CloseAnd)?Rec(v|eive)(\p{Lu}|$)`)

// isTransaction reports whether t is a transaction that is rolled back when the
// context ends with which it was begun.
func isTransaction(t types.Type) bool {
	for _, name := range []string{"Commit", "Rollback"} {
		if sig := methodOf(t, name); sig == nil || !fails(sig) || takesContext(sig) {
			return false
		}
	}
	return true
}

// isStep reports whether a method of t takes no context and can fail: with an
// error, or with a bool that the error of another method explains.
func isStep(t types.Type, sig *types.Signature) bool {
	switch {
	case takesContext(sig):
		return false
	case fails(sig):
		return true
	}
	n := sig.Results().Len()
	return n > 0 && types.Identical(sig.Results().At(n-1).Type().Underlying(), types.Typ[types.Bool]) && explains(t)
}

// explains reports whether t has Err() error or Close() error.
func explains(t types.Type) bool {
	for _, name := range []string{"Err", "Close"} {
		if sig := methodOf(t, name); sig != nil && sig.Params().Len() == 0 && fails(sig) {
			return true
		}
	}
	return false
}

func takesContext(sig *types.Signature) bool {
	for v := range sig.Params().Variables() {
		if isContext(v.Type()) || implementsContext(v.Type()) {
			return true
		}
	}
	return false
}

// fails reports whether a method returns an error.
func fails(sig *types.Signature) bool {
	n := sig.Results().Len()
	return n > 0 && isError(sig.Results().At(n-1).Type())
}

// isSequence reports whether t is iter.Seq or iter.Seq2, or a function like them,
// which runs when it is ranged over.
func isSequence(t types.Type) bool {
	f, ok := t.Underlying().(*types.Signature)
	if !ok || f.Params().Len() != 1 || f.Results().Len() != 0 {
		return false
	}
	yield, ok := f.Params().At(0).Type().Underlying().(*types.Signature)
	return ok && yield.Results().Len() == 1 && types.Identical(yield.Results().At(0).Type(), types.Typ[types.Bool])
}
