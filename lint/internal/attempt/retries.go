package attempt

import (
	"time"

	"golang.org/x/tools/go/ssa"
)

// Retries describes how a function retries one of its parameters.
type Retries struct {
	Op      *ssa.Parameter
	Until   Success
	Endless bool           // only a success, or the end of Context, ends the retries
	Context *ssa.Parameter // the context that ends the retries, or nil
	Wait    time.Duration  // the longest wait between attempts that nothing ends early; 0: none
	Delay   *ssa.Parameter // the duration of such a wait, or nil
}

// Retries returns how the function of an attempt retries one of its parameters, or nil.
func (t *Attempt) Retries() *Retries {
	op := t.Parameter()
	if op == nil || !t.IsRetry() {
		return nil
	}
	// A value that the caller sets, or that the operation returns with a failure, may be a
	// limit.
	const chosen = adversary &^ (Setting | Answer)
	j := &judge{p: t.pkg, run: t.Run}
	r := &Retries{Op: op, Until: t.Until, Context: t.ending()}
	if r.Until == InField {
		r.Until = NoError // this makes no difference to callers
	}
	if t.trap(j, chosen).Traps() {
		r.Endless, r.Context = true, nil
	} else if r.Context != nil {
		r.Endless = t.trap(j, chosen|Context).Traps()
	}
	if r.Endless && len(t.Waits) == 0 && t.OneClass() {
		r.Endless = false // a conflict: one class of errors requires an immediate retry
	}
	for _, w := range t.Waits {
		if w.Heeds {
			r.Wait, r.Delay = 0, nil
			break
		}
		r.Wait = max(r.Wait, w.Max)
		if i := w.parameter(); i >= 0 {
			r.Delay = t.Fn.Params[i]
		}
	}
	return r
}
