package retryloop

import (
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// sameness judges whether a value is the same in the next round of a way.
type sameness struct {
	way
	call    *ssa.Call // if not nil: by its name, what it returned stands for the same
	seen    map[ssa.Value]bool
	counted *bool // whether a number counts
	altered *bool // if not nil: whether the first failure changes something
	read    *bool // if not nil: reading again gives the same, and whether that was done
	again   bool  // what a call returns is as good as what it returned before
}

// isResult reports whether the loop gets a value from a call.
func (s sameness) isResult(v ssa.Value) bool {
	if x, ok := v.(*ssa.Extract); ok {
		v = x.Tuple
	}
	call, ok := v.(*ssa.Call)
	return ok && s.loop.blocks[call.Block()] && !isRebuilt(call) // that is a step from what it was
}

// isText reports whether a call puts together the text of something that each
// attempt makes anew.
func (s sameness) isText(call *ssa.Call) bool {
	of := receiverOf(call)
	if of == nil || nameOf(call) != "String" {
		return false
	}
	if isOfUnique(call.Common().StaticCallee()) {
		return true
	}
	made, ok := root(of).(*ssa.Alloc)
	return ok && s.loop.blocks[made.Block()]
}

func (s sameness) same(v ssa.Value) bool {
	instr, ok := v.(ssa.Instruction)
	if !ok || !s.loop.blocks[instr.Block()] {
		return true // a constant, a parameter, or defined before the loop
	}
	if IsContext(v.Type()) || isWriter(v.Type()) {
		return true // for how long an attempt may take, and who hears of it, changes nothing of what it does
	}
	if s.seen[v] {
		return true
	}
	s.seen[v] = true
	switch v := v.(type) {
	case *ssa.Phi:
		return s.samePhi(v)
	case *ssa.Alloc, *ssa.MakeMap:
		return !slices.ContainsFunc(contents(v), func(in ssa.Value) bool { return !s.same(in) })
	case *ssa.Call:
		if isUnique(v) {
			return true
		}
		if isDrawn(v) || isInvented(v) {
			return false
		}
		if s.read != nil && (GivenContext(v) != nil || getsTheSame(v)) && len(errorsOf(v)) > 0 && !isRebuilt(v) {
			*s.read = true
		}
		return (isRebuilt(v) || isMade(v) || isBuilt(v) || isDialled(v) || s.isText(v) || isPartOf(v) || isGotten(v) ||
			isSteady(v) || s.read != nil || s.again && isAsked(v)) && s.sameOperands(v)
	case *ssa.MakeClosure:
		*s.counted = *s.counted || counts(v.Fn.(*ssa.Function))
		return s.sameOperands(v)
	case *ssa.UnOp:
		return v.Op != token.ARROW && s.sameOperands(v) && s.sameVariable(v)
	case *ssa.FieldAddr:
		if identity.MatchString(structOf(v).Field(v.Field).Name()) && s.isOfAnswer(v.X) {
			return true
		}
		return s.sameOperands(instr)
	case *ssa.Next:
		return s.loop.blocks[blockOf(v.Iter)] && s.sameOperands(instr)
	case *ssa.Range, *ssa.Field, *ssa.IndexAddr, *ssa.Slice, *ssa.MakeInterface, *ssa.ChangeInterface,
		*ssa.ChangeType, *ssa.Convert, *ssa.TypeAssert, *ssa.Extract, *ssa.BinOp:
		return s.sameOperands(instr)
	case *ssa.Lookup:
		return (s.read != nil || s.again) && s.sameOperands(instr)
	}
	return false
}

// isWriter reports whether t is io.Writer, and nothing that can do more.
func isWriter(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Writer" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "io"
}

// getsTheSame reports whether a call brings the same each time, by its name, and not the
// next of several, or any of them.
func getsTheSame(call *ssa.Call) bool {
	name := nameOf(call)
	if call.Common().Signature().Params().Len() == 0 && mover.MatchString(name) {
		return false
	}
	return getter.MatchString(name) && !several.MatchString(name)
}

var several = regexp.MustCompile(
	`(?i)next|pick|choose|select|rand|any|least|most|best|free|peer|node|proxy|server|replica|broker|host|endpoint`)

// identity names what says which thing an answer is about, and asks for the same
// again: other fields of a page lead to the next.
var identity = regexp.MustCompile(`^(ID|Id|UID|UUID|ARN|Arn|Name|Namespace)$|[a-z](ID|Id|Name|Arn|ARN)$`)

// isIdentity reports whether v is read from a field that says which thing its struct is about.
func isIdentity(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	field, ok := load.X.(*ssa.FieldAddr)
	return ok && identity.MatchString(structOf(field).Field(field.Field).Name())
}

// isOfAnswer reports whether v is a variable to which the loop assigns nothing but
// what the call returned.
func (s sameness) isOfAnswer(v ssa.Value) bool {
	phi, ok := v.(*ssa.Phi)
	if !ok || s.call == nil || phi.Block() != s.loop.header {
		return false
	}
	for i, edge := range phi.Edges {
		if s.enters(phi.Block().Preds[i]) && !isResultOf(edge, s.call, 8) && edge != ssa.Value(phi) {
			return false
		}
	}
	return true
}

// sameVariable reports whether the loop assigns only the same to the local
// variable that a value is read from.
func (s sameness) sameVariable(load *ssa.UnOp) bool {
	if field, ok := load.X.(*ssa.FieldAddr); ok && !s.loop.blocks[blockOf(root(field))] {
		return !s.stepsField(field)
	}
	alloc, ok := load.X.(*ssa.Alloc)
	if !ok || s.loop.blocks[alloc.Block()] || s.seen[alloc] {
		return true
	}
	s.seen[alloc] = true
	return !slices.ContainsFunc(storesTo(alloc), func(store *ssa.Store) bool {
		return s.loop.blocks[store.Block()] && (!s.same(store.Val) || isMadeOf(store.Val, alloc))
	})
}

// stepsField reports whether the way assigns to a field what it computes from an answer,
// or from what the field was before: the number of the next page, say.
func (s sameness) stepsField(field *ssa.FieldAddr) bool {
	for b := range s.blocks {
		if slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			store, ok := instr.(*ssa.Store)
			if !ok || root(store.Addr) != root(field) {
				return false
			}
			at, ok := store.Addr.(*ssa.FieldAddr)
			_, computed := store.Val.(*ssa.BinOp)
			return ok && computed && isSameField(at, field)
		}) {
			return true
		}
	}
	return false
}

