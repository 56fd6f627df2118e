package budget

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// What cannot be counted is not taken for less than nothing.
func TestAnySize(t *testing.T) {
	for burst, want := range map[float64]error{1e13: nil, math.MaxFloat64: nil, math.Inf(1): nil, 1: nil, 0.5: ErrEmpty,
		-3: ErrEmpty, math.Inf(-1): ErrEmpty} {
		b := New(Policy{Burst: burst, Ratio: burst})
		if err := b.Withdraw(); err != want {
			t.Errorf("a burst of %v: got %v, want %v", burst, err, want)
		}
		if b.Deposit(); b.Left() < 0 {
			t.Errorf("a burst of %v: %v are left", burst, b.Left())
		}
	}
	if err := New(Policy{Burst: math.NaN()}).Withdraw(); err != ErrEmpty {
		t.Errorf("got %v", err)
	}
}

// Numbers that make no sense add nothing; those that are too great fill the
// budget at once.
func TestAnyRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			perSecond, ratio float64
			left             float64 // after a deposit and an hour
		}{
			{NoRefill, 0.5, 0.5},
			{-3, 0.5, 0.5},
			{math.NaN(), 0.5, 0.5},
			{math.Inf(-1), 0.5, 0.5},
			{NoRefill, math.NaN(), 0},
			{NoRefill, -0.5, 0},
			{NoRefill, math.Inf(-1), 0},
			{NoRefill, 1e-7, 0},
			{NoRefill, math.Inf(1), 2},
			{math.Inf(1), -1, 2},
			{math.MaxFloat64, -1, 2},
			{1.0 / 3600, -1, 1},
		} {
			b := New(Policy{Burst: 2, MinPerSecond: tt.perSecond, Ratio: tt.ratio})
			for range 2 {
				if err := b.Withdraw(); err != nil {
					t.Errorf("%+v: %v", tt, err)
				}
			}
			// No time has passed.
			if err := b.Withdraw(); err != ErrEmpty {
				t.Errorf("%+v: got %v for a third retry", tt, err)
			}
			b.Deposit()
			time.Sleep(time.Hour)
			if got := b.Left(); math.Abs(got-tt.left) > 2.0/token {
				t.Errorf("%+v: %v retries are left", tt, got)
			}
		}
	})
}

// However often a budget is asked, it adds its rate: no more, no less.
func TestAddsItsRate(t *testing.T) {
	for _, perSecond := range []float64{0.7, 300, 1500.5, 1e6} {
		b := New(Policy{MinPerSecond: perSecond, Burst: 1e12})
		b.missing.Store(b.current().capacity)
		const step, steps = 1999, 1000
		for i := range int64(steps) {
			for range 3 { // of which two are of the same time
				b.refill((i + 1) * step)
			}
		}
		got, want := float64(b.current().capacity-b.missing.Load()), perSecond*token/1e9*step*steps
		if got > want || got < want*0.99 {
			t.Errorf("%v per second: %v tokens, want %v", perSecond, got, want)
		}
	}
}

// The smallest unit is added as soon as it is due.
func TestAddsOneToken(t *testing.T) {
	b := New(Policy{MinPerSecond: 1, Burst: 1})
	for now, want := range map[int64]int64{999: 0, 1000: 1} {
		b.refilled.Store(0)
		b.missing.Store(b.current().capacity)
		if b.refill(now); b.current().capacity-b.missing.Load() != want {
			t.Errorf("%d tokens after %dns, want %d", b.current().capacity-b.missing.Load(), now, want)
		}
	}
}

// Time that has filled the budget is used up.
func TestSavesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Policy{MinPerSecond: 1, Burst: 2})
		for range 3 {
			if !b.Full() {
				t.Errorf("%v retries are left, want 2", b.Left())
			}
			for want := range 3 {
				if err := b.Withdraw(); (err == nil) != (want < 2) || b.Full() {
					t.Errorf("retry %d: %v", want+1, err)
				}
			}
			time.Sleep(time.Hour)
			b.Left()
		}
	})
}

func TestTokens(t *testing.T) {
	const most = math.MaxInt64 / 2
	edge := float64(1<<62) / token // whose tokens are one more than that
	if edge*token != 1<<62 {
		t.Fatalf("%v tokens, want 1<<62", edge*token)
	}
	for n, want := range map[float64]int64{
		0: 0, -1: 0, 1e-7: 0, 1e-6: 1, 1: token, 2.5: 2_500_000, 4e12: 4e18, edge: most, 2 * edge: most, math.Inf(1): most,
	} {
		if got := tokens(n); got != want {
			t.Errorf("%v retries are %d tokens, want %d", n, got, want)
		}
	}
}

