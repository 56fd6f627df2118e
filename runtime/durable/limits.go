package durable

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	retry "github.com/retrygen/retrygen/runtime"
)

// limitsOf returns a digest of everything in a policy that limits retries: a
// step that is continued under other limits is reported.
func limitsOf(p *retry.Policy) string {
	h := sha256.New()
	fmt.Fprintf(h, "%+v %v %v %v %v", p.Schedule, p.DelayBudget, p.MaxElapsed, p.AttemptTimeout, p.Timeout)
	for _, o := range p.PerError {
		fmt.Fprintf(h, " %+v", o)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
