package retryloop

import (
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// isRebuilt reports whether a call makes the same of the same arguments:
// what an attempt needs anew.
func isRebuilt(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	if fn == nil || fn.Object() == nil || fn.Object().Pkg() == nil {
		return false
	}
	return isPure(fn, 3) || isRebuiltOutside(call)
}

// isRebuiltOutside is isRebuilt of functions of other packages.
func isRebuiltOutside(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	if fn == nil || fn.Object() == nil || fn.Object().Pkg() == nil {
		return false
	}
	path, name := fn.Object().Pkg().Path(), fn.Name()
	if fn.Signature.Recv() != nil {
		switch path {
		case "net/url":
			return !strings.HasPrefix(name, "Set") && name != "Add" && name != "Del"
		case "net/http":
			return name == "Clone" || name == "WithContext"
		case "encoding/base64", "encoding/hex":
			return name == "EncodeToString"
		case "bytes":
			return name == "Bytes" || name == "String"
		case "net/netip":
			return true
		}
		return isOfTime(fn)
	}
	if isPointerOf(fn.Signature) {
		return true
	}
	switch path {
	case "context", "bytes", "strings", "strconv", "path", "path/filepath", "net/url", "net/netip", "crypto/sha256",
		"encoding/base64", "encoding/hex":
		return true
	case "io", "io/ioutil":
		return name == "NopCloser"
	case "net":
		return name == "JoinHostPort" || strings.HasPrefix(name, "Parse")
	case "net/http":
		return name == "NewRequest" || name == "NewRequestWithContext"
	case "os/exec":
		return name == "Command" || name == "CommandContext"
	case "encoding/json":
		return name == "Marshal" || name == "MarshalIndent"
	case "fmt":
		return strings.HasPrefix(name, "Sprint")
	}
	return false
}

// computes reports whether a call makes the same of the same in every round of the way,
// and so fails in each or in none.
func (w way) computes(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	if !isRebuiltOutside(call) || fn.Object().Pkg().Path() == "context" || isOfTime(fn) {
		return false
	}
	var counted bool
	s := sameness{way: w, seen: map[ssa.Value]bool{}, counted: &counted}
	return s.sameOperands(call) && !counted
}

// isPure reports whether a function of this package only computes from what it is
// given and what stands in memory. It looks depth calls deep.
func isPure(fn *ssa.Function, depth int) bool {
	if fn == nil || len(fn.Blocks) == 0 {
		return false
	}
	return !anyWithin([]*ssa.Function{fn}, depth-1,
		func(instr ssa.Instruction, depth int) (acts bool, into []*ssa.Function) {
			switch instr := instr.(type) {
			case *ssa.Store:
				_, local := root(instr.Addr).(*ssa.Alloc)
				return !local, nil
			case *ssa.UnOp:
				return instr.Op == token.ARROW, nil
			case *ssa.MapUpdate, *ssa.Send, *ssa.Select, *ssa.Go, *ssa.Defer, *ssa.Panic, *ssa.MakeChan:
				return true, nil
			case *ssa.Call:
				if isBuiltin(instr) || isRebuiltOutside(instr) {
					return false, nil
				}
				fn := instr.Common().StaticCallee()
				return fn == nil || len(fn.Blocks) == 0 || depth == 0, calleeOf(instr)
			}
			return false, nil
		})
}

// isPointerOf reports whether a function takes one value and returns a pointer to
// one of its type, as aws.String does, or the same of several, as aws.StringSlice.
func isPointerOf(sig *types.Signature) bool {
	if sig.Params().Len() != 1 || sig.Results().Len() != 1 {
		return false
	}
	given, returned := sig.Params().At(0).Type(), sig.Results().At(0).Type()
	if several, ok := given.(*types.Slice); ok {
		if pointers, ok := returned.(*types.Slice); ok {
			given, returned = several.Elem(), pointers.Elem()
		}
	}
	p, ok := returned.(*types.Pointer)
	return ok && types.Identical(p.Elem(), given)
}

// isDrawn reports whether a call draws a random number: for another port, name or
// server.
func isDrawn(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil &&
		slices.Contains([]string{"math/rand", "math/rand/v2", "crypto/rand"}, fn.Object().Pkg().Path())
}

// isUnique reports whether a call makes up a name that no other thing has: an attempt
// that gets a new one is no search for what is free.
func isUnique(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	return isOfUnique(fn) && fn.Signature.Recv() == nil && fn.Signature.Params().Len() == 0
}

func isOfUnique(fn *ssa.Function) bool {
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil &&
		uniquePackage.MatchString(fn.Object().Pkg().Path())
}

var uniquePackage = regexp.MustCompile(`(^|/)(go\.?)?(uuid|ulid|ksuid|xid)(/v\d+)?$`)

// isMade reports whether a call makes an object, or an option: a client that
// each attempt makes anew is as good as the one before. Makers of names, numbers
// and addresses are for finding another.
func isMade(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	if fn == nil || fn.Signature.Results().Len() == 0 ||
		fn.Signature.Recv() != nil && !strings.HasPrefix(fn.Name(), "With") {
		return false
	}
	made := fn.Signature.Results().At(0).Type()
	return isObject(made) && (isOption(made) || maker.MatchString(fn.Name()))
}

// isBuilt reports whether a call makes the request of an attempt, or is of a method that
// makes an object out of what its own knows.
func isBuilt(call *ssa.Call) bool {
	fn, results := call.Common().StaticCallee(), call.Common().Signature().Results()
	if results.Len() == 0 {
		return false
	}
	made := results.At(0).Type()
	if fn == nil {
		// A function that is given, or a method that an interface hides.
		return isRequest(made) && !mover.MatchString(nameOf(call)) && !mover.MatchString(nameOfValue(call.Common().Value))
	}
	return builder.MatchString(fn.Name()) &&
		(isRequest(made) || fn.Signature.Recv() != nil && maker.MatchString(fn.Name()) && isObject(made))
}

// isSteady reports whether a call is of a function of this package that cannot fail and keeps
// nothing: it returns the same for the same, or what is the case now.
func isSteady(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	if fn == nil || len(fn.Blocks) == 0 || len(fn.FreeVars) > 0 || mayFail(call) || remembers(fn, 3) {
		return false
	}
	return !anyWithin([]*ssa.Function{fn}, 2, func(instr ssa.Instruction, depth int) (bool, []*ssa.Function) {
		call, ok := instr.(*ssa.Call)
		return ok && (isDrawn(call) || isInvented(call) || isUnique(call) || mover.MatchString(nameOf(call))), calleeOf(instr)
	})
}

// isOption reports whether t is the type of an option: a function, or what is called one.
func isOption(t types.Type) bool {
	if _, ok := t.Underlying().(*types.Signature); ok {
		return true
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && strings.HasSuffix(named.Obj().Name(), "Option")
}

var (
	maker   = regexp.MustCompile(`^([Nn]ew|[Mm]ake|[Ww]ith|[Mm]ust|[Dd]efault)`)
	builder = regexp.MustCompile(`^([Nn]ew|[Mm]ake|[Bb]uild|[Cc]reate|[Pp]repare)`)
)

// isDialled reports whether a call of a function opens a connection: one to the same
// address is as good as the one before.
func isDialled(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	if fn == nil || fn.Signature.Recv() != nil || fn.Signature.Results().Len() == 0 ||
		!isObject(fn.Signature.Results().At(0).Type()) {
		return false
	}
	f, ok := fn.Object().(*types.Func)
	return strings.HasPrefix(strings.ToLower(fn.Name()), "dial") ||
		ok && strings.HasPrefix(fn.Name(), "Connect") && isOfClient(f)
}

// isPartOf reports whether a call of a method only leads to the object on which
// the next call is made, as in client.Users().Find(name). Methods that choose
// one of several are for finding another.
func isPartOf(call *ssa.Call) bool {
	results := call.Common().Signature().Results()
	if results.Len() != 1 || isError(results.At(0).Type()) || !isObject(results.At(0).Type()) || receiverOf(call) == nil {
		return false
	}
	name := nameOf(call)
	if call.Common().Signature().Params().Len() > 0 {
		name = strings.TrimPrefix(name, "Get") // what it is given says which one
	}
	if chooser.MatchString(name) {
		return false
	}
	return !slices.ContainsFunc(*call.Referrers(), func(ref ssa.Instruction) bool {
		next, ok := ref.(*ssa.Call)
		return !ok || receiverOf(next) != ssa.Value(call)
	})
}

var chooser = regexp.MustCompile(
	`(?i)next|pick|choose|select|rand|any|least|most|best|lead|primary|master|current|active|peer|conn|get|acquire|borrow|pop|take|dequeue|target`)

// isGotten reports whether a call only gets an object from its receiver, as in
// Send(n.State()) or NewClient(pool.Get()), or from its package: another that serves as
// well, but not the next of what there is.
func isGotten(call *ssa.Call) bool {
	sig := call.Common().Signature()
	if receiverOf(call) == nil && call.Common().StaticCallee() == nil || sig.Params().Len() != 0 ||
		sig.Results().Len() != 1 || isError(sig.Results().At(0).Type()) {
		return false
	}
	return isObject(sig.Results().At(0).Type()) && !mover.MatchString(nameOf(call)) || attribute.MatchString(nameOf(call))
}

// attribute names what says of a thing which one it is, or how it is written.
var attribute = regexp.MustCompile(
	`^(Get)?([A-Z][a-z]+)?(Name|Namespace|ID|Id|UID|Region|Path|Hash|Address|URL|Kind)$|^(To)?(Hex|Base58)$`)

var mover = regexp.MustCompile(
	`(?i)next|pick|choose|select([^o]|$)|rand|any|least|most|best|borrow|pop|take|dequeue|shift|recv|receive|read|scan|poll|peek|fetch|item|job|task|message|event|record|value|key|row|entry`)

// isAsked reports whether a call asks somebody for something, and neither takes
// the next of several nor makes up another.
func isAsked(call *ssa.Call) bool {
	args := len(call.Common().Args)
	if call.Common().IsInvoke() || getterValue.MatchString(nameOfValue(call.Common().Value)) {
		args++
	}
	return args > 0 && !mover.MatchString(nameOf(call)) && !inventor.MatchString(nameOf(call))
}

// getterValue names variables of functions that ask for something.
var getterValue = regexp.MustCompile(`^(?i:get|list|find|lookup)[A-Z]`)

var inventor = regexp.MustCompile(`(?i)new|gen|make|unique|uuid|random|alloc|create|free`)

// isInvented reports whether a call makes something up out of nothing: a code, a name.
func isInvented(call *ssa.Call) bool {
	results := call.Common().Signature().Results()
	return (invention.MatchString(nameOf(call)) || isOf(call, generator)) && results.Len() > 0 &&
		!isObject(results.At(0).Type()) &&
		!slices.ContainsFunc(argumentsOf(call.Common()), func(arg ssa.Value) bool { return !IsContext(arg.Type()) })
}

var (
	invention = regexp.MustCompile(`^[Gg]en(erate)?[A-Z]|(?i:unique|uuid|random)`)
	generator = regexp.MustCompile(`(?i)(generator|gen|rand)$`)
)

// movesOn reports whether an attempt is made on what may be another object than
// the one before, as a pool or a cluster gives it.
func (r Retry) movesOn() bool {
	seen := map[ssa.Value]bool{}
	var visit func(ssa.Value) bool
	visit = func(v ssa.Value) bool {
		instr, ok := v.(ssa.Instruction)
		if !ok || seen[v] || !r.failed.loop.blocks[instr.Block()] {
			return false
		}
		seen[v] = true
		if call, ok := v.(*ssa.Call); ok && isGotten(call) && chooser.MatchString(nameOf(call)) {
			return true
		}
		return slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool { return *op != nil && visit(*op) })
	}
	return slices.ContainsFunc(r.Call.Operands(nil), func(op *ssa.Value) bool { return *op != nil && visit(*op) })
}

// isObject reports whether a type is one whose values have methods or are called.
func isObject(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Interface, *types.Signature:
		return true
	case *types.Pointer:
		_, isStruct := u.Elem().Underlying().(*types.Struct)
		return isStruct
	case *types.Struct:
		return true
	}
	return false
}
