package durabletest_test

import (
	"testing"

	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func TestMemory(t *testing.T) {
	durabletest.Run(t, func(*testing.T, string) storage.Store { return memory.New() })
}
