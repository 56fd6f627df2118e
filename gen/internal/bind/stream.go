package bind

import "go/types"

// isStream reports whether a result goes on using the context of the call that
// returned it: the end of a time limit would cut it off while it is read. It
// knows streams by their shape, so that those of drivers and clients that
// nobody has heard of are among them, alone or in a list or map. A channel is
// none: whether its sender ends with the context cannot be seen. Neither is a
// structure with one in a field, which has often read it to its end, nor an
// *sql.Conn, which outlives the context that it was got with.
func isStream(t types.Type) bool {
	if isOneStream(t) {
		return true
	}
	switch list := t.Underlying().(type) {
	case *types.Slice:
		return isOneStream(list.Elem())
	case *types.Array:
		return isOneStream(list.Elem())
	case *types.Map:
		return isOneStream(list.Elem())
	}
	return false
}

func isOneStream(t types.Type) bool {
	switch types.TypeString(types.Unalias(t), nil) {
	case "*database/sql.Row", "*database/sql.Tx": // rolled back with its context
		return true
	}
	return has(t, "Recv") || isReader(t) || isCursor(t) || hasBody(t) || isSequence(t)
}

// isReadOnce reports whether what a parameter gives can only be read once: an
// io.Reader or io.ReadCloser, as they are or under another name. What can do
// more may be rewound, or be a connection.
func isReadOnce(t types.Type) bool {
	iface, ok := t.Underlying().(*types.Interface)
	if _, isParam := types.Unalias(t).(*types.TypeParam); !ok || isParam || !isRead(t) {
		return false
	}
	for m := range iface.Methods() {
		if m.Name() != "Read" && m.Name() != "Close" {
			return false
		}
	}
	return true
}

// isRead reports whether t has the method of an io.Reader.
func isRead(t types.Type) bool {
	m, _, _ := types.LookupFieldOrMethod(t, true, nil, "Read")
	f, ok := m.(*types.Func)
	if !ok || f.Signature().Params().Len() != 1 {
		return false
	}
	given, ok := f.Signature().Params().At(0).Type().Underlying().(*types.Slice)
	return ok && types.Identical(given.Elem().Underlying(), types.Typ[types.Byte])
}

// has reports whether t has all of these methods.
func has(t types.Type, methods ...string) bool {
	for _, name := range methods {
		m, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
		if _, ok := m.(*types.Func); !ok {
			return false
		}
	}
	return true
}

// isReader: an io.ReadCloser, but not files and connections, which live until
// they are closed and have deadlines of their own.
func isReader(t types.Type) bool { return has(t, "Read", "Close") && !has(t, "SetDeadline") }

// isCursor: the rows of database/sql, pgx and the like. A cursor whose Next
// takes a context does not need the first one.
func isCursor(t types.Type) bool {
	if !has(t, "Next", "Close", "Err") {
		return false
	}
	next, _, _ := types.LookupFieldOrMethod(t, true, nil, "Next")
	return next.(*types.Func).Signature().Params().Len() == 0
}

// hasBody: an *http.Response, or the answer of an SDK that downloads.
func hasBody(t types.Type) bool {
	body, _, _ := types.LookupFieldOrMethod(t, true, nil, "Body")
	field, ok := body.(*types.Var)
	return ok && isReader(field.Type())
}

// isSequence: iter.Seq and iter.Seq2, which run when they are ranged over.
func isSequence(t types.Type) bool {
	f, ok := t.Underlying().(*types.Signature)
	if !ok || f.Params().Len() != 1 || f.Results().Len() != 0 {
		return false
	}
	yield, ok := f.Params().At(0).Type().Underlying().(*types.Signature)
	return ok && yield.Results().Len() == 1 && types.Identical(yield.Results().At(0).Type(), types.Typ[types.Bool])
}
