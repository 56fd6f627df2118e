package retryloop

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// errorsOf returns the values through which the error of a call is known.
func errorsOf(call *ssa.Call) map[ssa.Value]bool {
	errs := map[ssa.Value]bool{}
	if isError(call.Type()) {
		errs[call] = true
	}
	for _, ref := range *call.Referrers() {
		if x, ok := ref.(*ssa.Extract); ok && isError(x.Type()) {
			errs[x] = true
		}
	}
	for e := range errs {
		for _, load := range loadsAfter(e) {
			errs[load] = true
		}
	}
	// A variable of the error joins it with those of other calls.
	for grown := true; grown; {
		grown = false
		for e := range errs {
			for _, ref := range *e.Referrers() {
				if phi, ok := ref.(*ssa.Phi); ok && !errs[phi] && isError(phi.Type()) {
					errs[phi], grown = true, true
				}
			}
		}
	}
	return errs
}

// loadsAfter returns what is read of an error from the variable that it is kept
// in, where functions defer calls or closures share it. As phis do, what is read may
// join it with those of other calls; where other functions may assign to the variable,
// only what follows at once is thought of.
func loadsAfter(err ssa.Value) (loads []ssa.Value) {
	for _, ref := range *err.Referrers() {
		store, ok := ref.(*ssa.Store)
		if ok && store.Val == err {
			loads = append(loads, loadsAtOnce(store)...)
		}
		if !ok || store.Val != err || !isShared(store.Addr) {
			continue
		}
		shared := isWrittenElsewhere(store.Addr)
		seen := map[*ssa.BasicBlock]bool{}
		var visit func([]ssa.Instruction, *ssa.BasicBlock)
		visit = func(instrs []ssa.Instruction, b *ssa.BasicBlock) {
			for _, instr := range instrs {
				if again, ok := instr.(*ssa.Store); ok && again.Addr == store.Addr {
					return
				}
				if load, ok := instr.(*ssa.UnOp); ok && load.Op == token.MUL && load.X == store.Addr {
					loads = append(loads, load)
				}
			}
			for _, s := range b.Succs {
				if !seen[s] && !shared {
					seen[s] = true
					visit(s.Instrs, s)
				}
			}
		}
		block := store.Block()
		visit(block.Instrs[slices.Index(block.Instrs, ssa.Instruction(store))+1:], block)
	}
	return loads
}

// loadsAtOnce returns what is read from a field right after it was assigned to, before
// anything else is done.
func loadsAtOnce(store *ssa.Store) (loads []ssa.Value) {
	field, ok := store.Addr.(*ssa.FieldAddr)
	if !ok {
		return nil
	}
	instrs := store.Block().Instrs
	for _, instr := range instrs[slices.Index(instrs, ssa.Instruction(store))+1:] {
		switch instr := instr.(type) {
		case *ssa.FieldAddr, *ssa.BinOp, *ssa.If, *ssa.DebugRef:
		case *ssa.UnOp:
			at, ok := instr.X.(*ssa.FieldAddr)
			if !ok || instr.Op != token.MUL {
				return loads
			}
			if isSameField(at, field) && root(at) == root(field) {
				loads = append(loads, instr)
			}
		default:
			return loads
		}
	}
	return loads
}

var errorType = types.Universe.Lookup("error").Type()

// isError reports whether t is error, or a type of a program's own that stands for it
// and has nil for a success: an interface with the method Error, or a pointer to what
// has it, or is called an error.
func isError(t types.Type) bool {
	if IsError(t) {
		return true
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return types.IsInterface(t) && types.Implements(t, errorType.Underlying().(*types.Interface))
	case *types.Pointer:
		named, ok := types.Unalias(t.Elem()).(*types.Named)
		return ok && (strings.HasSuffix(named.Obj().Name(), "Error") || hasErrorMethod(named))
	}
	return false
}

// hasErrorMethod reports whether a type has the method Error of its own.
func hasErrorMethod(named *types.Named) bool {
	for method := range named.Methods() {
		if method.Name() == "Error" && types.Identical(method.Signature(), errorMethod) {
			return true
		}
	}
	return false
}

