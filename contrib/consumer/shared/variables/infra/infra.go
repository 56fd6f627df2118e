package infra

import (
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
)

var (
	Breaker = breaker.New(breaker.Policy{Name: "api", Failures: 2})
	Value   breaker.Breaker
	Budget  = budget.New(budget.Policy{Name: "api", Burst: 3, MinPerSecond: budget.NoRefill})

	Late  *breaker.Breaker
	Count int
)

func Func() *breaker.Breaker { return Breaker }
