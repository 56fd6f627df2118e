package breaker

import (
	"encoding/json"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// take gives a breaker the samples that a string describes: an attempt that
// succeeds (s), fails (f), is neutral (n), or is slow and succeeds (S) or fails
// (F); or a wait of a second (.). It stops where an attempt is refused, and
// returns what is left.
func take(b *Breaker, samples string, slow time.Duration) string {
	for i, c := range samples {
		if c == '.' {
			time.Sleep(time.Second)
			continue
		}
		p, ok := b.Admit()
		if !ok {
			return samples[i:]
		}
		if c == 'S' || c == 'F' {
			time.Sleep(slow)
		}
		switch c {
		case 's', 'S':
			b.Record(p, Success)
		case 'f', 'F':
			b.Record(p, Failure)
		case 'n':
			b.Record(p, Neutral)
		}
	}
	return ""
}

func TestRates(t *testing.T) {
	for _, tt := range []struct {
		name    string
		policy  Policy
		samples string
		left    string // of the samples
	}{
		{"rate reached", Policy{FailureRate: 0.5, MinCalls: 4}, "sfsfs", "s"},
		{"rate not reached", Policy{FailureRate: 0.5, MinCalls: 4}, "sfssfssf", ""},
		{"rate exceeded", Policy{FailureRate: 0.4, MinCalls: 4}, "ffsffs", "fs"},
		{"min_calls not reached", Policy{FailureRate: 0.5, MinCalls: 4}, "fff", ""},
		{"min_calls reached by a success", Policy{FailureRate: 0.5, MinCalls: 4}, "fffs", ""},
		{"failure after it", Policy{FailureRate: 0.5, MinCalls: 4}, "fffsfs", "s"},
		{"default of min_calls", Policy{FailureRate: 1}, "fffffffffffffffffffff", "f"},
		{"neutral results are no calls", Policy{FailureRate: 0.5, MinCalls: 4}, "nfnnfnnfnnnfs", "s"},
		{"ten in a row, rate only", Policy{FailureRate: 0.9, MinCalls: 100}, "ffffffffff", ""},
		{"in a row, with a rate", Policy{FailureRate: 0.9, MinCalls: 100, Failures: 3}, "ffsfffs", "s"},
		{"rate, with failures in a row", Policy{FailureRate: 0.5, MinCalls: 6, Failures: 3}, "ffsffss", ""},
		{"three tenths", Policy{FailureRate: 0.3, MinCalls: 10}, "ssfssfsssfs", "s"},
		{"less than three tenths", Policy{FailureRate: 0.3, MinCalls: 10}, "ssfsssfsssfs", ""},
		// The first failures are of the first tenth of the window, and the last
		// one is of the tenth that takes its place.
		{"window", Policy{FailureRate: 0.5, MinCalls: 4}, "fff.........fs", "s"},
		{"window over", Policy{FailureRate: 0.5, MinCalls: 4}, "fff..........fs", ""},
		{"window slides", Policy{FailureRate: 0.5, MinCalls: 4}, "f....f......fffs", "s"},
		{"before it slides", Policy{FailureRate: 0.5, MinCalls: 4}, "f....f.....fffs", "fs"},
		{"success at the start of a tenth", Policy{FailureRate: 0.5, MinCalls: 4}, ".s.........fffs", "s"},
		{"success in a later tenth", Policy{FailureRate: 0.5, MinCalls: 4}, ".....s.....fffs", "s"},
		{"long after", Policy{FailureRate: 0.5, MinCalls: 4}, "fff.......................................fff", ""},
		{"short window", Policy{FailureRate: 0.5, MinCalls: 2, Window: time.Second}, "f.f.f.ffs", "s"},
		{"window shorter than the clock's step", Policy{FailureRate: 0.5, MinCalls: 2, Window: 1}, "fff", "f"},

		{"last calls", Policy{FailureRate: 0.5, WindowCalls: 4}, "sfsfs", "s"},
		{"last calls, too few", Policy{FailureRate: 0.5, WindowCalls: 4}, "fff", ""},
		{"last calls, as many as MinCalls", Policy{FailureRate: 0.5, WindowCalls: 4, MinCalls: 2}, "sfs", "s"},
		{"last calls, default of MinCalls", Policy{FailureRate: 1, WindowCalls: 100}, "fffffffffffffffffffff", "f"},
		{"last calls, neutral ones", Policy{FailureRate: 0.5, WindowCalls: 4}, "snnfnnsnnfnns", "nns"},
		{"last calls, however long ago", Policy{FailureRate: 0.5, WindowCalls: 4}, "f............ss......fs", "s"},
		{"last calls, without older ones", Policy{FailureRate: 0.5, WindowCalls: 4}, "fsssfsssfsss", ""},
		{"last calls, the first failure falls out", Policy{FailureRate: 0.5, WindowCalls: 4}, "fsssffs", "s"},
		{"last calls, after many successes", Policy{FailureRate: 0.5, WindowCalls: 4}, "ssssssssssssffs", "s"},
		{"the last call", Policy{FailureRate: 1, WindowCalls: 1}, "ssfs", "s"},
		{"last calls, slow", Policy{SlowRate: 0.5, SlowCall: time.Second, WindowCalls: 4}, "sSsSs", "s"},
		{"last calls, slow and failed", Policy{SlowRate: 0.5, SlowCall: time.Second, WindowCalls: 4}, "sFsFs", "s"},
		{"last calls, slow ones fall out", Policy{SlowRate: 0.5, SlowCall: time.Second, WindowCalls: 4},
			"SsssSsssSsss", ""},

		{"slow successes", Policy{SlowRate: 0.5, SlowCall: time.Second, MinCalls: 4}, "sSsSs", "s"},
		{"slow failures", Policy{SlowRate: 0.5, SlowCall: time.Second, MinCalls: 4}, "sFsFs", "s"},
		{"neither fast ones", Policy{SlowRate: 0.5, SlowCall: time.Second, MinCalls: 4}, "fsfsfsfs", ""},
		{"below the rate", Policy{SlowRate: 0.5, SlowCall: time.Second, MinCalls: 4}, "sSssSss", ""},
		{"old ones", Policy{SlowRate: 0.5, SlowCall: time.Second, MinCalls: 4}, "SSS...........sssSs", ""},
		{"slow successes of one tenth", Policy{SlowRate: 0.5, SlowCall: time.Second, MinCalls: 4, Window: time.Hour},
			"sSsSs", "s"},
		{"failures in a row", Policy{SlowRate: 0.5, SlowCall: time.Second}, "SfFfs", "s"},
		{"a slow success ends the row", Policy{SlowRate: 0.5, SlowCall: time.Second}, "ffSffs", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := New(tt.policy)
			if left := take(b, tt.samples, time.Second+1); left != tt.left || (left != "") != (b.State() == Open) {
				t.Errorf("%s: %q of %q is refused in state %v; want %q", tt.name, left, tt.samples, b.State(), tt.left)
			}
		})
	}
}

