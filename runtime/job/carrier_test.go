package job_test

import (
	"testing"

	"github.com/retrygen/retrygen/internal/grouptest"
	"github.com/retrygen/retrygen/runtime/job"
)

// The tests that groups on a store pass, too.
func TestGroups(t *testing.T) {
	grouptest.Test(t, func(*testing.T) grouptest.Carrier { return grouptest.Carrier{Run: job.Run[int]} })
}
