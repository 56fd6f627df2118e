package receiver

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/retrygen/retrygen/contrib/consumer/durable/receiver/api"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

func TestReceivers(t *testing.T) {
	e, err := durable.New(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = e.Run(t.Context(), "one", func(ctx context.Context) error {
		for i, bank := range []*Bank{{&Account{1}, "eu"}, {&Account{2}, "us"}} {
			charged, err := bank.RetryCharge(ctx, "o1")
			closed, err2 := bank.RetryClose(ctx)
			host, err3 := RetryConnExec(api.Conn{Host: fmt.Sprint("h", i)}, ctx)
			if err := errors.Join(err, err2, err3); err != nil {
				return err
			}
			got = append(got, fmt.Sprint(charged, closed, host))
		}
		return nil
	})
	if text := fmt.Sprint(got); err != nil || text != "[eu o11h0 us o12h1]" {
		t.Errorf("got %s, error %v", text, err)
	}
	for step, err := range e.Admin().Steps(t.Context(), admin.Filter{}) {
		t.Log(step.Step, err)
	}
	if _, err := e.Admin().Describe(t.Context(), "one", "consumer.durable.receiver.Bank.Charge/eu/o1"); err != nil {
		t.Error(err)
	}
}
