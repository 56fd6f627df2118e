package bind

import (
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// batches returns the parameters of a function that are lists of which a failed attempt may
// have sent a part, such as the messages of a Kafka producer. A partial success is possible if
// the name of the function says that it writes, and its package has an error type that lists
// several failures.
func batches(obj *types.Func, sig *types.Signature) (found []Input) {
	if !sends.MatchString(obj.Name()) || obj.Pkg() == nil {
		return nil
	}
	many := plural.MatchString(obj.Name())
	for i := range sig.Params().Len() {
		v := sig.Params().At(i)
		if isBatch(v.Type(), many) && hasPartialError(obj.Pkg()) {
			found = append(found, Input{Kind: Batch, Param: i, Text: describe(v, nil)})
		}
	}
	return found
}

var (
	sends = regexp.MustCompile(`^(Add|Append|Batch|Bulk|Emit|Enqueue|Insert|Produce|Publish|Push|Put|Save|Send|Store|` +
		`Upload|Upsert|Write)(\P{Ll}|$)`)
	plural = regexp.MustCompile(`(Many|Batch|Bulk|All|Multi)(\P{Ll}|$)`)
)

// isBatch reports whether a parameter is a list of records. If the name of the function is a
// plural, as many says, a parameter of type any may be a list, too.
func isBatch(t types.Type, many bool) bool {
	list, ok := t.Underlying().(*types.Slice)
	if !ok {
		i, isInterface := t.Underlying().(*types.Interface)
		return many && isInterface && i.Empty() && !isContext(t)
	}
	if strings.Contains(plain(list.Elem()), "Opt") {
		return false
	}
	switch elem := deref(types.Unalias(list.Elem())).Underlying().(type) {
	case *types.Struct:
		return true
	case *types.Interface:
		return many || !elem.Empty()
	}
	return false
}

// hasPartialError reports whether a package has an error type that is a list, or that contains
// a list of errors.
func hasPartialError(pkg *types.Package) bool {
	return slices.ContainsFunc(pkg.Scope().Names(), func(name string) bool {
		obj, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || !obj.Exported() || types.IsInterface(obj.Type()) || !types.Implements(addressed(obj.Type()), errorType) {
			return false
		}
		switch t := obj.Type().Underlying().(type) {
		case *types.Slice:
			return true
		case *types.Struct:
			return slices.ContainsFunc(slices.Collect(t.Fields()), func(f *types.Var) bool {
				_, isList := f.Type().Underlying().(*types.Slice)
				return isList && f.Exported() && failures.MatchString(f.Name())
			})
		}
		return false
	})
}

var failures = regexp.MustCompile(`Err(or)?s$|Fail(ed|ures)$`)
