package attempt

import (
	"time"

	"golang.org/x/tools/go/ssa"
)

// Retries describes how a function retries one of its parameters.
type Retries struct {
	Op      *ssa.Parameter
	Until   Success
	Endless bool           // nothing but a success, or the end of Context, ends the retries
	Context *ssa.Parameter // the retries end when it ends; or nil
	Wait    time.Duration  // the longest wait between attempts that nothing ends early; 0: there is none
	Delay   *ssa.Parameter // says how long such a wait is, or nil
}

// Retries returns how the function of an attempt retries one of its parameters, or nil.
func (t *Attempt) Retries() *Retries {
	op := t.Parameter()
	if op == nil || !t.IsRetry() {
		return nil
	}
	// What its caller sets, or the operation returns with a failure, may be a limit.
	const chosen = adversary &^ (Setting | Answer)
	j := &judge{p: t.pkg, run: t.Run}
	r := &Retries{Op: op, Until: t.Until, Context: t.ending()}
	if r.Until == InField {
		r.Until = NoError // for callers it is the same
	}
	if t.trap(j, chosen).Traps() {
		r.Endless, r.Context = true, nil
	} else if r.Context != nil {
		r.Endless = t.trap(j, chosen|Context).Traps()
	}
	if r.Endless && len(t.Waits) == 0 && t.OneClass() {
		r.Endless = false // a conflict: one class of errors asks for the same at once
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
