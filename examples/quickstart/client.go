package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/httpretry"
)

// Client is a client of the weather service. Its methods may be called concurrently.
type Client struct {
	Base string // URL of the service
	HTTP *http.Client
}

// A Forecast is the forecast for one day.
type Forecast struct {
	City    string `json:"city"`
	Celsius int    `json:"celsius"`
}

// StatusError is the error for a response with a status other than 200. Policies
// classify it by its method StatusCode.
type StatusError struct{ Code int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("weather service: %d %s", e.Code, http.StatusText(e.Code))
}

// StatusCode returns the HTTP status.
func (e *StatusError) StatusCode() int { return e.Code }

// Forecast returns tomorrow's weather in city.
func (c *Client) Forecast(ctx context.Context, city string) (*Forecast, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+"/forecast/"+url.PathEscape(city), nil)
	if err != nil {
		return nil, retry.Permanent(err)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		err := &StatusError{Code: resp.StatusCode}
		if wait, asked := httpretry.Hint(resp, time.Now()); asked {
			return nil, retry.After(err, wait)
		}
		return nil, err
	}
	f := new(Forecast)
	if err := json.NewDecoder(resp.Body).Decode(f); err != nil {
		return nil, err
	}
	return f, nil
}

// Journal records requests.
type Journal interface {
	// Append adds a line.
	Append(line string) error
	// Len returns the number of lines.
	Len() int
}
