package main

import (
	"context"
	"errors"
	"fmt"

	retry "github.com/retrygen/retrygen/runtime"

	"github.com/retrygen/retrygen/contrib/consumer/shared/variables/a"
	"github.com/retrygen/retrygen/contrib/consumer/shared/variables/b"
	"github.com/retrygen/retrygen/contrib/consumer/shared/variables/infra"
)

func main() {
	ctx := context.Background()
	fmt.Println("b:", b.RetryRead(ctx))
	fmt.Println("a:", errors.Is(a.RetryRead(ctx), retry.ErrBreakerOpen), infra.Breaker.State(), infra.Budget.Left())
	fmt.Println("b:", errors.Is(b.RetryRead(ctx), retry.ErrBreakerOpen))
	for range 4 {
		b.RetryOther(ctx)
		a.RetryOther(ctx)
	}
	fmt.Println(infra.Value.State(), a.Own.State())
	fmt.Println(a.NewShared().ApiBreaker == infra.Breaker, a.NewShared().ApiBudget == infra.Budget,
		b.NewShared().ValueBreaker == &infra.Value)
}
