// Package deep holds what is hard to look through: contexts that are made of each
// other, and values of which each is made of the last twice, so that who looks at them
// more than once never ends.
package deep

import (
	"context"
	"net/http"
	"time"
)

func ping() error { return send("") }

func send(key string) error {
	resp, err := http.Get("http://localhost/" + key)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func call(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func untilTold(stop chan bool) error {
	for <-stop {
		if err := ping(); err == nil {
			return nil
		}
		stop = nil
	}
	return nil
}

func untilUnset(p *bool) error {
	for *p { // want `ping is retried without a wait`
		if err := ping(); err == nil {
			return nil
		}
		p = nil
	}
	return nil
}

func limits(parent context.Context, all []time.Duration) {
	for {
		ctx := parent
		for _, d := range all {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, d)
			defer cancel()
		}
		if call(ctx) == nil || ctx.Err() != nil {
			return
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

func mix(a, b string) string { return a + b }

func operands(x string) error {
	for { // want `RL101`
		x0 := mix(x, x)
		x1 := mix(x0, x0)
		x2 := mix(x1, x1)
		x3 := mix(x2, x2)
		x4 := mix(x3, x3)
		x5 := mix(x4, x4)
		x6 := mix(x5, x5)
		x7 := mix(x6, x6)
		x8 := mix(x7, x7)
		x9 := mix(x8, x8)
		x10 := mix(x9, x9)
		x11 := mix(x10, x10)
		x12 := mix(x11, x11)
		x13 := mix(x12, x12)
		x14 := mix(x13, x13)
		x15 := mix(x14, x14)
		x16 := mix(x15, x15)
		x17 := mix(x16, x16)
		x18 := mix(x17, x17)
		x19 := mix(x18, x18)
		x20 := mix(x19, x19)
		x21 := mix(x20, x20)
		x22 := mix(x21, x21)
		x23 := mix(x22, x22)
		x24 := mix(x23, x23)
		x25 := mix(x24, x24)
		x26 := mix(x25, x25)
		x27 := mix(x26, x26)
		x28 := mix(x27, x27)
		x29 := mix(x28, x28)
		x30 := mix(x29, x29)
		x31 := mix(x30, x30)
		if err := send(x31); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
}

func classes() error {
	for { // want `RL101`
		err := ping()
		if err == nil {
			return nil
		}
		h := len(err.Error())
		h ^= h << 1
		h ^= h << 2
		h ^= h << 3
		h ^= h << 4
		h ^= h << 5
		h ^= h << 6
		h ^= h << 7
		h ^= h << 1
		h ^= h << 2
		h ^= h << 3
		h ^= h << 4
		h ^= h << 5
		h ^= h << 6
		h ^= h << 7
		h ^= h << 1
		h ^= h << 2
		h ^= h << 3
		h ^= h << 4
		h ^= h << 5
		h ^= h << 6
		h ^= h << 7
		h ^= h << 1
		h ^= h << 2
		h ^= h << 3
		h ^= h << 4
		h ^= h << 5
		h ^= h << 6
		h ^= h << 7
		h ^= h << 1
		h ^= h << 2
		h ^= h << 3
		h ^= h << 4
		if h%8 == 3 {
			return err
		}
		time.Sleep(time.Second)
	}
}

func clocks(ctx context.Context, h int) error {
	for { // want `call is retried without a wait`
		err := call(ctx)
		if err == nil {
			return nil
		}
		h++
		h ^= h << 1
		h ^= h << 2
		h ^= h << 3
		h ^= h << 4
		h ^= h << 5
		h ^= h << 6
		h ^= h << 7
		h ^= h << 1
		h ^= h << 2
		h ^= h << 3
		h ^= h << 4
		h ^= h << 5
		h ^= h << 6
		h ^= h << 7
		h ^= h << 1
		h ^= h << 2
		h ^= h << 3
		h ^= h << 4
		h ^= h << 5
		h ^= h << 6
		h ^= h << 7
		h ^= h << 1
		h ^= h << 2
		h ^= h << 3
		h ^= h << 4
		h ^= h << 5
		h ^= h << 6
		h ^= h << 7
		h ^= h << 1
		h ^= h << 2
		h ^= h << 3
		h ^= h << 4
		if h%8 == 3 {
			return err
		}
	}
}
