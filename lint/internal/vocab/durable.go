package vocab

import (
	"go/types"
	"regexp"
	"strings"
)

// The packages with the functions that programs and generated code call for durable runs.
const (
	DurablePath       = "github.com/retrygen/retrygen/runtime/durable"
	DurableGenapiPath = DurablePath + "/genapi"
)

// A Durable describes a function of the durable runtime. Its fields are indexes of arguments,
// counted from the receiver. 0 means that there is no such argument, because the first argument
// is the context or the engine.
type Durable struct {
	ID       []int // the values that identify the step in its run, together with the scopes of the context
	Compared []int // the values that must be the same in each execution of the run
	Policy   int   // the StepPolicy
	Step     int   // the function of a step, which is not executed again after it has succeeded
	Run      int   // the function that is executed with the context of a run
	Later    bool  // the function of a run is executed after the call has returned
	Needs    bool  // it fails without a run in its context, the first argument
	Once     bool  // it fails if it is called again, with an equal id, after a success
	Scopes   bool  // it returns the context with a scope
}

// DurableOf returns what a function of the durable runtime does, or nil for other functions.
func DurableOf(fn *types.Func) *Durable {
	if d, ok := durables[NameOf(fn)]; ok {
		return &d
	}
	return nil
}

var durables = map[Name]Durable{
	{DurablePath, "", "Step"}:       {ID: []int{1}, Step: 3, Needs: true, Once: true},
	{DurablePath, "", "Sleep"}:      {ID: []int{1}, Compared: []int{2}, Needs: true, Once: true},
	{DurablePath, "", "SleepUntil"}: {ID: []int{1}, Compared: []int{2}, Needs: true, Once: true},
	{DurablePath, "", "Wait"}:       {ID: []int{1}, Compared: []int{2}, Needs: true, Once: true},
	{DurablePath, "", "Group"}:      {Run: 3, Needs: true},
	{DurablePath, "", "GroupEach"}:  {Run: 3, Needs: true},
	{DurablePath, "", "GroupRuns"}:  {Needs: true},
	{DurablePath, "", "Start"}:      {ID: []int{2, 3}, Compared: []int{4}},
	{DurablePath, "", "Scope"}:      {ID: []int{1}, Scopes: true},

	{DurablePath, "Engine", "Run"}: {Run: 3},
	{DurablePath, "", "Run"}:       {Run: 3},
	{DurablePath, "", "Handle"}:    {Run: 2, Later: true},

	{DurableGenapiPath, "", "First"}:     {ID: []int{2}, Policy: 1, Needs: true, Once: true}, // otherwise, CallAfter fails
	{DurableGenapiPath, "", "Call"}:      {ID: []int{2}, Compared: []int{3}, Policy: 1, Step: 4, Needs: true, Once: true},
	{DurableGenapiPath, "", "CallAfter"}: {ID: []int{2}, Compared: []int{3}, Policy: 1, Step: 5, Needs: true, Once: true},
}

// IsRepeatable reports whether a run may call a step again after a success if this field of its
// StepPolicy is set.
func IsRepeatable(field string) bool { return field == "Repeat" || field == "Record" }

// IsLenient reports whether a run may call a step with other arguments if this field of its
// StepPolicy is set.
func IsLenient(field string) bool { return field == "OnChanged" }

// IsNow reports whether a function returns the time, or a duration that it measures.
func IsNow(fn *types.Func) bool {
	return Of(fn).Is(Clock) && (fn.Name() == "Now" || fn.Name() == "Since" || fn.Name() == "Until")
}

// IsDrawn reports whether a function returns a different random value in each process. It is
// not a method of a source of random numbers, and does not derive its result from an earlier
// random value.
func IsDrawn(fn *types.Func) bool {
	sig := fn.Signature()
	return Of(fn).Is(Random) && sig.Recv() == nil && draws.MatchString(fn.Name()) &&
		(sig.Params().Len() == 0 || !strings.HasPrefix(fn.Name(), "New"))
}

var draws = regexp.MustCompile(
	`^(New(String|Random|UUID|V[1467])?|Make|Text|Prime|Perm|N|(Uint|Int)(\d*|n|N|\d\d[nN])|.*Float(32|64))$`)

// IsMapOrder reports whether a function returns the keys or the values of a map in no
// particular order.
func IsMapOrder(fn *types.Func) bool {
	return fn.Pkg() != nil && fn.Pkg().Path() == "maps" && (fn.Name() == "Keys" || fn.Name() == "Values")
}

// IsSort reports whether a function sorts its first argument, or returns a sorted list.
func IsSort(fn *types.Func) bool {
	if fn.Pkg() == nil || fn.Pkg().Path() != "sort" && fn.Pkg().Path() != "slices" {
		return false
	}
	return fn.Pkg().Path() == "sort" || strings.HasPrefix(fn.Name(), "Sort")
}

// IgnoresOrder reports whether the result of a function does not depend on the order of its
// first argument, which is a list.
func IgnoresOrder(fn *types.Func) bool {
	return fn.Pkg() != nil && fn.Pkg().Path() == "slices" && ignoresOrder.MatchString(fn.Name())
}

var ignoresOrder = regexp.MustCompile(`^(Contains(Func)?|Max|Min)$`)

// IsRequest reports whether t is http.Request or a pointer to it.
func IsRequest(t types.Type) bool { return IsType(t, "net/http", "Request") }

// IsResponseWriter reports whether t is the type with which a net/http handler writes its
// response.
func IsResponseWriter(t types.Type) bool { return IsType(t, "net/http", "ResponseWriter") }

// KeepsValues reports whether a function returns a context with the values of its first
// argument, although the two contexts end for different reasons.
func KeepsValues(fn *types.Func) bool {
	n := NameOf(fn)
	return n == Name{"context", "", "WithoutCancel"} || n == Name{"os/signal", "", "NotifyContext"} ||
		n == Name{"golang.org/x/sync/errgroup", "", "WithContext"}
}

// IsSync reports whether a function belongs to a package with which goroutines wait for each
// other.
func IsSync(fn *types.Func) bool {
	return fn.Pkg() != nil && (fn.Pkg().Path() == "sync" || fn.Pkg().Path() == "sync/atomic")
}
