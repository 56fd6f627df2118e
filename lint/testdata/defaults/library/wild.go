package library

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"time"
)

// The functions of this file restate findings in public repositories that were wrong.

type database interface {
	Exec(ctx context.Context, statement string) error
	Full() bool
	Push(ctx context.Context, item string) error
	Compact() error
}

var errFull = errors.New("the queue is full")

// A person types the next statement.
func nopeReadEvalPrint(ctx context.Context, db database) error {
	in := bufio.NewScanner(os.Stdin)
	for {
		fmt.Print("> ")
		if !in.Scan() {
			return in.Err()
		}
		if err := db.Exec(ctx, in.Text()); err != nil {
			fmt.Println(err)
		}
	}
}

// A person answers the same question again.
func nopeAsksAgain() int {
	for {
		var n int
		fmt.Print("how many? ")
		if _, err := fmt.Scanln(&n); err == nil {
			return n
		}
	}
}

// The producer waits until the consumers have caught up.
func nopeBackpressure(ctx context.Context, db database, items <-chan string) error {
	for item := range items {
		for db.Full() {
			time.Sleep(100 * time.Millisecond)
		}
		if err := db.Push(ctx, item); err != nil {
			return err
		}
	}
	return nil
}

// A wait of a random part of a short time is short.
func nopeRandomWait(ctx context.Context, db database) (err error) {
	for range 5 {
		if err = db.Exec(ctx, "select 1"); err == nil {
			return nil
		}
		time.Sleep(time.Duration(rand.Int63n(int64(200 * time.Millisecond))))
	}
	return err
}

func nopeRandomFactor(ctx context.Context, db database) (err error) {
	for range 5 {
		if err = db.Exec(ctx, "select 1"); err == nil {
			return nil
		}
		time.Sleep(time.Duration(rand.Float64() * float64(200*time.Millisecond)))
	}
	return err
}

// Each iteration sends another statement.
func nopePacing(ctx context.Context, db database, statements []string) error {
	for _, s := range statements {
		if err := db.Exec(ctx, s); err != nil && !errors.Is(err, errFull) {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

// After a success the loop waits as well: it limits how often an event is handled.
func nopeThrottle(ctx context.Context, db database, events <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-events:
			if err := db.Compact(); err != nil {
				fmt.Println(err)
			}
			time.Sleep(5 * time.Second)
		}
	}
}

// Its callers ask for one retry.
func nopeOneRetry(ctx context.Context, db database) error {
	return execUpTo(ctx, db, 2)
}

func execUpTo(ctx context.Context, db database, attempts int) (err error) {
	for range attempts {
		if err = db.Exec(ctx, "select 1"); err == nil {
			return nil
		}
	}
	return err
}

// The server holds back its answer until there is one.
func nopeLongPoll(ctx context.Context, url string) ([]byte, error) {
	for range 10 {
		body, err := await(ctx, url)
		if err != nil {
			return nil, err
		}
		if len(body) > 0 {
			return body, nil
		}
	}
	return nil, errors.New("no answer")
}

func await(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, nil
	}
	return io.ReadAll(resp.Body)
}

type build struct {
	ctx  context.Context
	done bool
}

// Each build has a context of its own, and the last one has ended.
func nopeNextBuild(b *build, start func() (*build, error)) {
	for !b.done {
		<-b.ctx.Done()
		time.Sleep(30 * time.Second)
		if next, err := start(); err == nil {
			b = next
		}
	}
}
