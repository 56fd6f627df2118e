package job

import (
	"context"
	"errors"
	"net/http"

	_ "github.com/retrygen/retrygen/contrib/consumer/durable/job/api"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
)

// seen lists the idempotency keys and attempts of the calls.
var seen []string

func call(ctx context.Context) error {
	info, _ := durable.Current(ctx)
	seen = append(seen, info.Run+" "+info.Step+" "+retry.IdempotencyKey(ctx))
	if info.Attempt == 1 {
		return errors.New("once more")
	}
	return nil
}

func Copy(ctx context.Context, shard string) (int, error) { return len(shard), call(ctx) }

type Mail struct{ To, Text string }

func Send(ctx context.Context, mail *Mail) error { return call(ctx) }

func Settle(ctx context.Context, id int) (n int, err error) { return id, call(ctx) }

func settled(n int) error {
	if n < 0 {
		return retry.Permanent(errors.New("negative"))
	}
	return nil
}

func post(ctx context.Context, id string) (struct{ ID string }, error) {
	return struct{ ID string }{id}, call(ctx)
}

type Bank struct{ region string }

func (b *Bank) Charge(ctx context.Context, order string) (string, error) {
	return b.region + " " + order, call(ctx)
}

func NoneOfTwo(ctx context.Context, id string, n int) (int, error)     { return 0, nil }
func NoneWithOption(ctx context.Context, id ...string) (int, error)    { return 0, nil }
func NoneWithFunc(ctx context.Context, f func()) (int, error)          { return 0, nil }
func NoneOfPair(ctx context.Context, id string) (int, bool, error)     { return 0, false, nil }
func NoneWithFallback(ctx context.Context, id string) (int, error)     { return 0, nil }
func NoneNamed(ctx context.Context, id string) (int, error)            { return 0, nil }
func NoneGeneric[T ~string](ctx context.Context, id T) (int, error)    { return 0, nil }
func otherwise(ctx context.Context, id string, err error) (int, error) { return 0, nil }
func Serve(ctx context.Context, id string) (int, error)                { return 0, nil }
func HandleServe(w http.ResponseWriter, r *http.Request)               {}
func (b *Bank) Serve(ctx context.Context, id string) (int, error)      { return 0, nil }
func (b *Bank) HandleServe(w http.ResponseWriter, r *http.Request)     {}
