package hiddenexhaustion

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"time"
)

type state struct{ Name, Value string }

type cluster interface {
	Get(name string) (*state, error)
	List() ([]state, error)
	Report(*state)
}

func countedPoll(c cluster, most int) error {
	for i := 0; i < most; i++ { // want `when the poll of Get is exhausted, the function returns nil at line \d+, as on success: return an error \(RL109`
		time.Sleep(time.Second)
		s, err := c.Get("web")
		if err != nil {
			return err
		}
		if s.Value == "ready" {
			break
		}
	}
	return nil
}

func polledList(c cluster, most int) error {
	most = most/5 + 1
outer:
	for i := 0; i < most; i++ { // want `when the poll of List is exhausted.* \(RL109`
		time.Sleep(5 * time.Second)
		list, err := c.List()
		if err != nil {
			return err
		}
		for _, s := range list {
			if s.Name == "web" && s.Value == "ready" {
				break outer
			}
		}
	}
	return nil
}

func timedPoll(c cluster) error {
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) { // want `when the poll of Get is exhausted.* \(RL109`
		s, err := c.Get("web")
		if err != nil {
			return err
		}
		if s.Value == "ready" {
			return nil
		}
		time.Sleep(time.Second)
	}
	log.Print("not ready")
	return nil
}

type api interface {
	Get(ctx context.Context, name string) (*state, error)
}

func pollForAsLong(ctx context.Context, c api) error {
	for ctx.Err() == nil { // want `when the poll of Get is exhausted.* \(RL109`
		time.Sleep(time.Second) // want `RL102`
		s, err := c.Get(ctx, "web")
		if err != nil {
			return err
		}
		if s.Value == "running" {
			break
		}
	}
	fmt.Println("web is running")
	return nil
}

// A false, or another value, says that there was no answer.
func nopeToldByBool(c cluster) (bool, error) {
	for range 5 {
		s, err := c.Get("web")
		if err != nil {
			return false, err
		}
		if s.Value == "ready" {
			return true, nil
		}
		time.Sleep(time.Second)
	}
	return false, nil
}

func nopeAskedBehind(c cluster) error {
	var s *state
	for range 5 {
		var err error
		if s, err = c.Get("web"); err != nil {
			return err
		}
		if s.Value == "ready" {
			break
		}
		time.Sleep(time.Second)
	}
	if s == nil || s.Value != "ready" {
		return errors.New("not ready")
	}
	return nil
}

// Waiting for a time and going on is meant, where nothing that it asks is an error.
func nopeGivesTime(c cluster) error {
	for range 5 {
		if s, err := c.Get("web"); err == nil && s.Value == "stopped" {
			break
		}
		time.Sleep(time.Second)
	}
	return nil
}

// It reports until it is told to stop.
func nopeReports(ctx context.Context, c cluster) error {
	for ctx.Err() == nil {
		s, err := c.Get("web")
		if err != nil {
			return err
		}
		if s.Value == "gone" {
			return nil
		}
		c.Report(s)
		time.Sleep(time.Second) // want `RL102`
	}
	return nil
}

var errRestart = errors.New("restart")

