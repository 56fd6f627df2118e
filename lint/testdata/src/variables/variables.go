// Package variables has what it does in literals that its variables are given, as the
// commands of many programs do.
package variables

import (
	"context"
	"net/http"
	"time"
)

type command struct {
	run  func(ctx context.Context) error
	more []func() error
}

func get(ctx context.Context) error {
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

var root = &command{
	run: func(ctx context.Context) error {
		outer, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		inner, stop := context.WithTimeout(outer, 5*time.Second) // want `RL301`
		defer stop()
		for get(inner) != nil { // want `RL101`
			time.Sleep(time.Second) // want `RL102`
		}
		return nil
	},
	more: []func() error{func() error {
		for { // want `RL101`
			if err := get(context.Background()); err == nil {
				return nil
			}
			time.Sleep(time.Second)
		}
	}},
}
