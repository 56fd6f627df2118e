package durabletest

import (
	"testing"

	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestSwift: what is tested of the statements of a store is true of their definitions.
func TestSwift(t *testing.T) {
	open := func(*testing.T, string) storage.Store { return Swift{CrashAt(memory.New(), 0)} }
	for _, test := range []func(*testing.T, *place){testSwap, testClaimNew, testInsert, testInsertAtOnce} {
		t.Run(name(test), func(t *testing.T) { test(t, &place{t: t, open: open}) })
	}
}