var errorMethod = errorType.Underlying().(*types.Interface).Method(0).Signature()

// IsError reports whether t is error, and no other type.
func IsError(t types.Type) bool { return types.Identical(t, errorType) }

// onlyAsksErrors reports whether each branch of a function asks whether an error
// is nil.
func onlyAsksErrors(fn *ssa.Function) bool {
	return !slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		branch, ok := terminator(b).(*ssa.If)
		if !ok {
			return false
		}
		cmp, ok := branch.Cond.(*ssa.BinOp)
		return !ok || !isError(cmp.X.Type()) || !isNil(cmp.Y)
	})
}

// branchOn returns the branch that ends block b, if that asks how the call went that
// returned errs, and the blocks that follow a failure and a success.
func (l *loop) branchOn(b *ssa.BasicBlock,
	errs map[ssa.Value]bool) (branch *ssa.If, failing, succeeding *ssa.BasicBlock) {
	branch, ok := terminator(b).(*ssa.If)
	if !ok {
		return nil, nil, nil
	}
	failed, known := l.tells(branch.Cond, errs)
	switch {
	case !known:
		return nil, nil, nil
	case failed:
		return branch, b.Succs[0], b.Succs[1]
	}
	return branch, b.Succs[1], b.Succs[0]
}

// tells reports whether a condition says how a call went that returned errs, and whether it
// holds after a failure.
func (l *loop) tells(cond ssa.Value, errs map[ssa.Value]bool) (failed, known bool) {
	if errs[cond] {
		return false, true
	}
	switch v := cond.(type) {
	case *ssa.BinOp:
		switch compares := v.Op == token.NEQ || v.Op == token.EQL; {
		case !isError(v.X.Type()) && l.carries(v.X, errs):
			if basic, ok := v.X.Type().Underlying().(*types.Basic); ok && basic.Info()&types.IsInteger != 0 {
				return tellsCode(v)
			}
			return v.Op == token.EQL, compares && isZero(v.Y)
		case errs[v.X] && isNil(v.Y) || errs[v.Y] && isNil(v.X):
			return v.Op == token.NEQ, compares
		}
	case *ssa.Phi:
		// A variable of the round before, which each round sets.
		if v.Block() != l.header || !types.Identical(v.Type().Underlying(), types.Typ[types.Bool]) {
			return false, false
		}
		for i, edge := range v.Edges {
			if _, again := edge.(*ssa.Phi); again {
				return false, false
			}
			if !l.blocks[l.header.Preds[i]] {
				continue
			}
			says, ok := l.tells(edge, errs)
			if !ok || known && says != failed {
				return false, false
			}
			failed, known = says, true
		}
	}
	return failed, known
}

// carries reports whether v is one of some answers, or the variable that each round sets to
// one.
func (l *loop) carries(v ssa.Value, answers map[ssa.Value]bool) bool {
	phi, ok := v.(*ssa.Phi)
	if !ok || answers[v] || phi.Block() != l.header {
		return answers[v]
	}
	for i, edge := range phi.Edges {
		if l.blocks[l.header.Preds[i]] && !answers[edge] {
			return false
		}
	}
	return true
}

func isNil(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.IsNil()
}

// errorsFrom returns the errors that the loop gets from the object that a call
// returns, as from the token of an operation under way, token.Error(), or from the
// result of a query, result.Err.
func (l *loop) errorsFrom(call *ssa.Call) map[ssa.Value]bool {
	errs := map[ssa.Value]bool{}
	for _, ref := range *call.Referrers() {
		if !l.blocks[ref.Block()] {
			continue
		}
		switch ref := ref.(type) {
		case *ssa.Call:
			if asksForError(ref) && receiverOf(ref) == ssa.Value(call) {
				errs[ref] = true
			}
		case *ssa.FieldAddr:
			// A method of what is embedded there.
			for _, use := range *ref.Referrers() {
				if asked, ok := use.(*ssa.Call); ok && l.blocks[asked.Block()] && asksForError(asked) &&
					receiverOf(asked) == ssa.Value(ref) {
					errs[asked] = true
				}
			}
			l.addErrors(errs, ref, call)
		case *ssa.Field:
			if isError(ref.Type()) && !mayBeNext(call) {
				errs[ref] = true
			}
		case *ssa.Store:
			for _, field := range partsAfter(ref) {
				l.addErrors(errs, field, call)
			}
		}
	}
	return errs
}

