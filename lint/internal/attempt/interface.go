package attempt

import (
	"go/types"
	"sync"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// methods contains the methods with a body of a package, by name.
type methods struct {
	once   sync.Once
	byName map[string][]*ssa.Function
}

// implementations returns the methods in the package that a call of an interface method may
// execute. Other packages may have more.
func (p *Package) implementations(call *ssa.CallCommon) (found []*ssa.Function) {
	if !call.IsInvoke() {
		return nil
	}
	of, ok := call.Value.Type().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	p.methods.once.Do(func() {
		p.methods.byName = map[string][]*ssa.Function{}
		for _, fn := range p.fns {
			if fn.Signature.Recv() != nil {
				p.methods.byName[fn.Name()] = append(p.methods.byName[fn.Name()], fn)
			}
		}
	})
	for _, fn := range p.methods.byName[call.Method.Name()] {
		recv := fn.Signature.Recv().Type()
		if types.Implements(recv, of) || types.Implements(types.NewPointer(recv), of) {
			found = append(found, fn)
		}
	}
	return found
}

// leavesBehind reports whether all methods in the package that a call of an interface method
// may execute leave the process. It also returns the evidence, which is weaker for an exported
// interface, because other packages can implement it.
func (p *Package) leavesBehind(call *ssa.CallCommon) (vocab.Evidence, bool) {
	found := p.implementations(call)
	for _, fn := range found {
		if !p.summary(flow.Generic(fn)).Is(vocab.Remote) {
			return 0, false
		}
	}
	evidence := vocab.Named
	if name := vocab.TypeName(call.Value.Type()); name != nil && !name.Exported() {
		evidence = vocab.Library
	}
	return evidence, len(found) > 0
}
