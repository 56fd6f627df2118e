package bind

import (
	"fmt"
	"go/types"
	"path"
	"regexp"
	"slices"
)

// A recvType describes the receiver type of the methods of a bound type.
type recvType struct {
	typ   types.Type // nil for functions
	queue bool       // see isQueue
	held  *Held      // the builder that the receiver is, or nil
}

// receive makes t the receiver type of the methods that b describes.
func (b *binder) receive(t types.Type) {
	b.recv = recvType{typ: t, queue: isQueue(t)}
	if held := b.heldBy(t); held != nil {
		held.Param = -1
		b.recv.held = held
	}
}

// commands lists the result types whose documentation says that a result is not valid if its
// method Err returns an error. The error of another type may concern only a part of the result.
// For example, the error of franz-go's Fetches is the first error of any partition, and the
// records of the other partitions are valid. The paths have no major version, and the names may
// be patterns of [path.Match].
var commands = [...]struct{ path, name string }{
	{"database/sql", "Row"},
	{"github.com/jmoiron/sqlx", "Row"},
	{"github.com/redis/go-redis", "*Cmd*"}, // Cmder, and the types that implement it
	{"github.com/go-redis/redis", "*Cmd*"},
	{"github.com/redis/rueidis/rueidiscompat", "*Cmd"},
	{"github.com/valkey-io/valkey-go/valkeycompat", "*Cmd"},
	{"go.mongodb.org/mongo-driver/mongo", "SingleResult"},
	{"go.mongodb.org/mongo-driver/mongo", "DistinctResult"},
}

// isCommand reports whether a result holds the error of the call that returned it, as *sql.Row
// and the commands of Redis clients do. Its type must be in commands. The receiver must not be
// a queue, such as a pipeline, because a queue executes its commands later.
func (r recvType) isCommand(t types.Type) bool {
	named, ok := types.Unalias(deref(types.Unalias(t))).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || r.queue || !hasErr(t) {
		return false
	}
	from := majorVersion.ReplaceAllString(named.Obj().Pkg().Path(), "")
	return slices.ContainsFunc(commands[:], func(c struct{ path, name string }) bool {
		matches, _ := path.Match(c.name, named.Obj().Name())
		return matches && c.path == from
	})
}

var advance = regexp.MustCompile(`^(Step|Advance|(Has)?(Next|More))$`)

var majorVersion = regexp.MustCompile(`/v\d+\b`)

// mayHoldError reports whether the error of a result may be the error of the call, although its
// type is not in commands. It cannot be the error of the call if t is
//
//   - a cursor, with a method Next, or with a step that returns a bool, such as Scan without
//     parameters: its error concerns the items read so far;
//   - a value that continues to work after the call, and therefore has a method that returns a
//     channel, such as a context or a future;
//   - the type of the receiver: such a method is one step of a chain of calls, and a retry
//     would repeat the step.
func (r recvType) mayHoldError(t types.Type) bool {
	isStep := r.typ != nil && types.Identical(deref(t), deref(r.typ))
	if !hasErr(t) || methodOf(addressed(t), "Next") != nil || isStep || r.queue {
		return false
	}
	return !slices.ContainsFunc(methodsOf(t), func(m *types.Func) bool {
		sig := m.Signature()
		if m.Name() == "Scan" && sig.Params().Len() == 0 || advance.MatchString(m.Name()) && returns(sig, types.Bool) {
			return true
		}
		return sig.Results().Len() == 1 && isChannel(sig.Results().At(0).Type())
	})
}

// isQueue reports whether a receiver queues its commands and executes them
// together later. Such a receiver has a method that takes no parameter, or only a
// context, and returns the list of commands.
func isQueue(recv types.Type) bool {
	return slices.ContainsFunc(methodsOf(recv), func(m *types.Func) bool {
		params, results := m.Signature().Params(), m.Signature().Results()
		if params.Len() > 1 || params.Len() == 1 && !isContext(params.At(0).Type()) || results.Len() == 0 {
			return false
		}
		list, ok := results.At(0).Type().Underlying().(*types.Slice)
		return ok && hasErr(list.Elem())
	})
}

// hasErr reports whether t has the method Err() error.
func hasErr(t types.Type) bool {
	sig := methodOf(addressed(t), "Err")
	return sig != nil && sig.Params().Len() == 0 && sig.Results().Len() == 1 && isError(sig.Results().At(0).Type())
}

// takesError reports whether t is a pointer to a struct with a method
// SetErr(error).
func takesError(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	_, isStruct := p.Elem().Underlying().(*types.Struct)
	sig := methodOf(t, "SetErr")
	return isStruct && sig != nil && sig.Results().Len() == 0 &&
		sig.Params().Len() == 1 && isError(sig.Params().At(0).Type())
}

// isNilable reports whether a value of type t may be nil, so that it must be compared with nil
// before a method is called.
func isNilable(t types.Type) bool {
	if _, param := types.Unalias(t).(*types.TypeParam); param {
		return false
	}
	_, pointer := t.Underlying().(*types.Pointer)
	return pointer || types.IsInterface(t)
}

// methodsOf returns the exported methods of a variable of type t.
func methodsOf(t types.Type) (methods []*types.Func) {
	if _, pointer := t.Underlying().(*types.Pointer); !pointer && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	for s := range types.NewMethodSet(t).Methods() {
		if m := s.Obj().(*types.Func); m.Exported() {
			methods = append(methods, m)
		}
	}
	return methods
}

// isChannel reports whether t is a channel.
func isChannel(t types.Type) bool {
	_, ok := t.Underlying().(*types.Chan)
	return ok
}

// noFailure returns why no result of a function shows that a call has failed.
func (r recvType) noFailure(obj *types.Func) string {
	results := obj.Signature().Results()
	for i := range results.Len() {
		switch t := results.At(i).Type(); {
		case isError(t):
			return fmt.Sprintf("the error of %s is not its last result: move it there", obj.Name())
		case i == results.Len()-1 && types.IsInterface(t) && types.Implements(t, errorType):
			return fmt.Sprintf("%s returns %s, which cannot hold the error of an exhausted retry: return error",
				obj.Name(), plain(t))
		case i == results.Len()-1 && types.Implements(t, errorType):
			return fmt.Sprintf("%s returns %s, which as an error is never nil: return error", obj.Name(), plain(t))
		case results.Len() == 1 && hasErr(t) && r.queue:
			return fmt.Sprintf("%s only queues a command, whose error is not known yet: bind the method that executes the queue",
				obj.Name())
		case results.Len() == 1 && r.mayHoldError(t):
			return fmt.Sprintf("the Err of %s may concern only a part of what %s returns: if it concerns all, write "+
				"check: resultErr, with func resultErr(r interface{ Err() error }) error { return r.Err() }",
				plain(t), obj.Name())
		}
	}
	return fmt.Sprintf(
		"%s returns no error, so that a failure cannot be seen: return an error, or write check: FUNCTION",
		obj.Name())
}
