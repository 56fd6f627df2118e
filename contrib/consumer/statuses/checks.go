package main

import (
	"github.com/retrygen/retrygen/contrib/consumer/statuses/api"
	"github.com/retrygen/retrygen/runtime/httpretry"
)

func checkStatus(r *api.Response) error { return httpretry.CheckStatus(r.StatusCode()) }
