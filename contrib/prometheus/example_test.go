package promretry_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	promretry "github.com/retrygen/retrygen/contrib/prometheus"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/job"
)

func Example() {
	registry := prometheus.NewRegistry()
	metrics := promretry.New(promretry.Options{})
	registry.MustRegister(metrics)

	engine, err := durable.New(memory.New(), durable.OnEvent(metrics.ObserveDurable))
	if err != nil {
		fmt.Println(err)
		return
	}
	registry.MustRegister(promretry.NewState(engine, promretry.StateOptions{}))
	defer engine.Close(context.Background())

	policy := &retry.Policy{Name: "send", Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: retry.None}}
	err = engine.Run(context.Background(), "mail-1", func(ctx context.Context) error {
		_, err := durable.Step(ctx, "send", policy, func(context.Context) (bool, error) {
			return false, errors.New("connection refused")
		})
		return err
	}, durable.Budget(job.BudgetPolicy{Name: "mails", Retries: 1}))
	fmt.Println(err)

	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
	}
	for _, family := range families {
		switch family.GetName() {
		case "retry_budget_consumed_total", "retry_budget_exhausted_total", "retry_durable_attempts_total":
			fmt.Println(family.GetName(), family.GetMetric()[0].GetCounter().GetValue())
		}
	}
	// Output:
	// step "send": job budget exhausted after 2 attempts: connection refused
	// retry_budget_consumed_total 1
	// retry_budget_exhausted_total 1
	// retry_durable_attempts_total 2
}
