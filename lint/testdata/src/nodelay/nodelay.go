package nodelay

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// A client leaves the process.
type client struct{ http *http.Client }

func (c client) Call(ctx context.Context, key string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/"+key, nil)
	if err != nil {
		return "", err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	return resp.Status, resp.Body.Close()
}

func (c client) Login(ctx context.Context) error {
	_, err := c.Call(ctx, "login")
	return err
}

func (c client) Ping() error {
	_, err := c.Call(context.Background(), "ping")
	return err
}

var errConflict = errors.New("conflict")

func ranged(ctx context.Context, c client) (err error) {
	for range 5 { // want `Call is retried without a wait: wait between attempts, longer each time \(RL103`
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
	}
	return err
}

func tries(ctx context.Context, c client, max int) (string, error) {
	var last error
	for try := 0; try < max; try++ { // want `RL103`
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		s, err := c.Call(ctx, "k")
		if err == nil {
			return s, nil
		}
		if errors.Is(err, os.ErrInvalid) {
			return "", err
		}
		last = fmt.Errorf("try %d: %w", try, err)
		log.Print(last)
	}
	return "", last
}

func upload(url string) (err error) {
	for i := 0; i < 3; i++ { // want `post is retried without a wait`
		if err = post(url); err == nil {
			return nil
		}
		log.Printf("post %s: %v", url, err)
	}
	return err
}

func post(url string) error {
	resp, err := http.Post(url, "", nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func untilTheContextEnds(ctx context.Context, c client) error {
	for ctx.Err() == nil { // want `RL103`
		if _, err := c.Call(ctx, "k"); err == nil {
			return nil
		}
	}
	return ctx.Err()
}

func hot(c client, mu *sync.Mutex, last *error) {
again:
	err := c.Ping() // want `retry of Ping .*RL101, RL103; library`
	mu.Lock()
	*last = err
	mu.Unlock()
	if err != nil && !errors.Is(err, errConflict) {
		goto again
	}
}

func nopeWaits(ctx context.Context, c client) (err error) {
	for attempt := range 5 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second << attempt):
		}
	}
	return err
}

func nopeWaitsElsewhere(ctx context.Context, c client, rest func()) (err error) {
	for range 5 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		rest()
	}
	return err
}

func nopeOnce(ctx context.Context, c client) (err error) {
	for range 2 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
	}
	return err
}

func nopePutsRight(ctx context.Context, c client) error {
	for range 3 {
		_, err := c.Call(ctx, "k")
		if err == nil {
			return nil
		}
		if err := c.Login(ctx); err != nil {
			return err
		}
	}
	return errConflict
}

func nopeLocal(dir string) (err error) {
	for range 10 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}

func nopeOthers(ctx context.Context, clients []client) (err error) {
	for _, c := range clients {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
	}
	return err
}

type account struct{ name, token string }

// Each attempt is about another account, though the call does not say so.
func nopeOtherAccounts(ctx context.Context, c client, accounts []account, use func(string)) (err error) {
	for _, a := range accounts {
		use(a.token)
		if _, err = c.Call(ctx, "k"); err != nil {
			continue
		}
		return nil
	}
	return err
}

func nopeOnlyTheRightOnes(ctx context.Context, c client, accounts []account) (err error) {
	for i := range accounts {
		if accounts[i].name == "me" {
			if _, err = c.Call(ctx, "k"); err == nil {
				return nil
			}
		}
	}
	return err
}

func tableOfDelays(ctx context.Context, c client) (err error) {
	for _, d := range []time.Duration{time.Second, time.Minute} {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		time.Sleep(d) // want `RL102`
	}
	return err
}

type entry struct{ fields map[string]string }

type store interface {
	Load(ctx context.Context, key string) (*entry, error)
	Swap(ctx context.Context, key string, old, new map[string]string) error
}

type order struct{ quantity int }

func (o order) less() int { return o.quantity - max(1, o.quantity/10) }

// Each attempt asks for less.
func nopeReduces(ctx context.Context, submit interface {
	Submit(ctx context.Context, orders ...order) error
}, o order) error {
	for i := 0; i < 10; i++ {
		o.quantity = o.less()
		if err := submit.Submit(ctx, o); err == nil {
			return nil
		}
	}
	return errors.New("too many")
}

// Each attempt comes from another port.
func nopeAnotherPort(ctx context.Context, url string) (*http.Response, error) {
	var last error
	for range 10 {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{Port: rand.IntN(1024)}}
		c := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		resp, err := c.Do(req)
		if err == nil {
			return resp, nil
		}
		last = err
	}
	return nil, last
}

type peers struct{ addr string }

func (p *peers) dial() (net.Conn, error) { return net.Dial("tcp", p.addr) }

func (p *peers) command(send func(net.Conn) error) error {
	var last error
	for range 5 { // want `a function is retried without a wait.*RL103`
		last = func() error {
			conn, err := p.dial()
			if err != nil {
				return err
			}
			defer conn.Close()
			return send(conn)
		}()
		if last == nil {
			return nil
		}
	}
	return last
}

type cluster struct{ clients []client }

func (c *cluster) current() client { return c.clients[0] }

// Nothing else sets the clients.
func (c *cluster) same(ctx context.Context) (err error) {
	for range 5 { // want `Call is retried without a wait`
		if _, err = c.current().Call(ctx, "k"); err == nil {
			return nil
		}
	}
	return err
}
