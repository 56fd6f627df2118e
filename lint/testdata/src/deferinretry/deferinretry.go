package deferinretry

import (
	"context"
	"errors"
	"log"
	"net/http"
	"time"
)

type client interface {
	Call(ctx context.Context) error
	Open(name string) (file, error)
}

type file interface {
	Read() error
	Close() error
}

func piles(ctx context.Context, c client) (err error) {
	for range 5 {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel() // want `this defer runs when the function returns, once for each attempt of Call: call it before the next attempt \(RL306`
		if err = c.Call(attempt); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return err
}

func nopeCalled(ctx context.Context, c client) (err error) {
	for range 5 {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		err = c.Call(attempt)
		cancel()
		if err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

func nopeOnSuccess(c client) error {
	for range 5 {
		f, err := c.Open("name")
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		defer f.Close()
		return f.Read()
	}
	return nil
}

func nopeOnSuccessBefore(c client) (err error) {
	for range 5 {
		f, err := c.Open("name")
		if f != nil && err == nil {
			defer f.Close()
		}
		if err == nil {
			return f.Read()
		}
		time.Sleep(time.Second)
	}
	return err
}

func nopeOnce(c client, watched bool) (err error) {
	for range 5 {
		if watched {
			watched = false
			t := time.NewTimer(time.Second)
			defer t.Stop()
		}
		if _, err = c.Open("name"); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func nopeItems(c client, names []string) error {
	for _, name := range names {
		f, err := c.Open(name)
		if err != nil {
			continue
		}
		defer f.Close()
		if f.Read() == nil {
			return nil
		}
	}
	return nil
}

func answers(url string) error {
	for range 5 {
		resp, err := http.Get(url)
		if err != nil {
			return err
		}
		defer resp.Body.Close() // want `once for each attempt of Get`
		if resp.StatusCode >= 500 {
			time.Sleep(time.Second)
			continue
		}
		return nil
	}
	return errors.New("no answer")
}

// The engine is made for each name, whatever becomes of it.
func nopeForEach(c client, names []string) {
	for _, name := range names {
		e, err := c.Open("engine")
		if err != nil {
			log.Print(err)
		}
		defer e.Close()
		log.Print(name)
	}
}
