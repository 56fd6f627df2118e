package deafwait

import (
	"context"
	"errors"
	"time"
)

// A RequestContext is a context with what belongs to a request.
type RequestContext struct {
	context.Context
	user string
}

// A jobContext is one that others implement.
type jobContext interface {
	context.Context
	Job() string
}

var errLost = errors.New("lost")

func ownContext(ctx *RequestContext, ping func(context.Context) error) error {
	for range 5 {
		if err := ping(ctx); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `this wait continues after ctx has ended`
	}
	return errLost
}

func ownContextAsked(ctx RequestContext, ping func() error) error {
	for ctx.Err() == nil {
		if err := ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `this wait continues after ctx has ended`
	}
	return ctx.Err()
}

func ownInterface(ctx jobContext, ping func(string) error) error {
	for range 5 {
		if err := ping(ctx.Job()); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `this wait continues after ctx has ended`
	}
	return errLost
}

func nopeOwnContextHeeded(ctx *RequestContext, ping func() error) error {
	for range 5 {
		if err := ping(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return errLost
}

// A server has a context for other reasons.
type relay struct {
	context.Context
	addr string
}

func nopeHolder(s *relay, ping func(string) error) error {
	for range 5 {
		if err := ping(s.addr); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errLost
}
