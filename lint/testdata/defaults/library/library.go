// Package library has what is reported by default, and nope functions that only
// -confidence named or -enable reports.
package library

import (
	"context"
	"errors"
	"net"
	"time"
)

type client interface {
	Ping() error
}

func endless(c client) {
	for c.Ping() != nil { // want `retry of Ping never stops: .* \(RL101\)$`
		time.Sleep(time.Second)
	}
}

func deaf(ctx context.Context, c client) error {
	for range 5 {
		if ctx.Err() != nil || c.Ping() == nil {
			return ctx.Err()
		}
		time.Sleep(time.Second) // want `RL102; library\)$`
	}
	return errors.New("no answer")
}

// A shorter wait delays a shutdown by little.
func nopeShortWait(ctx context.Context, c client) error {
	for range 5 {
		if ctx.Err() != nil || c.Ping() == nil {
			return ctx.Err()
		}
		time.Sleep(200 * time.Millisecond)
	}
	return errors.New("no answer")
}

// A controller returns nil when its context ends, by contract.
func nopeControllerContract(ctx context.Context, c client) error {
	for {
		if err := c.Ping(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// The table knows Dial, so its callers leave the process as well.
func atOnce(addr string) (conn net.Conn, err error) {
	for range 10 { // want `dialPeer is retried without a wait: .* \(RL103; library\)$`
		if conn, err = dialPeer(addr); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// Whether an interface leaves the process is not known.
func nopeInterface(ctx context.Context, db database) (err error) {
	for range 10 {
		if err = db.Exec(ctx, "select 1"); err == nil {
			return nil
		}
	}
	return err
}

func dialPeer(addr string) (net.Conn, error) { return net.Dial("tcp", addr) }

// A limit that is reset is part of RL101, if nothing else ends the retry.
func nopeResetLimit(c client) error {
	for range 100 {
		attempt := 0
		if attempt++; attempt > 5 {
			break
		}
		if c.Ping() == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errors.New("no answer")
}

// The comment is not without effect: it suppresses a finding that was not asked for.
func nopeIgnored(addr string) (conn net.Conn, err error) {
	//retrylint:ignore RL103 the peer is in this process
	for range 10 {
		if conn, err = dialPeer(addr); err == nil {
			break
		}
	}
	return conn, err
}
