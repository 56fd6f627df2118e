package hiddenexhaustion

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"
)

type state struct{ Name, Value string }

type cluster interface {
	Get(name string) (*state, error)
	List() ([]state, error)
	Process() (left int, err error)
	Report(*state)
}

func countedPoll(c cluster, most int) error {
	for i := 0; i < most; i++ { // want `when the poll of Get has run out of time or attempts, the function returns nil at line \d+, as after the answer that it waits for: return an error \(RL109\)`
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
	for i := 0; i < most; i++ { // want `when the poll of List has run out .* \(RL109\)`
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
	for time.Now().Before(deadline) { // want `when the poll of Get has run out .* \(RL109\)`
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
	for ctx.Err() == nil { // want `when the poll of Get has run out .* \(RL109\)`
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

// So many at a time, whether more are left or not.
func nopeBatches(c cluster) error {
	for range 5 {
		left, err := c.Process()
		if err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
		time.Sleep(time.Second)
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

func replaced(ctx context.Context, db *sql.DB, work func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for range 5 { // want `when the attempts of the call are spent, the function returns the error of ExecContext at line \d+, which may be nil: return that of the last attempt \(RL109\)`
		err = work(tx)
		if err == nil {
			return tx.Commit()
		}
		if !errors.Is(err, errRestart) {
			return err
		}
		if _, err = tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT restart"); err != nil {
			return err
		}
	}
	return err
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
	for s.Value != "gone" {
		select {
		case <-ctx.Done():
			return err // want `the error is nil here, so that giving up reads as success: return that of the context \(RL109\)`
		case <-ticks.C:
			if s, err = c.Get(ctx, "web"); err != nil {
				return err
			}
		}
	}
	return nil
}
