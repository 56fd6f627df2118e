package hedge_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/hedge"
)

const ms = time.Millisecond

// A request describes what one request of a race does.
type request struct {
	takes time.Duration
	ends  string // "" for a success, "fails", "refused", "panics" or "exits"
	deaf  bool   // it does not watch its context
}

var errFailed = errors.New("failed")

// do carries out the request and returns its error.
func (q request) do(ctx context.Context) error {
	done := ctx.Done()
	if q.deaf {
		done = nil
	}
	select {
	case <-time.After(q.takes):
	case <-done:
		return context.Cause(ctx)
	}
	switch q.ends {
	case "fails":
		return errFailed
	case "refused":
		return hedge.ErrRefused
	case "panics":
		panic("request panics")
	case "exits":
		runtime.Goexit()
	}
	return nil
}

// A result is what is seen of a race.
type result struct {
	outcome hedge.Outcome
	took    time.Duration
	first   error // of the first request, also if it is not the error of the race
	second  error
	counts  hedge.Counts
}

// race runs a race of two requests. Its caller's context ends after cancel, unless that
// is 0. It returns after both goroutines, and the bubble proves that no other is left.
func race(t *testing.T, h *hedge.Hedge, first, second request, cancel time.Duration) (r result) {
	ctx := t.Context()
	if cancel > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, cancel)
		defer end()
	}
	began, before := time.Now(), h.Counts()
	var race hedge.Race
	running := false
	defer func() {
		race.Close()
		if r.took = time.Since(began); running {
			t.Error("the second request outlives the race")
		}
		r.second, r.counts = race.Err(), h.Counts()
		r.counts.Won -= before.Won
		r.counts.Lost -= before.Lost
		r.counts.Refused -= before.Refused
		r.counts.NoBudget -= before.NoBudget
		if recover() != nil {
			r.first = errors.New("panicked")
		}
	}()
	r.first = first.do(race.Begin(ctx, h, func() {
		race.Again(func(ctx context.Context) error {
			running = true
			defer func() { running = false }()
			return second.do(ctx)
		})
	}))
	r.outcome = race.End(r.first)
	return r
}

// TestRace checks races with a delay of 10ms.
func TestRace(t *testing.T) {
	won, lost := hedge.Counts{Won: 1}, hedge.Counts{Lost: 1}
	canceled := context.DeadlineExceeded
	for _, test := range []struct {
		name          string
		first, second request
		cancel        time.Duration
		want          result
	}{
		{"a fast first", request{takes: 9 * ms}, request{}, 0, result{hedge.Single, 9 * ms, nil, nil, hedge.Counts{}}},
		{"a fast failure", request{takes: 9 * ms, ends: "fails"}, request{}, 0,
			result{hedge.Single, 9 * ms, errFailed, nil, hedge.Counts{}}},
		{"the second wins", request{takes: 50 * ms}, request{takes: 2 * ms}, 0,
			result{hedge.Second, 12 * ms, hedge.ErrLost, nil, won}},
		{"the first wins", request{takes: 12 * ms}, request{takes: 5 * ms}, 0,
			result{hedge.First, 12 * ms, nil, hedge.ErrLost, lost}},
		{"the second fails first", request{takes: 50 * ms}, request{takes: 2 * ms, ends: "fails"}, 0,
			result{hedge.First, 50 * ms, nil, errFailed, lost}},
		{"the first fails first", request{takes: 12 * ms, ends: "fails"}, request{takes: 5 * ms}, 0,
			result{hedge.Second, 15 * ms, errFailed, nil, won}},
		{"both fail", request{takes: 12 * ms, ends: "fails"}, request{takes: 5 * ms, ends: "fails"}, 0,
			result{hedge.First, 15 * ms, errFailed, errFailed, lost}},
		{"a deaf first that succeeds", request{takes: 50 * ms, deaf: true}, request{takes: 2 * ms}, 0,
			result{hedge.First, 50 * ms, nil, nil, lost}},
		{"a deaf first that fails", request{takes: 50 * ms, ends: "fails", deaf: true}, request{takes: 2 * ms}, 0,
			result{hedge.Second, 50 * ms, errFailed, nil, won}},
		{"a deaf second that succeeds", request{takes: 12 * ms}, request{takes: 40 * ms, deaf: true}, 0,
			result{hedge.First, 50 * ms, nil, nil, lost}},
		{"a refused second", request{takes: 50 * ms}, request{ends: "refused"}, 0,
			result{hedge.Single, 50 * ms, nil, hedge.ErrRefused, hedge.Counts{Refused: 1}}},
		{"canceled before the delay", request{takes: 50 * ms}, request{}, 5 * ms,
			result{hedge.Single, 5 * ms, canceled, nil, hedge.Counts{}}},
		{"a deaf first is canceled before the delay", request{takes: 50 * ms, deaf: true}, request{}, 5 * ms,
			result{hedge.Single, 50 * ms, nil, nil, hedge.Counts{}}},
		{"canceled after the delay", request{takes: 50 * ms}, request{takes: 50 * ms}, 15 * ms,
			result{hedge.First, 15 * ms, canceled, canceled, lost}},
		{"the first panics before the delay", request{takes: 5 * ms, ends: "panics"}, request{}, 0,
			result{0, 5 * ms, errors.New("panicked"), nil, hedge.Counts{}}},
		{"the first panics after the delay", request{takes: 12 * ms, ends: "panics"}, request{takes: 50 * ms}, 0,
			result{0, 12 * ms, errors.New("panicked"), hedge.ErrLost, lost}},
		{"the first panics and the second is deaf", request{takes: 12 * ms, ends: "panics"},
			request{takes: 50 * ms, deaf: true}, 0, result{0, 60 * ms, errors.New("panicked"), nil, lost}},
		{"the second exits", request{takes: 50 * ms}, request{takes: 2 * ms, ends: "exits"}, 0,
			result{hedge.Single, 50 * ms, nil, errors.New("hedge: the second request called runtime.Goexit"), lost}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := hedge.New(hedge.Policy{Name: "Find", After: 10 * ms})
				got := race(t, h, test.first, test.second, test.cancel)
				if !same(got, test.want) {
					t.Errorf("got %+v\nwant %+v", got, test.want)
				}
			})
		})
	}
}

