package retry

import (
	"errors"
	"testing"
	"time"

	"github.com/retrygen/retrygen/internal/grpcstatus"
)

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
