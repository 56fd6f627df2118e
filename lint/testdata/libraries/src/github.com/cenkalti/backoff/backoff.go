// Package backoff declares what the test uses of the real one, before its modules.
package backoff

import "time"

type (
	BackOff         interface{ NextBackOff() time.Duration }
	Operation       func() error
	ConstantBackOff struct{}
)

func (*ConstantBackOff) NextBackOff() time.Duration { return 0 }

func NewConstantBackOff(time.Duration) *ConstantBackOff { return nil }
func WithMaxRetries(b BackOff, max uint64) BackOff      { return b }
func Retry(o Operation, b BackOff) error                { return nil }