func TestRefills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Policy{MinPerSecond: 2, Burst: 3})
		for range 3 {
			if err := b.Withdraw(); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Withdraw(); err != ErrEmpty {
			t.Errorf("got %v, want %v", err, ErrEmpty)
		}
		time.Sleep(500 * time.Millisecond)
		if err := b.Withdraw(); err != nil {
			t.Errorf("half a second later: %v", err)
		}
		time.Sleep(500 * time.Millisecond)
		if b.Left() != 1 {
			t.Errorf("%v are left half a second after that, want 1", b.Left())
		}
		time.Sleep(time.Hour)
		if b.Withdraw(); b.Left() != 2 {
			t.Errorf("%v are left an hour later, want 2", b.Left())
		}
	})
}

// A budget that is asked often gets what flows in slowly.
func TestTrickles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Policy{MinPerSecond: 0.5, Burst: 1})
		if err := b.Withdraw(); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			time.Sleep(time.Microsecond)
			_ = b.Withdraw()
		}
		time.Sleep(2 * time.Second)
		if err := b.Withdraw(); err != nil {
			t.Errorf("after two seconds: %v, with %v left", err, b.Left())
		}
	})
}

func TestPolicyEffective(t *testing.T) {
	for _, tt := range []struct{ policy, want Policy }{
		{Policy{}, Policy{Ratio: 0.2, MinPerSecond: 10, Burst: 100}},
		{Policy{"b", 1, NoRefill, 2}, Policy{"b", 1, NoRefill, 2}},
	} {
		if got := tt.policy.Effective(); got != tt.want {
			t.Errorf("%+v: got %+v, want %+v", tt.policy, got, tt.want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := New(Policy{})
		for range 100 {
			if err := b.Withdraw(); err != nil {
				t.Fatal(err)
			}
		}
		if b.Withdraw(); b.Left() != 0 {
			t.Errorf("%v retries are left of 100", b.Left())
		}
		if b.Deposit(); b.Left() != 0.2 {
			t.Errorf("%v retries are left after a success, want 0.2", b.Left())
		}
		time.Sleep(time.Second)
		if got := b.Left(); math.Abs(got-10.2) > 2.0/token {
			t.Errorf("%v retries are left after a second, want 10.2", got)
		}
	})
}

// FuzzWithdraw holds the bucket against a model, one operation after the other.
func FuzzWithdraw(f *testing.F) {
	f.Add([]byte("wwwwdwdwtwd"), uint8(2), uint8(3))
	f.Fuzz(func(t *testing.T, ops []byte, ratio, burst uint8) {
		p := Policy{Ratio: float64(ratio%10+1) / 10, Burst: float64(burst%20 + 1), MinPerSecond: NoRefill}
		b, have := New(p), int64(p.Burst*token)
		for i, op := range ops {
			if op%2 == 0 {
				b.Deposit()
				have = min(have+int64(p.Ratio*token), int64(p.Burst*token))
				continue
			}
			err := b.Withdraw()
			if (err == nil) != (have >= token) {
				t.Fatalf("%d: %v, though %d of %d are left", i, err, have, token)
			}
			if err == nil {
				have -= token
			}
		}
		if got := b.current().capacity - b.missing.Load(); got != have {
			t.Errorf("%d are left, want %d", got, have)
		}
	})
}

// TestTimeOfCaller: a budget with the time of its caller refills by that time alone.
func TestTimeOfCaller(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	b := NewAt(Policy{Ratio: 0.5, MinPerSecond: 2, Burst: 3}, begin)
	for range 3 {
		if err := b.WithdrawAt(begin); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.WithdrawAt(begin.Add(400 * time.Millisecond)); err != ErrEmpty {
		t.Errorf("after 0.4 s: got %v, want %v", err, ErrEmpty)
	}
	if got, want := b.LeftAt(begin.Add(time.Second)), 2.0; got != want {
		t.Errorf("after 1 s: %v tokens are left, want %v", got, want)
	}
	if got, want := b.LeftAt(begin.Add(time.Hour)), 3.0; got != want {
		t.Errorf("after an hour: %v tokens are left, want %v", got, want)
	}
}

func TestUpdate(t *testing.T) {
	b := New(Policy{Burst: 10, MinPerSecond: NoRefill})
	for range 4 {
		if err := b.Withdraw(); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ burst, left float64 }{{20, 16}, {5, 1}, {2, 0}, {3, 1}} {
		b.Update(Policy{Burst: tt.burst, MinPerSecond: NoRefill})
		if got := b.Left(); got != tt.left {
			t.Errorf("burst %v: %v left, want %v", tt.burst, got, tt.left)
		}
	}
	if b.Update(Policy{Burst: 3, Ratio: 1, MinPerSecond: NoRefill}); b.Withdraw() != nil {
		t.Fatal("nothing left")
	}
	if b.Deposit(); b.Left() != 1 {
		t.Errorf("%v left after a deposit of 1", b.Left())
	}
}
