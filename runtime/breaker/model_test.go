package breaker

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestModel: a Model decides like a snapshot under the same policy.
func TestModel(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	for name, p := range map[string]Policy{
		"failures": {Failures: 3, OpenFor: 2 * time.Second},
		"rate":     {FailureRate: 0.5, MinCalls: 10, Window: 5 * time.Second, OpenFor: time.Second, HalfOpenCalls: 2},
		"calls":    {SlowRate: 0.4, SlowCall: 50 * time.Millisecond, WindowCalls: 20, OpenFor: time.Second},
		"growing":  {Failures: 2, OpenFor: time.Second, MaxOpenFor: 8 * time.Second, EscalateAfter: 40},
	} {
		random := rand.New(rand.NewPCG(1, 2))
		m, s, now := NewModel(p, begin), Snapshot{}, begin
		for range 5000 {
			now = now.Add(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
			permit, ok := m.Admit(now)
			want, wantOK := p.Admit(&s, now)
			if permit != want || ok != wantOK {
				t.Fatalf("%s: Admit: got %v %v, want %v %v", name, permit, ok, want, wantOK)
			}
			if ok {
				sample := Sample(random.IntN(3))
				now = now.Add(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
				m.Record(permit, sample, now)
				p.Record(&s, want, sample, now)
			}
			if state, until := m.State(); state != s.State || !until.Equal(s.OpenUntil) {
				t.Fatalf("%s: got %v until %v, want %v until %v", name, state, until, s.State, s.OpenUntil)
			}
		}
	}
}