// An attempt of exactly SlowCall is not slow.
func TestSlowCallBoundary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Policy{SlowRate: 0.1, SlowCall: time.Second, MinCalls: 1})
		if _, ok := b.Ready(); ok {
			t.Error("an attempt starts without its time")
		}
		if take(b, "SF", time.Second); b.State() != Closed {
			t.Error("an attempt of SlowCall opens the breaker")
		}
		if take(b, "S", time.Second+1); b.State() != Open {
			t.Error("a longer one does not")
		}
	})
}

// A breaker that opened because of slow attempts does not close by one.
func TestSlowProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Policy{
			SlowRate: 1, SlowCall: time.Second, MinCalls: 2, OpenFor: 5 * time.Second, EscalateAfter: 2,
		})
		take(b, "SS......S", 2*time.Second)
		if got := b.Save(); got.State != Open || got.Failures != 1 {
			t.Errorf("after a slow probe: %+v", got)
		}
		if take(b, "......s", 0); b.State() != Closed {
			t.Errorf("after a fast probe: %v", b.State())
		}
	})
}

// A closed breaker remembers nothing of the time before it opened.
func TestWindowIsNewAfterClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Policy{FailureRate: 0.5, MinCalls: 4, OpenFor: time.Second, Window: time.Hour})
		if left := take(b, "ffff..sfff", 0); left != "" || b.State() != Closed {
			t.Errorf("%q is refused in state %v", left, b.State())
		}
		b.Reset()
		if left := take(b, "fff", 0); left != "" || b.State() != Closed {
			t.Errorf("after Reset: %q is refused in state %v", left, b.State())
		}
		b.Restore(b.Save())
		if left := take(b, "fff", 0); left != "" || b.State() != Closed {
			t.Errorf("after Restore: %q is refused in state %v", left, b.State())
		}
	})
}

