package lint

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// cenkaltiAtOnce reports whether a BackOff that is made here never waits. What is
// told of each failure may wait, or do something about it.
func cenkaltiAtOnce(args []ssa.Value) bool {
	if len(args) > 2 {
		return false
	}
	b := origin(args[1])
	for isCenkaltiCall(b, "WithContext", "WithMaxRetries") {
		call := b.(*ssa.Call)
		if isCenkaltiCall(b, "WithMaxRetries") && isFew(call.Call.Args[1]) {
			return false
		}
		b = origin(call.Call.Args[0])
	}
	return isNoDelay(b, cenkaltiPaths)
}

// cenkaltiOptionsAtOnce is cenkaltiAtOnce of the options since v5.
func cenkaltiOptionsAtOnce(args []ssa.Value) bool {
	options := args[2]
	return onlyOptions(options, "WithBackOff", "WithMaxTries", "WithMaxElapsedTime") &&
		!option(options, "WithMaxTries", isFew) &&
		option(options, "WithBackOff", func(v ssa.Value) bool { return isNoDelay(origin(v), cenkaltiNewPaths) })
}

// isNoDelay reports whether a BackOff of one of some versions is one without a delay.
func isNoDelay(b ssa.Value, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		if made, ok := b.(*ssa.Alloc); ok {
			return isNamedType(made.Type().(*types.Pointer).Elem(), path, "ZeroBackOff")
		}
		return isCallOf(b, path, "NewConstantBackOff") && isZero(b.(*ssa.Call).Call.Args[0])
	})
}

// avastAtOnce reports whether options of avast/retry-go, all of them seen, ask for a fixed
// delay of 0: any other is random, or grows.
func avastAtOnce(args []ssa.Value) bool {
	options := avastOptions(args)
	return onlyOptions(options, "Attempts", "Context", "Delay", "DelayType", "LastErrorOnly", "MaxDelay", "MaxJitter",
		"UntilSucceeded") &&
		!option(options, "Attempts", func(v ssa.Value) bool { return isFew(v) && !isZero(v) }) &&
		option(options, "Delay", isZero) && option(options, "DelayType", isFixedDelay)
}

func isFixedDelay(v ssa.Value) bool {
	fn := operation(origin(v))
	return fn != nil && fn.Name() == "FixedDelay" && isOfLibrary(fn)
}

// onlyOptions reports whether all options of a call are written where it is made, and are
// of the named functions.
func onlyOptions(options ssa.Value, names ...string) bool {
	return options != nil && seen(options) && !slices.ContainsFunc(elements(options), func(v ssa.Value) bool {
		fn := origin(v).(*ssa.Call).Call.StaticCallee()
		return fn == nil || !isOfLibrary(fn) || !slices.Contains(names, fn.Name())
	})
}

// isFew reports whether so many attempts are not worth a delay.
func isFew(v ssa.Value) bool {
	n, ok := v.(*ssa.Const)
	return ok && n.Value != nil && n.Int64() < 3
}
