package api

import "context"

// A Response has the methods of a resty response.
type Response struct{ status int }

func (r *Response) StatusCode() int { return r.status }
func (r *Response) IsError() bool   { return r.status >= 400 }

// A Request counts its calls.
type Request struct{ Calls int }

func (r *Request) Context() context.Context { return context.Background() }

func (r *Request) Get(url string) (*Response, error) {
	if r.Calls++; r.Calls < 3 {
		return &Response{503}, nil
	}
	return &Response{200}, nil
}

// A Plain response has the fields of a sendgrid response.
type Plain struct {
	StatusCode int
	Body       string
}

func Send(ctx context.Context, text string) (*Plain, error) { return nil, nil }

// A Filled response is filled in by the call, as in fasthttp.
type Filled struct{ status int }

func (f *Filled) StatusCode() int          { return f.status }
func (f *Filled) SetStatusCode(status int) { f.status = status }

func Fill(url string, resp *Filled) error { return nil }

type Judged struct{}

func (*Judged) IsError() bool { return false }

func Judge(ctx context.Context) (*Judged, error) { return nil, nil }
