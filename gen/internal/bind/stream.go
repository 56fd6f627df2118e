package bind

import (
	"go/types"
	"regexp"
	"slices"
)

// A result is live if it still uses the context of the call after the call returns, to send or
// fetch more data. A time limit that ends the context then breaks the result. A type is
// recognized as live by operations that may block or fail and that take no context, so that
// only the context of the call can limit them:
//
//   - to receive from or send to a channel that the call still serves;
//   - to range over an iterator (iter.Seq, iter.Seq2);
//   - to read or write a value that has to be closed, such as an io.ReadCloser or
//     io.WriteCloser, except files and connections, which have their own deadlines;
//   - to fetch the next item by Recv, RecvMsg, Receive, Next or a variadic Scan, if it returns
//     an error, or a bool whose reason Err() error or Close() error returns;
//   - to end a transaction, with Commit() error and Rollback() error.
//
// A result that directly contains such a value is live as well. The value may be an item of a
// list or map, a field, including promoted ones, or the channel that a method without
// parameters returns. That method may also return a type with such a method, as in
// GetStream().Events() of event streams.
//
// Some values do not make a result live. A field of type *http.Response is usually kept for its
// status and header after its body was read. A chan struct{} in a field or from a method only
// signals the end.

// hasClose reports whether a value of type t has a method Close without parameters.
func hasClose(t types.Type) bool {
	sig := methodOf(addressed(t), "Close")
	return sig != nil && sig.Params().Len() == 0
}

// isStream reports whether a result of type t is live.
func isStream(t types.Type) bool {
	if isLive(t) || isHandle(t) {
		return true
	}
	switch t := t.Underlying().(type) {
	case *types.Slice:
		return isLive(t.Elem())
	case *types.Array:
		return isLive(t.Elem())
	case *types.Map:
		return isLive(t.Elem())
	}
	return holdsLive(t, 0)
}

// isLive reports whether a value of type t itself is live.
func isLive(t types.Type) bool {
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

// holdsLive reports whether a struct, or a pointer to one, has an exported field that is live.
// depth is the depth of embedding.
func holdsLive(t types.Type, depth int) bool {
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
		case f.Exported() && isLive(f.Type()):
			return true
		case f.Embedded() && holdsLive(f.Type(), depth+1):
			return true
		}
	}
	return false
}

// isHandle reports whether a method of t returns a channel of items, or a value with a method
// that does.
func isHandle(t types.Type) bool {
	return hasGetter(t, func(got types.Type) bool { return isChannelOfItems(got) || hasGetter(got, isChannelOfItems) })
}

// isChannelOfItems reports whether t is a channel from which items are received.
func isChannelOfItems(t types.Type) bool {
	c, ok := t.Underlying().(*types.Chan)
	return ok && c.Dir() != types.SendOnly && !isSignal(t)
}

// isSignal reports whether t is a channel of empty structs.
func isSignal(t types.Type) bool {
	c, ok := t.Underlying().(*types.Chan)
	return ok && isEmptyStruct(c.Elem())
}

// hasGetter reports whether t has an exported method without parameters and with
// one result for which is returns true.
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

// isResponse reports whether t is an http.Response or a pointer to one.
func isResponse(t types.Type) bool { return isNamed(deref(types.Unalias(t)), "net/http", "Response") }

// isOpen reports whether t is read or written until it is closed, and does not have its own
// deadlines.
func isOpen(t types.Type) bool {
	return (moves(t, "Read") || moves(t, "Write")) && methodOf(t, "Close") != nil && methodOf(t, "SetDeadline") == nil
}

// isCursor reports whether t steps through items, as sql.Rows, sql.Row and the iterators of
// cloud APIs do. If its step takes a context, it does not use the context of the call, and is
// not a cursor. Neither is a page, whose Next returns another page, nor a value that makes its
// own requests.
func isCursor(t types.Type) bool {
	if next := methodOf(t, "Next"); next != nil && isStep(t, next) {
		first := next.Results().At(0).Type()
		return !types.Identical(deref(first), deref(t)) && !makesRequests(t)
	}
	// Types that read themselves from a database have the method Scan(any) error.
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
// context of the call ends.
func isTransaction(t types.Type) bool {
	for _, name := range []string{"Commit", "Rollback"} {
		if sig := methodOf(t, name); sig == nil || !fails(sig) || takesContext(sig) {
			return false
		}
	}
	return true
}

// isStep reports whether a method of t takes no context and can fail. It returns an error, or a
// bool whose reason another method returns.
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

// makesRequests reports whether a method of t takes a context and returns a value
// and an error, as the methods of clients and of the consumers of JetStream do.
func makesRequests(t types.Type) bool {
	return slices.ContainsFunc(methodsOf(t), func(m *types.Func) bool {
		sig := m.Signature()
		return takesContext(sig) && fails(sig) && sig.Results().Len() > 1
	})
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

// takesContext reports whether a parameter is a context.
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

// isSequence reports whether t is iter.Seq or iter.Seq2, or a function type like them. Such a
// function does its work when a loop ranges over it.
func isSequence(t types.Type) bool {
	f, ok := t.Underlying().(*types.Signature)
	if !ok || f.Params().Len() != 1 || f.Results().Len() != 0 {
		return false
	}
	yield, ok := f.Params().At(0).Type().Underlying().(*types.Signature)
	return ok && yield.Results().Len() == 1 && types.Identical(yield.Results().At(0).Type(), types.Typ[types.Bool])
}