// Nothing is lost when goroutines count at once.
func TestWindowCountsAll(t *testing.T) {
	for _, p := range []Policy{
		{FailureRate: 1, Window: time.Hour},
		{FailureRate: 1, WindowCalls: 4000},
	} {
		b := New(p)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				for i := range 1000 {
					p, _ := b.Admit()
					if i%10 == 0 {
						b.Record(p, Failure)
					} else {
						b.Record(p, Success)
					}
				}
			})
		}
		wait.Wait()
		if calls, failed, _ := b.window.Load().totals(); calls != 4000 || failed != 400 {
			t.Errorf("%+v: %d calls and %d failures are counted, want 4000 and 400", p, calls, failed)
		}
	}
}

// Once the last calls have all succeeded, another success is not counted, and
// counting goes on with the next failure.
func TestWindowCallsIsCalm(t *testing.T) {
	p := Policy{FailureRate: 0.5, WindowCalls: 4}
	b, record := New(p), Snapshot{}
	const samples, calm = "sssssfssssff", "...cc....c.."
	for i := range samples {
		sample := Success
		if samples[i] == 'f' {
			sample = Failure
		}
		pass, ok := b.Ready()
		permit, same := p.Admit(&record, time.Now())
		if !ok || !same {
			t.Fatalf("%d: refused in state %v, of the record %v", i, b.State(), record.State)
		}
		b.Record(pass.Permit(), sample)
		p.Record(&record, permit, sample, time.Now())
		if want := calm[i] == 'c'; b.Calm() != want || p.Calm(record) != want {
			t.Errorf("%d: calm is %v, of the record %v, want %v", i, b.Calm(), p.Calm(record), want)
		}
	}
	if b.State() != Open || record.State != Open {
		t.Errorf("the breaker is %v, the record %v", b.State(), record.State)
	}
	slow := New(Policy{SlowRate: 1, SlowCall: time.Second, WindowCalls: 1})
	if take(slow, "ss", 0); slow.Calm() {
		t.Error("a breaker that counts slow calls is calm: the next one may be slow")
	}
}

// Successes are counted while the window slides, without a lock.
func TestWindowSlidesUnderLoad(t *testing.T) {
	b := New(Policy{
		FailureRate: 0.9, SlowRate: 0.9, SlowCall: time.Second, MinCalls: 10, Window: 100 * time.Microsecond,
	})
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 2000 {
				p, ok := b.Admit()
				switch {
				case !ok:
					t.Error("an attempt is refused, though half of them succeed")
					return
				case i%2 == 0:
					b.Record(p, Failure)
				default:
					b.Record(p, Success)
				}
			}
		})
	}
	wait.Wait()
}

