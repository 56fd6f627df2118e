package deferinretry

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

var errLate = errors.New("late")

// What fails goes past it, and what is not ready does not.
func health(url string) ([]byte, error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		resp, err := http.Get(url)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		defer resp.Body.Close() // want `this defer runs when the function returns, once for each attempt of Get: call it before the next attempt \(RL306`
		if resp.StatusCode == http.StatusOK {
			return io.ReadAll(resp.Body)
		}
		time.Sleep(time.Second)
	}
	return nil, errLate
}

func update(ctx context.Context, db *sql.DB) (err error) {
	for range 5 {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // want `RL306; named`
		if _, err = tx.ExecContext(ctx, "UPDATE items SET n = n + 1"); err == nil {
			return tx.Commit()
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return errLate
}

func migrated(ctx context.Context, db *sql.DB) error {
	for {
		rows, err := db.QueryContext(ctx, "SELECT version FROM versions")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // want `RL306`
		if rows.Next() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func written(path string) (string, error) {
	for range 50 {
		f, err := os.Open(path)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		defer f.Close() // want `RL306; named`
		if b, err := io.ReadAll(f); err == nil && len(b) > 0 {
			return string(b), nil
		}
		time.Sleep(time.Second)
	}
	return "", errLate
}

func nopeClosed(url string) error {
	for range 5 {
		resp, err := http.Get(url)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errLate
}

// Each is another file.
func nopeOthers(paths []string) error {
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		defer f.Close()
		if _, err := io.ReadAll(f); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errLate
}

// It gets several, and has them work beside each other.
func nopeWorkers(ctx context.Context, c client, work func(file)) error {
	for range 5 {
		f, err := c.Open("name")
		if err != nil {
			return err
		}
		defer f.Close()
		go work(f)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return nil
}

type files struct{ all []file }

func (f *files) Add(one file) { f.all = append(f.all, one) }

// It waits until it has enough.
func nopeEnough(c client, to *files) error {
	for {
		f, err := c.Open("name")
		if err != nil {
			return err
		}
		defer f.Close()
		to.Add(f)
		if len(to.all) == 5 {
			return f.Read()
		}
		time.Sleep(time.Second)
	}
}

func nopeFull(c client, to map[int]file) error {
	for len(to) < 5 {
		f, err := c.Open("name")
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		defer f.Close()
		to[len(to)] = f
	}
	return nil
}

// What has been opened stays.
func nopeConnects(c client) (err error) {
	var f file
	for range 50 {
		if f == nil {
			if f, err = c.Open("name"); err != nil {
				time.Sleep(time.Second)
				continue
			}
			defer f.Close()
		}
		if err = f.Read(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

// A function of each round ends with it.
func nopeFunction(ctx context.Context, c client) error {
	for {
		err := func() error {
			attempt, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return c.Call(attempt)
		}()
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

// It is started once.
func nopeStarted(c client, started <-chan struct{}, ticks <-chan time.Time, done <-chan struct{}) error {
	for {
		select {
		case <-started:
			f, err := c.Open("name")
			if err != nil {
				return err
			}
			defer f.Close()
		case <-ticks:
			if err := c.Call(context.Background()); err != nil {
				return err
			}
		case <-done:
			return nil
		}
	}
}

// Open may return another each time.
func moment(c client) error {
	for range 10 {
		f, err := c.Open("port")
		if err != nil {
			return err
		}
		defer f.Close() // want `RL306; named`
		if f.Read() == nil {
			return nil
		}
		time.Sleep(1)
	}
	return errors.New("none is free")
}
