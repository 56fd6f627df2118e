package main

import (
	ctxpkg "context"
	"errors"
	"fmt"
	. "net/url"
	"unsafe"

	other "github.com/retrygen/retrygen/contrib/consumer/hostile/v2/other"
)

// The receiver of a bound method is not passed to its fallback.
func lost(ctx ctxpkg.Context, t2, call *other.T, err error) (*other.T, error) { return t2, nil }

func Fast(ctx ctxpkg.Context, err, call, time, retry, breaker, pass, v string, nil, len int) (string, error) {
	return err, errors.New("last: no connection")
}
func Timed(ctx ctxpkg.Context, err, call, time, retry, breaker, pass, v string, nil, len int) (string, error) {
	return err, errors.New("last: no connection")
}
func Guarded(ctx ctxpkg.Context, err, call, time, retry, breaker, pass, ready, DefaultShared, v string,
	nil, len int,
) (string, error) {
	return err, nil2
}
func Both(ctx ctxpkg.Context, err, call, time, retry, breaker, pass, ready, DefaultShared, v string,
	nil, len int,
) (string, error) {
	return err, nil2
}
func Budget(ctx ctxpkg.Context, err, call, time, retry, budget, DefaultShared, v string, nil, len int) (string, error) {
	return err, nil2
}
func LimitedBudget(ctx ctxpkg.Context, err, call, time, retry, budget, DefaultShared, v string,
	nil, len int,
) (string, error) {
	return err, nil2
}

var nil2 error

func Results(ctx ctxpkg.Context) (string, int, *Person, []Person, map[string]Person, error, error) {
	return "", 0, nil, nil, nil, nil, nil
}
func NamedResults(ctx ctxpkg.Context) (err error, call, nil int, error error) { return }
func BlankResults(ctx ctxpkg.Context) (_ string, _ int, _ error)              { return }

type Person struct{}

func TypeNamed(Person, string, error, context int) (*Person, []string, Context, error) {
	return nil, nil, "", nil
}

type Context string

func Universe(string ctxpkg.Context, any, int, true, iota, append bool) (int2 int, error error) {
	return 1, nil2
}
func nope(_ ctxpkg.Context, _, _, _, _, _ bool, err error) (int, error) { return 2, err }

func Hiding[err, call, context, time, retry any](c ctxpkg.Context, a err, b call, d context, f retry) (time, error) {
	var t time
	return t, nil
}
func BlankParam[_ any, T any](t T) (T, error) { return t, nil }
func Constrained[S ~[]E, E interface {
	~int | ~string
	comparable
}](c ctxpkg.Context, s S) (E, error) {
	return s[0], nil
}
func Recursive[T interface{ Less(T) bool }](t T) error                     { return nil }
func Sum[M ~map[K]V, K comparable, V interface{ fmt.Stringer }](m M) error { return nil }

type Tree[K comparable, V fmt.Stringer] struct{}

func (t *Tree[_, Value]) Walk(ctx ctxpkg.Context, f func(Value) error) (map[string]Value, error) {
	return nil, nil
}

func (t *Tree[A, B]) lost(ctx ctxpkg.Context, f func(B) error, err error) (map[string]B, error) {
	return nil, nil
}

type Keyed[K ~string, _ any, V any] interface {
	Put(k K, v V) error
	next() error
	shared(shared, next V) (K, error)
}

func Literals(_ ctxpkg.Context, s struct {
	Person "json:\"a`b\""
	A, B   int `x:"\"y\""`
	_      [0]func()
}, i interface {
	fmt.Stringer
	M(struct{}) interface{ error }
}) (struct{ C chan struct{} }, error) {
	return struct{ C chan struct{} }{}, nil
}
func Channels(a <-chan int, b chan<- int, c chan (<-chan int), d chan<- chan int,
	e <-chan (chan<- func()),
) (chan (<-chan chan<- int), error) {
	return nil, nil
}
func Functions(f func(func(ctxpkg.Context, ...func(...int) error) (a, b func())) func(),
	g ...func(x int, y ...string),
) (func() func() error, error) {
	return nil, nil
}
func Deep(m map[[2]*[]map[string]unsafe.Pointer]**[3][]func(*Person)) (*[1 << 3]*[]*Values, error) {
	return nil, nil
}

func 日本(世界, 世界2 string) (r rune, エラー error) { return 0, nil }

type Ünïcode struct{}

func (ü *Ünïcode) Größe(ß *Ünïcode) (*Ünïcode, error) { return ß, nil }

func Dotted(u URL, v Values) (*Userinfo, error) { return nil, nil }

type (
	Alias                     = *Person
	Pair[K comparable, V any] = map[K][]V
)

func Aliased(a Alias, p Pair[string, Alias]) (Pair[Alias, int], error) { return nil, nil }

type private struct{}

type privates interface{ private() error }

func Private(p private, q ...privates) (*private, error) { return nil, nil }

type Fields interface {
	next() error
	Unwrap() error
	Name(Fields string, f Fields) (Fields, error)
}
type noisy struct{ failures int }

func (n *noisy) Put(k string, v int) error {
	if n.failures--; n.failures >= 0 {
		return errors.New("not yet: no connection")
	}
	return nil
}
func (n *noisy) next() error                             { return errors.New("next: no connection") }
func (n *noisy) shared(shared, next int) (string, error) { return fmt.Sprint(shared, next), nil }

func main() {
	ctx := ctxpkg.Background()
	fmt.Println(RetryGuarded(ctx, "a", "", "", "", "", "", "", "", "", 0, 0))
	fmt.Println(RetryUniverse(ctx, true, true, true, true, true))
	fmt.Println(RetryTypeNamed(1, 2, 3, 4))
	fmt.Println(RetryHiding[int, int, int, string, int](ctx, 1, 2, 3, 4))
	fmt.Println(RetryBlankParam[string](1))
	fmt.Println(RetryConstrained(ctx, []int{5}))
	k := NewRetryKeyed[string, bool](&noisy{2}, nil)
	fmt.Println(k.Put("", 1))
	fmt.Println(k.shared(1, 2))
}
