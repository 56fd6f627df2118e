package unboundedretry

import (
	"context"
	"errors"
	"log"
	"os"
	"time"
)

// ---- a context that never ends ----

func asksBackground(c caller) error {
	ctx := context.Background()
	for { // want `retry of Ping .*: the context that it checks never ends; .*\(RL101`
		err := c.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func asksBeforeCall(c caller) error {
	ctx := context.TODO()
	for { // want `retry of Call .*never ends`
		select {
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if _, err := c.Call(ctx, "k"); err != nil {
			time.Sleep(time.Second)
			continue
		}
		return nil
	}
}

func cancelsAtEnd(c caller) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for { // want `retry of Call .*never ends`
		_, err := c.Call(ctx, "k")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func cancelsInDeferred(c caller) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer func() { cancel() }()
	for { // want `retry of Ping .*RL101`
		err := c.Ping()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(time.Second)
	}
}

type tenant struct{}

func asksWithValue(c caller) error {
	ctx := context.WithValue(context.Background(), tenant{}, "a")
	for ctx.Err() == nil { // want `retry of Ping .*RL101`
		if err := c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return ctx.Err()
}

func nopeCancelledBySignal(c caller, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { <-signals; cancel() }()
	for {
		err := c.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func nopeCancelHandedOn(c caller, onExit func(func())) error {
	ctx, cancel := context.WithCancel(context.Background())
	onExit(cancel)
	for ctx.Err() == nil {
		if err := c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return ctx.Err()
}

func nopeCancelledWhileOtherRuns(c caller, work func()) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for ctx.Err() == nil { // missed
			if err := c.Ping(); err == nil {
				return
			}
			time.Sleep(time.Second) // want `RL102`
		}
	}()
	work()
}

func nopeTimeoutOfBackground(c caller) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := c.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// It leaves where the context has not ended: always.
func nopeLeavesAnyway(c caller) error {
	ctx := context.Background()
	for {
		err := c.Ping()
		if err == nil || ctx.Err() == nil {
			return err
		}
		time.Sleep(time.Second)
	}
}

func nopeOtherCase(c caller, stop <-chan struct{}) error {
	ctx := context.Background()
	for {
		err := c.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-stop:
			return err
		case <-time.After(time.Second):
		}
	}
}

// ---- tickers ----

func eachTick(c caller) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for range ticker.C { // want `retry of Ping .*RL101`
		if err := c.Ping(); err == nil {
			return
		}
	}
}

func eachTickOfNoTicker(c caller) {
	for range time.Tick(time.Second) { // want `retry of Ping .*RL101`
		if err := c.Ping(); err != nil {
			continue
		}
		break
	}
}

func nopeEndsBetweenTicks(c caller) error {
	end, tick := time.After(time.Minute), time.Tick(time.Second)
	for {
		select {
		case <-end:
			return errBusy
		case <-tick:
			if err := c.Ping(); err == nil {
				return nil
			}
		}
	}
}

func nopeTicksForEver(c caller) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for range ticker.C {
		if err := c.Ping(); err != nil {
			log.Print(err)
		}
	}
}

func nopeChannelMayBeClosed(c caller, ticks <-chan time.Time) {
	for range ticks {
		if err := c.Ping(); err == nil {
			return
		}
	}
}

func nopeTicksAreCounted(c caller) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	left := 5
	for range ticker.C {
		if left--; left == 0 || c.Ping() == nil {
			return
		}
	}
}

// ---- counters that never reach their limit ----

func countsAway(c caller, max int) error {
	for i := 0; i < max; i-- { // want `retry of Ping .*: "i" moves away from the limit that it is compared with at line \d+; .*\(RL101, RL105`
		if err := c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errBusy
}

func countsUpFromAbove(c caller, max int) error {
	left := max
	for { // missed
		err := c.Ping()
		if err == nil {
			return nil
		}
		if left++; left <= 0 {
			return err
		}
		time.Sleep(time.Second)
	}
}

func countsOnlySuccess(c caller, max int) {
	for attempt := 0; attempt < max; { // want `retry of Ping .*\(RL101`
		if err := c.Ping(); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		attempt++
		return
	}
}

// What the round counts is taken back.
func takesBack(c caller, max int) {
	for i := 0; i < max; i++ { // missed
		err := c.Ping()
		if err == nil {
			return
		}
		log.Print(err)
		i--
		time.Sleep(time.Second)
	}
}

func nopeCountsUp(c caller, max int) {
	for i := max; i <= 0; i++ {
		if c.Ping() == nil {
			return
		}
	}
}

func nopeTakesBackLess(c caller, max int) {
	for i := 0; i < max; i += 2 {
		if c.Ping() == nil {
			return
		}
		i--
	}
}

func nopeUnsignedWraps(c caller) {
	for i := uint(5); i < 100; i-- {
		if c.Ping() == nil {
			return
		}
	}
}

func nopeLimitFollows(c caller, limits func() int) {
	for i := 0; i < limits(); i-- {
		if c.Ping() == nil {
			return
		}
	}
}

func nopeTakesBackSometimes(c caller, max int) {
	for i := 0; i < max; i++ {
		err := c.Ping()
		if err == nil {
			return
		}
		if errors.Is(err, errBusy) {
			i--
		}
		time.Sleep(time.Second)
	}
}

// ---- timers that each round starts anew ----

func neverItsTurn(c caller, limit time.Duration) error {
	for { // want `the limit that is checked at line [1-9]\d* is reset on each iteration.*RL101, RL106`
		select {
		case <-time.After(limit):
			return errBusy
		default:
			if err := c.Ping(); err == nil {
				return nil
			}
			time.Sleep(time.Second)
		}
	}
}

func tickIsFaster(c caller) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for { // missed
		select {
		case <-ticker.C:
			if err := c.Ping(); err == nil {
				return nil
			}
		case <-time.After(time.Minute):
			return errBusy
		}
	}
}

func timerAnew(c caller) error {
	for { // missed
		timer := time.NewTimer(time.Minute)
		err := c.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-timer.C:
			return err
		case <-time.After(time.Second):
		}
	}
}

