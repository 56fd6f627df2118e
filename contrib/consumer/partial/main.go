package main

import (
	"context"
	"errors"
	"fmt"
)

// Fetches has the records of all partitions, and the first error of any.
type Fetches struct {
	Records []string
	First   error
}

func (f Fetches) Err() error { return f.First }

type Client interface {
	Poll(ctx context.Context) Fetches
	PollRecords(ctx context.Context, max int) Fetches
	Ping(ctx context.Context) error
	Close() error
}

type client struct {
	Client
	calls int
}

func (c *client) Poll(context.Context) Fetches {
	c.calls++
	return Fetches{Records: []string{"healthy record"}, First: errors.New("partition 7: connection reset")}
}

func Poll(context.Context) Fetches { return Fetches{} }

func resultErr(r interface{ Err() error }) error { return r.Err() }

func main() {
	c := &client{}
	times := map[bool]string{true: "once", false: "3 times"}
	fmt.Println(NewRetryClient(c).Poll(context.Background()).Records[0]+", polled", times[c.calls == 1])
}
