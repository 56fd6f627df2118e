package genapi

import (
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
)

// A LivePackage is what may change in a generated package while the program runs: its function
// LivePolicies returns one. Packages override and live take it.
type LivePackage struct {
	Package  string        // import path
	File     string        // name of the policy file
	Text     string        // of the policy file from which the package was generated
	Policies []*retry.Live // in the order of the policy file, without those that cannot change
	Steps    []*retry.Live // the same of durable steps, which no override limits
	Shared   []LiveShared  // whose parts change with the file, in each of these
}

// A LiveShared is what calls share in a generated package.
type LiveShared struct {
	Breakers []*breaker.Breaker
	Budgets  []*budget.Budget
	Capacity capacity.Set
	Hedges   []*hedge.Hedge
}
