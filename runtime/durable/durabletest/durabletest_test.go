package durabletest_test

import (
	"testing"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
)

func TestMemory(t *testing.T) {
	durabletest.Run(t, func(*testing.T, string) durable.Store { return durable.NewMemory() })
}
