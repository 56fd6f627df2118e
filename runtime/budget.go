package retry

// Defaults of the fields of [BudgetPolicy] and [JobBudgetPolicy].
const (
	DefaultRatio        = 0.2
	DefaultMinPerSecond = 10.0
	DefaultBurst        = 100.0

	DefaultJobRetries     = 20
	DefaultUnitRetries    = 3
	DefaultMaxJobRetries  = 50
	DefaultMaxUnitRetries = 5
)

// A BudgetPolicy limits the retries of all calls that share a budget to a
// share of their successes, as Finagle and gRPC do: a bucket of tokens, full at
// first. It is plain data. The zero value of every field but Name means its
// default.
type BudgetPolicy struct {
	// Name of the budget in errors and events.
	Name string
	// Ratio is what a success puts in; a retry takes out 1. Zero means 0.2.
	Ratio float64
	// MinPerSecond is what flows in regardless. Zero means 10; [None] means
	// nothing.
	MinPerSecond float64
	// Burst is what the bucket holds. Zero means 100.
	Burst float64
}

// Effective returns p with every default written out.
func (p BudgetPolicy) Effective() BudgetPolicy {
	p.Ratio = orDefault(p.Ratio, DefaultRatio)
	p.MinPerSecond = orDefault(p.MinPerSecond, DefaultMinPerSecond)
	p.Burst = orDefault(p.Burst, DefaultBurst)
	return p
}

// A JobBudgetPolicy counts the retries of one job and of each of its units. It
// is plain data. The zero value of every field but Name means its default;
// [None] means no retries.
type JobBudgetPolicy struct {
	// Name of the budget in errors and events.
	Name string
	// Retries of the whole job. Zero means 20.
	Retries int
	// PerUnit is the most of them that one unit may use. Zero means 3.
	PerUnit int
	// MaxRetries and MaxPerUnit are ceilings that numbers given at run time are
	// clamped to. Zero means 50 and 5.
	MaxRetries, MaxPerUnit int
}

// Effective returns p with every default written out.
func (p JobBudgetPolicy) Effective() JobBudgetPolicy {
	p.Retries = orDefault(p.Retries, DefaultJobRetries)
	p.PerUnit = orDefault(p.PerUnit, DefaultUnitRetries)
	p.MaxRetries = orDefault(p.MaxRetries, DefaultMaxJobRetries)
	p.MaxPerUnit = orDefault(p.MaxPerUnit, DefaultMaxUnitRetries)
	return p
}
