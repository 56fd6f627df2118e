package main

import (
	"context"
	"fmt"

	"github.com/retrygen/retrygen/contrib/consumer/statuses/api"
)

type API interface {
	Find(ctx context.Context, id string) (*api.Response, error)
	FindAll(ctx context.Context) (*api.Response, error)
	Old(ctx context.Context) *api.Response
	Delete(ctx context.Context, id string) error
}

func main() {
	req := &api.Request{}
	resp, err := RetryRequestGet(req, "/")
	if err != nil {
		panic(err)
	}
	fmt.Println("status", resp.StatusCode(), "after", req.Calls, "calls")
}