// isDropped reports whether nobody looks at any of some errors.
func isDropped(errs map[ssa.Value]bool) bool {
	for err := range errs {
		if slices.ContainsFunc(*err.Referrers(),
			func(ref ssa.Instruction) bool { _, debug := ref.(*ssa.DebugRef); return !debug }) {
			return false
		}
	}
	return true
}

// addErrors adds what the loop reads from a field of what a call returned, if that is an
// error.
func (l *loop) addErrors(errs map[ssa.Value]bool, field *ssa.FieldAddr, call *ssa.Call) {
	if !isError(structOf(field).Field(field.Field).Type()) || mayBeNext(call) {
		return
	}
	for _, use := range *field.Referrers() {
		if load, ok := use.(*ssa.UnOp); ok && l.blocks[load.Block()] {
			errs[load] = true
		}
	}
}

// mayBeNext reports whether a call may return the next of several results: it takes that
// from somewhere, or nobody tells it what to return and it is not seen to keep nothing.
func mayBeNext(call *ssa.Call) bool {
	fn, told := call.Common().StaticCallee(), call.Common().Signature().Params().Len() > 0
	if fn == nil || len(fn.Blocks) == 0 {
		return !told
	}
	return anyInstr(fn, takes) || !told && remembers(fn, 3)
}

// partsAfter returns the fields that are read of a struct from the variable that a store
// puts it into, if nothing else is put there.
func partsAfter(store *ssa.Store) (fields []*ssa.FieldAddr) {
	kept, ok := store.Addr.(*ssa.Alloc)
	if !ok {
		return nil
	}
	for _, ref := range *kept.Referrers() {
		switch ref := ref.(type) {
		case *ssa.FieldAddr:
			if !isOnlyRead(ref) || !isPlain(ref) || !precedes(store, ref) {
				return nil
			}
			fields = append(fields, ref)
		case *ssa.UnOp, *ssa.DebugRef:
		case *ssa.Store:
			if ref != store {
				return nil
			}
		default:
			return nil // its address goes elsewhere
		}
	}
	return fields
}

// asksForError reports whether a call is of an accessor of an error, or of the
// error that an error wraps, which tries nothing by itself.
func asksForError(call *ssa.Call) bool {
	name := nameOf(call)
	return slices.Contains([]string{"Error", "Err", "Cause", "Unwrap"}, name) && isError(call.Type()) &&
		call.Common().Signature().Params().Len() == 0 && receiverOf(call) != nil
}

// seesError reports whether block b only runs when an error is not nil, which is asked
// behind block since, or anywhere in the function if that is nil.
func seesError(b, since *ssa.BasicBlock) bool {
	for ; b != since && b.Idom() != nil; b = b.Idom() {
		if failingEdge(b.Idom()) == b && len(b.Preds) == 1 {
			return true
		}
	}
	return false
}

// failingEdge returns what follows block b when an error is not nil, if that is
// what it asks.
func failingEdge(b *ssa.BasicBlock) *ssa.BasicBlock {
	branch, ok := terminator(b).(*ssa.If)
	if !ok {
		return nil
	}
	cmp, ok := branch.Cond.(*ssa.BinOp)
	if !ok || !isError(cmp.X.Type()) || !isNil(cmp.Y) {
		return nil
	}
	switch cmp.Op {
	case token.NEQ:
		return b.Succs[0]
	case token.EQL:
		return b.Succs[1]
	}
	return nil
}