// What fails as well is the last error.
func nopeFallback(first, second cluster) error {
	var err error
	for range 5 {
		if _, err = first.Get("web"); err == nil {
			return nil
		}
		if _, err = second.Get("web"); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func nopeJoined(db *sql.DB, work func(*sql.Tx) error) error {
	var err error
	for range 5 {
		tx, begun := db.Begin()
		if begun != nil {
			return begun
		}
		if err = work(tx); err == nil {
			return tx.Commit()
		}
		if undone := tx.Rollback(); undone != nil {
			return errors.Join(err, undone)
		}
	}
	return err
}

func nilInEachRound(ctx context.Context, c api, ticks *time.Ticker) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s, err := c.Get(ctx, "web")
	if err != nil {
		return err
	}
	for s.Value != "gone" { // want `when the poll of Get is exhausted, the function returns the error of the last Get at line \d+, which is nil after any answer: return an error \(RL109`
		select {
		case <-ctx.Done():
			return err
		case <-ticks.C:
			if s, err = c.Get(ctx, "web"); err != nil {
				return err
			}
		}
	}
	return nil
}

// An error ends it, and another one, too often.
func nopeFailuresAreCounted(c cluster) error {
	failed := 0
	for {
		s, err := c.Get("web")
		if err != nil {
			if failed++; failed > 3 {
				return err
			}
		} else if s.Value == "ready" {
			return nil
		}
		time.Sleep(time.Second)
	}
}

func lastAnswer(c cluster) (err error) {
	for range 60 { // want `the error of the last Get at line \d+, which is nil after any answer.* \(RL109`
		var s *state
		s, err = c.Get("web")
		if err == nil && s.Value == "ready" {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func nopeAnswerIsWrong(c cluster) (err error) {
	for range 60 {
		var s *state
		if s, err = c.Get("web"); err == nil {
			if s.Value == "ready" {
				return nil
			}
			err = errors.New("not ready")
		}
		time.Sleep(time.Second)
	}
	return err
}

func polledByTimer(c cluster) error {
	over := time.After(time.Minute)
	for { // want `when the poll of Get .* returns nil at line \d+, .* \(RL109`
		s, err := c.Get("web")
		if err != nil {
			return err
		}
		if s.Value == "ready" {
			return nil
		}
		select {
		case <-over:
			log.Print("it takes too long")
			return nil
		case <-time.After(time.Second):
		}
	}
}

func shadowed(c client) (string, error) {
	var err error
	for range 3 { // want `when the retries of Call are exhausted, the function returns err at line \d+, which is never set: assign the last error to it \(RL109`
		s, err := c.Call(context.Background(), "k")
		if err == nil {
			return s, nil
		}
		time.Sleep(time.Second)
	}
	return "", err
}

// Going on without it may be meant.
func nopeBare(c client) (s string, err error) {
	for range 3 {
		answer, failed := c.Call(context.Background(), "k")
		if failed == nil {
			return answer, nil
		}
		time.Sleep(time.Second)
	}
	return
}

func nopeWrapsIt(c client) error {
	var last error
	for range 3 {
		err := c.Ping()
		if err == nil {
			return nil
		}
		last = err
		time.Sleep(time.Second)
	}
	return last
}

func nopeOwnError(ctx context.Context, c client) error {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if _, err := c.Call(limited, "k"); err == nil {
			return nil
		}
		select {
		case <-limited.Done():
			return limited.Err()
		case <-time.After(time.Second):
		}
	}
}

func nopeShutdown(ctx context.Context, c api) error {
	for {
		s, err := c.Get(ctx, "web")
		if err != nil {
			return err
		}
		if s.Value == "gone" {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func isDone(ctx context.Context) bool { return ctx.Err() != nil }

func askedByHelper(ctx context.Context, c client) error {
	for {
		if isDone(ctx) {
			return nil // want `this returns nil although Call has not succeeded: return an error \(RL109`
		}
		_, err := c.Call(ctx, "k")
		if err == nil {
			return nil
		}
		if errors.Is(err, errRestart) {
			return err
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

func emptyAtTheEnd(c client) (string, error) {
	for range 3 { // want `when the retries of Call are exhausted, the function returns nil at line \d+: return the last error \(RL109`
		s, err := c.Call(context.Background(), "k")
		if err == nil {
			return s, nil
		}
		if errors.Is(err, errRestart) {
			return "", err
		}
		time.Sleep(time.Second)
	}
	return "", nil
}

func pastTheClock(c client) error {
	late := time.Now().Add(time.Minute)
	for time.Now().Before(late) { // want `when the retries of Ping are exhausted, the function returns nil at line \d+: return the last error \(RL109`
		err := c.Ping()
		if err == nil {
			return nil
		}
		if errors.Is(err, errRestart) {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

func busy(c cluster) (*state, error) {
	for range 3 { // want `when the retries of Get are exhausted, the function returns nil at line \d+: return the last error`
		s, err := c.Get("web")
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, errBusy) {
			return nil, err
		}
		time.Sleep(time.Second)
	}
	return nil, nil
}

type feed interface {
	Open(ctx context.Context) (feed, error)
	Next() error
}

// It watches until the context ends: after no success it returns nil.
func nopeWatches(ctx context.Context, f feed, tell func(bool)) error {
	for {
		if ctx.Err() != nil {
			return nil
		}
		opened, err := f.Open(ctx)
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		for {
			err := opened.Next()
			if err == io.ErrUnexpectedEOF {
				return err
			}
			tell(err == nil)
			if err != nil {
				break
			}
		}
	}
}

type phases interface {
	Get(key string) (string, error)
}

// It says whether it came.
func nopeSaysWhether(p phases) (bool, error) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	passed := time.Duration(0)
	for range ticker.C {
		if passed > time.Minute {
			break
		}
		passed += time.Second
		phase, err := p.Get("k")
		if err != nil {
			return false, err
		}
		if phase == "ready" {
			return true, nil
		}
	}
	return false, nil
}

// ---- what a clock is compared with may be an answer ----

type leaf struct{ NotAfter time.Time }

func parse(text string) (*leaf, error) { return nil, errors.New(text) }

func nopeIsRenewedEarly(ctx context.Context, c client, tick <-chan time.Time, update func(*leaf) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick:
			text, err := c.Call(ctx, "k")
			if err != nil {
				continue
			}
			got, err := parse(text)
			if err != nil {
				continue
			}
			if time.Now().Add(time.Hour).After(got.NotAfter) {
				if err := update(got); err != nil {
					continue
				}
			}
			return nil
		}
	}
}

func sends(c client) bool {
	began := time.Now()
	if err := c.Ping(); err != nil {
		log.Print(err, time.Since(began))
		return false
	}
	return true
}

func tellsHowLong(c client) error {
	for i := 0; i < 10; i++ {
		if sends(c) {
			return nil
		}
	}
	return errors.New("nobody there")
}

// ---- what only computes with the answer ----

type output struct{ Status *string }

type updates interface {
	DescribeUpdate(id *string) (*output, error)
}

func stringOf(s *string) string { return *s }

func waitsForUpdate(ctx context.Context, u updates, id *string) error {
	ticker := time.NewTicker(30 * time.Second)
	defer ticker.Stop()
	for { // want `when the poll of DescribeUpdate is exhausted, the function returns nil at line \d+`
		select {
		case <-ticker.C:
			now, err := u.DescribeUpdate(id)
			if err != nil {
				return err
			}
			switch stringOf(now.Status) {
			case "failed":
				return errors.New("failed")
			case "done":
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}