func TestSuccessUnderARateAllocatesNothing(t *testing.T) {
	rate := New(Policy{FailureRate: 0.5})
	slow := New(Policy{SlowRate: 0.5, SlowCall: time.Minute})
	last := New(Policy{FailureRate: 0.5, SlowRate: 0.5, SlowCall: time.Minute, WindowCalls: 10})
	if n := testing.AllocsPerRun(100, func() {
		pass, _ := rate.Ready()
		rate.Succeed(pass)
		p, _ := slow.Admit()
		slow.Record(p, Success)
		p, _ = last.Admit()
		last.Record(p, Success)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkSuccessUnderARate times a success of a closed breaker. In "mixed", an
// attempt in 9000 fails, so that successes are always counted.
func BenchmarkSuccessUnderARate(b *testing.B) {
	for name, p := range map[string]Policy{
		"none": {}, "window": {FailureRate: 0.5}, "window_calls": {FailureRate: 0.5, WindowCalls: 100},
		"window_calls mixed": {FailureRate: 0.5, WindowCalls: MaxWindowCalls},
	} {
		b.Run(name, func(b *testing.B) {
			breaker := New(p)
			for i := 0; b.Loop(); i++ {
				pass, _ := breaker.Ready()
				if p.WindowCalls == MaxWindowCalls && i%9000 == 0 {
					breaker.Record(pass.Permit(), Failure)
					continue
				}
				breaker.Succeed(pass)
			}
		})
	}
}

// FuzzBreaker compares the breaker with a model that follows its documentation.
func FuzzBreaker(f *testing.F) {
	f.Add([]byte("fffwsfffwfws"), uint8(3), uint8(5), uint8(1), uint8(0), uint8(0))
	f.Add([]byte("ffwawfr"), uint8(2), uint8(0), uint8(2), uint8(5), uint8(3))
	f.Add([]byte("fffwfwfwfwffwfwsfffwf"), uint8(0x23), uint8(0), uint8(1), uint8(0), uint8(0))
	f.Add([]byte("fssfsfsssssfsffssffwsss"), uint8(0), uint8(0x40), uint8(1), uint8(5), uint8(3))
	f.Add([]byte("\x00\x01\x02\x03\x04\x09\x13\x1d\x27\x31"), uint8(0), uint8(0), uint8(1), uint8(7), uint8(2))
	f.Fuzz(func(t *testing.T, ops []byte, failures, escalate, successes, rate, minCalls uint8) {
		m := &model{Policy: Policy{
			Failures: int(failures % 5), EscalateAfter: int(escalate % 9),
			FailureRate: float64(rate%11) / 10, SlowRate: float64(rate%7) / 10,
			MinCalls: int(minCalls%10) + 1, Window: time.Second,
			OpenFor: time.Second, Successes: int(successes%3) + 1,
		}}
		if m.SlowRate > 0 {
			m.SlowCall = 50 * time.Millisecond
		}
		if failures&0x20 != 0 {
			m.MaxOpenFor = 5 * time.Second
		}
		if escalate&0x40 != 0 {
			m.Window, m.WindowCalls = 0, m.MinCalls+int(rate>>4)
		}
		b, now := New(m.Policy), time.Now().Round(0).UTC()
		m.Policy = m.Effective()
		b.lock()
		b.enter(Closed, "", now) // the clock of the model
		b.unlock()
		m.closedAt, m.opens = now, m.OpenFor
		record := store{Policy: m.Policy, snapshot: b.snapshot()}
		for i, op := range ops {
			if op%5 == 4 {
				now = now.Add(time.Duration(op) * 10 * time.Millisecond)
				continue
			}
			m.look(now)
			p, ok := b.admit(now)
			stored, same := record.admit(t, now)
			if ok != (m.state == Closed || m.state == HalfOpen) {
				t.Fatalf("%d: an attempt is admitted: %v, in state %v", i, ok, m.state)
			}
			if same != ok || stored != p {
				t.Fatalf("%d: permit %+v, %v; the record gives %+v, %v", i, p, ok, stored, same)
			}
			if !ok {
				continue
			}
			took := time.Duration(op>>3) * 5 * time.Millisecond
			now = now.Add(took)
			s := [...]Sample{Success, Success, Failure, Neutral}[op%5]
			b.lock()
			b.machine.record(p, s, now)
			b.unlock()
			record.record(t, p, s, now)
			if s != Neutral {
				m.record(s == Failure, m.SlowCall > 0 && took > m.SlowCall, now)
			}
			got := b.snapshot()
			if got.State != m.state || m.state != HalfOpen && got.Failures != m.row {
				t.Fatalf("%d: state %v with %d failures, want %v with %d", i, got.State, got.Failures, m.state, m.row)
			}
			if !reflect.DeepEqual(record.snapshot, got) {
				t.Fatalf("%d: the record is\n%+v\nwant\n%+v", i, record.snapshot, got)
			}
		}
	})
}

// A store keeps a breaker as a record. Each change is made to a decoded copy, and
// twice, as by a transaction that is repeated.
type store struct {
	Policy
	snapshot Snapshot
}

func (s *store) admit(t *testing.T, now time.Time) (permit Permit, ok bool) {
	s.update(t, func(snapshot *Snapshot) { permit, ok = s.Admit(snapshot, now) })
	return permit, ok
}

func (s *store) record(t *testing.T, permit Permit, sample Sample, now time.Time) {
	s.update(t, func(snapshot *Snapshot) { s.Record(snapshot, permit, sample, now) })
}

func (s *store) update(t *testing.T, change func(*Snapshot)) {
	t.Helper()
	text, err := json.Marshal(s.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	var decoded Snapshot
	if err := json.Unmarshal(text, &decoded); err != nil || !reflect.DeepEqual(decoded, s.snapshot) {
		t.Fatalf("%s: decoded %+v, %v", text, decoded, err)
	}
	first, second := decoded, decoded
	change(&first)
	change(&second)
	if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(decoded, s.snapshot) {
		t.Fatalf("%s:\nfirst  %+v\nsecond %+v\nbefore %+v", text, first, second, decoded)
	}
	s.snapshot = first
}

// A model is a breaker that remembers every attempt.
type model struct {
	Policy
	state     State
	row, good int
	opens     time.Duration // how long it stays open next
	openUntil time.Time
	closedAt  time.Time
	calls     []modelCall
}

type modelCall struct {
	at           time.Time
	failed, slow bool
}

func (m *model) look(now time.Time) {
	if m.state == Open && now.After(m.openUntil) {
		m.state, m.good = HalfOpen, 0
	}
}

func (m *model) record(failed, slow bool, now time.Time) {
	if m.state == HalfOpen && !failed && !slow {
		if m.good++; m.good == m.Successes {
			m.state, m.row, m.calls, m.closedAt, m.opens = Closed, 0, nil, now, m.OpenFor
		}
		return
	}
	m.calls = append(m.calls, modelCall{now, failed, slow})
	switch {
	case failed || m.state == HalfOpen:
		m.row++
	default:
		m.row = 0
	}
	open := m.state == HalfOpen || m.Failures > 0 && m.row >= m.Failures || (failed || slow) && m.exceeded(now)
	switch {
	case m.EscalateAfter > 0 && m.row >= m.EscalateAfter:
		m.state = Escalated
	case open:
		if m.state == HalfOpen && m.MaxOpenFor > 0 {
			m.opens = min(2*m.opens, m.MaxOpenFor)
		}
		m.state, m.openUntil = Open, now.Add(m.opens)
	}
}

// exceeded counts the last attempts, or those of the tenth of a window that now is
// in, and of the nine before it.
func (m *model) exceeded(now time.Time) bool {
	tenth := func(at time.Time) int64 { return int64(at.Sub(m.closedAt) / (m.Window / 10)) }
	calls, failed, slow := 0.0, 0.0, 0.0
	for i, c := range m.calls {
		if m.WindowCalls > 0 && i < len(m.calls)-m.WindowCalls {
			continue
		}
		if m.WindowCalls == 0 && tenth(c.at) <= tenth(now)-10 {
			continue
		}
		calls++
		if c.failed {
			failed++
		}
		if c.slow {
			slow++
		}
	}
	return calls >= float64(m.MinCalls) &&
		(m.FailureRate > 0 && failed/calls >= m.FailureRate || m.SlowRate > 0 && slow/calls >= m.SlowRate)
}
