package retry

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/retrygen/retrygen/internal/grpcstatus"
)

// A valueError has a method Error with a value receiver, so that both valueError
// and *valueError are errors.
type valueError struct{ status int }

func (e valueError) Error() string { return fmt.Sprint("value ", e.status) }

// A carelessError has a method As that sets nothing, as the errors of Elasticsearch.
type carelessError valueError

func (e carelessError) Error() string { return valueError(e).Error() }

func (e carelessError) As(target any) bool {
	_, ok := target.(*carelessError)
	return ok
}

func TestAsValueCareless(t *testing.T) {
	for _, err := range []error{carelessError{429}, &carelessError{429}} {
		if value, ok := AsValue[carelessError](err); !ok || value.status != 429 {
			t.Errorf("%T: got %d, %v, want 429", err, value.status, ok)
		}
	}
}

func TestAsValue(t *testing.T) {
	var none *valueError
	for _, tt := range []struct {
		err   error
		value valueError
		ok    bool
	}{
		{nil, valueError{}, false},
		{errors.New("other"), valueError{}, false},
		{fmt.Errorf("call: %w", valueError{404}), valueError{404}, true},
		{fmt.Errorf("call: %w", &valueError{503}), valueError{503}, true},
		{fmt.Errorf("call: %w", none), valueError{}, false},
	} {
		if value, ok := AsValue[valueError](tt.err); value != tt.value || ok != tt.ok {
			t.Errorf("%v: got %v, %v", tt.err, value, ok)
		}
	}
}

// What a reader knows goes before what methods of the tree say.
func TestFactsGoFirst(t *testing.T) {
	for _, tt := range []struct {
		status  int // of the tree
		read    Facts
		class   string
		retried bool
	}{
		{503, Facts{Status: 404}, "", false},
		{404, Facts{Status: 503}, "server_error", true},
		{400, Facts{Class: ClassRateLimit}, "rate_limit", true},
		{0, Facts{Status: 403, Class: ClassRateLimit}, "rate_limit", true},
		{403, Facts{RetryAfter: time.Second}, "rate_limit", true},
		{0, Facts{Status: 403, RetryAfter: time.Second}, "rate_limit", true},
		{0, Facts{Status: 404, RetryAfter: time.Second}, "", false},
		{0, Facts{GRPC: grpcstatus.AlreadyExists, RetryAfter: time.Second}, "", false},
		{503, Facts{Permanent: true}, "", false},
		{503, Facts{Permanent: true, RetryAfter: time.Second}, "", false},
		{0, Facts{Status: 409}, "", false},
	} {
		p := &Policy{RetryOn: []Class{ClassTransient}, Facts: func(error) (Facts, bool) { return tt.read, true }}
		err := error(statusPointerOf(tt.status))
		if tt.status == 0 {
			err = errors.New("plain")
		}
		if got := classesOf(p, err); got != tt.class || p.Retries(err) != tt.retried {
			t.Errorf("status %d, %+v: class %q, retried %v", tt.status, tt.read, got, p.Retries(err))
		}
	}
}
