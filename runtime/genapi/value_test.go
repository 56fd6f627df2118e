package genapi

import (
	"errors"
	"fmt"
	"testing"
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
