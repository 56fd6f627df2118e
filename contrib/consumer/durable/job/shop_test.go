package job

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/retrygen/retrygen/contrib/consumer/durable/job/api"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// work calls fn while a worker executes what it starts.
func work(t *testing.T, handle func(*durable.Engine), fn func(ctx context.Context, e *durable.Engine) error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, err := durable.New(memory.New())
		if err != nil {
			t.Fatal(err)
		}
		handle(e)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- e.Work(ctx) }()
		if err := fn(ctx, e); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// test starts a run of a job, and compares its result.
func test[In any, Out comparable](t *testing.T, handle func(*durable.Engine), name string, in In, want Out) {
	t.Helper()
	work(t, handle, func(ctx context.Context, e *durable.Engine) error {
		if err := durable.Start(ctx, e, name, "job", in); err != nil {
			return err
		}
		got, err := durable.Await[Out](ctx, e, "job")
		if got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		return err
	})
}

func TestJobs(t *testing.T) {
	bank, conn := &Bank{"eu"}, &api.Conn{Host: "h1"}
	test(t, func(e *durable.Engine) { HandleCopy(e) }, "consumer.durable.job.Copy", "eu-1", 4)
	test(t, func(e *durable.Engine) { HandleSend(e, durable.Concurrency(2)) }, "mails.send", &Mail{To: "ada"}, struct{}{})
	test(t, func(e *durable.Engine) { HandleSettle(e) }, "consumer.durable.job.Settle", 7, 7)
	test(t, func(e *durable.Engine) { handlePost(e) }, "consumer.durable.job.post", "p", struct{ ID string }{"p"})
	test(t, func(e *durable.Engine) { bank.HandleCharge(e) }, "consumer.durable.job.Bank.Charge", "o1", "eu o1")
	exec := func(e *durable.Engine) { HandleConnExec(conn, e) }
	test(t, exec, "consumer.durable.job.api.Conn.Exec", "select", "h1 select")
	key := map[string]string{}
	for i, one := range seen {
		t.Log(i, one)
		key[one] = one
	}
	if len(seen) != 10 || len(key) != 5 {
		t.Errorf("%d calls with %d keys, want two attempts of five steps", len(seen), len(key))
	}
}

// TestWrapper: in a run with the same id, the wrapper and the job record the same step.
func TestWrapper(t *testing.T) {
	seen = nil
	work(t, func(e *durable.Engine) { HandleCopy(e) }, func(ctx context.Context, e *durable.Engine) error {
		if err := durable.Start(ctx, e, "consumer.durable.job.Copy", "job", "eu-1"); err != nil {
			return err
		}
		_, err := durable.Await[int](ctx, e, "job")
		return err
	})
	job := seen
	seen = nil
	work(t, func(e *durable.Engine) { HandleCopy(e) }, func(ctx context.Context, e *durable.Engine) error {
		return e.Run(ctx, "job", func(ctx context.Context) error {
			_, err := RetryCopy(ctx, "eu-1")
			return err
		})
	})
	if !slices.Equal(job, seen) {
		t.Errorf("the job has called %q, the wrapper %q", job, seen)
	}
}
