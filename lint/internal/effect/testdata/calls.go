package p

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"
)

type service interface {
	Do(ctx context.Context, key string) error
	Size() int
	Close() error
}

type client struct {
	s       service
	key     string
	changed func(*client)
	r       *bufio.Reader
}

func unknown(c *client, ctx context.Context) error { return c.s.Do(ctx, c.key) }
func getter(c *client) int                         { return c.s.Size() }
func closes(c *client)                             { c.s.Close() }
func stranger(c *client)                           { c.changed(c) }
func pure(s string) string                         { return strings.ToUpper(s) + fmt.Sprint(s) }
func logs(err error)                               { log.Print(err) }
func fatal(err error)                              { log.Fatal(err) }
func mayEnd(err error) {
	if err != nil {
		fatal(err)
	}
}
func clock() time.Time                                      { return time.Now() }
func sleeps()                                               { time.Sleep(1) }
func remote(url string) error                               { _, err := http.Get(url); return err }
func receives(c *client) (string, error)                    { return c.r.ReadString('\n') }
func asks() (s string)                                      { fmt.Scan(&s); return s }
func cancelled(ctx context.Context) bool                    { return ctx.Err() != nil }
func signal(ch <-chan int) int                              { return <-ch }
func sends(ch chan<- int)                                   { ch <- 1; close(ch) }
func deferred(c *client)                                    { defer c.s.Close(); c.key = "" }
func goes(c *client)                                        { go unknown(c, nil) }
func judges(err error) bool                                 { return errors.Is(err, context.Canceled) }
func callback(c *client, do func(func() error) error) error { return do(c.once) }
func (c *client) once() error                               { c.key += "1"; return nil }
func dynamic(f func())                                      { f() }

// What a function makes, or is given in answer, is no state.
func answer(s service) int {
	c := newClient(s)
	c.key = "x"
	return len(c.key)
}
func newClient(s service) *client { return &client{s: s} }
