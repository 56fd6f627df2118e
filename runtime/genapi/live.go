package genapi

import (
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
)

// A LivePackage contains the parts of a generated package that may change while the
// program runs. The package's LivePolicies function returns it, for packages override and
// live.
type LivePackage struct {
	Package  string        // import path of the package
	File     string        // name of the policy file
	Text     string        // text of the policy file from which the package was generated
	Policies []*retry.Live // policies in the order of the policy file, without policies that cannot change
	Steps    []*retry.Live // policies of durable steps, which overrides do not limit, in the same order
	Shared   []LiveShared  // values that calls share; a change to the file changes the settings in all of them
}

// A LiveShared contains the values that calls share in a generated package.
type LiveShared struct {
	Breakers []*breaker.Breaker
	Budgets  []*budget.Budget
	Capacity capacity.Set
	Hedges   []*hedge.Hedge
}