// Who fails at once gives up: what starts it again is for those who ran.
func nopeFailsFast(c caller) error {
	for {
		start := time.Now()
		err := c.Ping()
		if err == nil || time.Since(start) < time.Second {
			return err
		}
		time.Sleep(time.Second)
	}
}

func nopeStartedBefore(c caller) error {
	start := time.Now()
	for {
		begun := time.Now()
		err := c.Ping()
		if err == nil || begun.Sub(start) > time.Minute {
			return err
		}
		time.Sleep(time.Second)
	}
}

func nopeDeadlineStays(c caller) error {
	deadline := time.Now().Add(time.Minute)
	for {
		err := c.Ping()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(time.Second)
	}
}

func nopeTimerIsFaster(c caller) error {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := c.Ping(); err == nil {
				return nil
			}
		case <-time.After(time.Second):
			return errBusy
		}
	}
}

// It waits for news, and gives up if there is none.
func nopeWaitsForNews(c caller, news <-chan struct{}) error {
	for {
		select {
		case <-news:
			if err := c.Ping(); err == nil {
				return nil
			}
		case <-time.After(time.Minute):
			return errBusy
		}
	}
}

func nopeTimerOutlivesRound(c caller) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	timer := time.NewTimer(time.Minute)
	for {
		select {
		case <-ticker.C:
			if err := c.Ping(); err == nil {
				return nil
			}
		case <-timer.C:
			return errBusy
		}
	}
}

type member struct {
	ctx  context.Context
	stop context.Context
}

func newMember(ctx context.Context) *member { return &member{ctx: context.Background(), stop: ctx} }

// Each attempt has a limit of its own, and what they are derived from never ends.
func (m *member) join(c caller) error {
	for { // want `retry of Call .*RL101`
		ctx, cancel := context.WithTimeout(m.ctx, time.Second)
		_, err := c.Call(ctx, "join")
		cancel()
		if err == nil {
			return nil
		}
		if transient(err) {
			time.Sleep(time.Second)
			continue
		}
		return err
	}
}

func (m *member) joinUntilStopped(c caller) error {
	for { // want `retry of Call .*RL101; named`
		ctx, cancel := context.WithTimeout(m.stop, time.Second)
		_, err := c.Call(ctx, "join")
		cancel()
		if err == nil || !transient(err) {
			return err
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

// How long one attempt may take ends none of the others.
func eachTimesOut(c caller) string {
	for { // missed
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		s, err := c.Call(ctx, "status")
		cancel()
		if err == nil {
			return s
		}
		if err != context.DeadlineExceeded {
			return ""
		}
	}
}