// same compares results, and errors by their text.
func same(a, b result) bool {
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	return a.outcome == b.outcome && a.took == b.took && a.counts == b.counts &&
		text(a.first) == text(b.first) && text(a.second) == text(b.second)
}

// The first request calls runtime.Goexit, as t.FailNow does: the race still waits for
// the second one.
func TestFirstExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hedge.New(hedge.Policy{After: 10 * ms})
		go race(t, h, request{takes: 12 * ms, ends: "exits"}, request{takes: 20 * ms, deaf: true}, 0)
		time.Sleep(time.Second)
		if got, want := h.Counts(), (hedge.Counts{Lost: 1}); got != want {
			t.Errorf("counts %+v, want %+v", got, want)
		}
	})
}

// A panic of the second request reaches the caller, with the place where it began.
func TestSecondPanics(t *testing.T) {
	for _, first := range []request{
		{takes: time.Minute}, {takes: 12 * ms}, {takes: 12 * ms, ends: "fails"}, {takes: 12 * ms, ends: "panics"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := hedge.New(hedge.Policy{After: 10 * ms})
			defer func() {
				p, ok := recover().(*hedge.Panic)
				if !ok || p.Value != "request panics" || !strings.Contains(p.Error(), "request.do") {
					t.Errorf("recovered %v", p)
				}
				if got, want := h.Counts(), (hedge.Counts{Lost: 1}); got != want {
					t.Errorf("counts %+v, want %+v", got, want)
				}
			}()
			var race hedge.Race
			defer race.Close()
			err := first.do(race.Begin(t.Context(), h, func() {
				race.Again(request{ends: "panics"}.do)
			}))
			t.Errorf("the race ended: %v", race.End(err))
		})
	}
}

// Without a hedge, the request gets the context of the caller and the race does nothing.
func TestNoHedge(t *testing.T) {
	for _, h := range []*hedge.Hedge{nil, new(hedge.Hedge), hedge.New(hedge.Policy{Quantile: 0.5})} {
		var race hedge.Race
		if ctx := race.Begin(t.Context(), h, nil); ctx != t.Context() {
			t.Errorf("%+v: the context is %v", h, ctx)
		}
		if got := race.End(nil); got != hedge.Single {
			t.Errorf("outcome %v", got)
		}
		race.Close()
	}
}

// An error that is an answer ends the race as a success does.
func TestAnswerIsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var race hedge.Race
		ctx := race.Begin(t.Context(), hedge.New(hedge.Policy{After: 10 * ms}), func() {
			race.Again(request{takes: time.Minute}.do)
		})
		_ = request{takes: 20 * ms, ends: "fails"}.do(ctx)
		if got, took := race.End(nil), time.Since(began); got != hedge.First || took != 20*ms {
			t.Errorf("outcome %v after %v", got, took)
		}
		if race.Err() != hedge.ErrLost {
			t.Errorf("the second request returned %v", race.Err())
		}
	})
}

// A failure before the delay leaves the delay unchanged, and one after it raises it, also
// if the caller canceled the request.
func TestDelayAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hedge.New(hedge.Policy{Quantile: 0.95})
		for range 64 {
			race(t, h, request{takes: 10 * ms}, request{}, 0)
		}
		before, _ := h.Delay()
		if before != 10*ms {
			t.Errorf("delay %v, want 10ms", before)
		}
		race(t, h, request{takes: 5 * ms, ends: "fails"}, request{}, 0)
		race(t, h, request{takes: 10 * ms}, request{}, 5*ms)
		if got, _ := h.Delay(); got != before {
			t.Errorf("delay %v after fast failures, want %v", got, before)
		}
		race(t, h, request{takes: 20 * ms, ends: "fails"}, request{takes: 20 * ms, ends: "fails"}, 0)
		failed, _ := h.Delay()
		race(t, h, request{takes: 50 * ms}, request{takes: 50 * ms}, 20*ms)
		canceled, _ := h.Delay()
		if failed <= before || canceled <= failed {
			t.Errorf("delays %v, %v after a slow failure, %v after a slow canceled request", before, failed, canceled)
		}
	})
}

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hedge.New(hedge.Policy{After: 10 * ms})
		find := func(ctx context.Context) (string, error) {
			if hedge.Is(ctx) {
				return "second", request{takes: 5 * ms}.do(ctx)
			}
			return "first", request{takes: 12 * ms, ends: "fails"}.do(ctx)
		}
		if got, err := hedge.Do(t.Context(), h, find); got != "second" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		fail := func(context.Context) (string, error) { return "partial", errFailed }
		if got, err := hedge.Do(t.Context(), h, fail); got != "partial" || err != errFailed {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