// isMadeOf reports whether a call is given what a variable held before.
func isMadeOf(v ssa.Value, alloc *ssa.Alloc) bool {
	call, ok := v.(*ssa.Call)
	return ok && slices.ContainsFunc(call.Operands(nil), func(op *ssa.Value) bool {
		load, ok := (*op).(*ssa.UnOp)
		return ok && root(load.X) == ssa.Value(alloc)
	})
}

func (s sameness) sameOperands(instr ssa.Instruction) bool {
	for _, op := range instr.Operands(nil) {
		if *op != nil && !s.same(*op) {
			return false
		}
	}
	return true
}

func (s sameness) samePhi(phi *ssa.Phi) bool {
	if phi.Block() != s.loop.header {
		return !slices.ContainsFunc(phi.Edges, func(edge ssa.Value) bool { return !s.same(edge) })
	}
	for i, edge := range phi.Edges {
		if !s.enters(phi.Block().Preds[i]) {
			continue // from before the loop, or after a success
		}
		if isConst(edge) {
			// Set by the first failure, and the same from then on.
			if s.altered != nil {
				*s.altered = true
			}
			continue
		}
		if built := callOf(edge); built != nil && isBuilt(built) && s.same(built) {
			continue // the next request is as the last
		}
		n, ok := s.stepAlong(edge, phi, 8)
		if !ok && !(s.again && s.isResult(edge) && !isResultOf(edge, s.call, 8) && s.same(edge)) {
			return false
		}
		*s.counted = *s.counted || n != 0
	}
	return true
}
