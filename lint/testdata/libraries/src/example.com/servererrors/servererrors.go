package servererrors

import (
	"context"

	"golang.org/x/crypto/ssh"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type client interface {
	Token(ctx context.Context, again bool) (string, error)
}

// It is not known whether a token is asked for over a network.
func nopeUnavailable(ctx context.Context, c client) (string, error) {
	again := false
	for {
		token, err := c.Token(ctx, again)
		if err != nil {
			if status.Code(err) == codes.Unavailable {
				again = true
				continue
			}
			return "", err
		}
		return token, nil
	}
}

// Others were faster.
func nopeAborted(ctx context.Context, c client) (string, error) {
	for {
		token, err := c.Token(ctx, false)
		if status.Code(err) == codes.Aborted {
			continue
		}
		return token, err
	}
}

// A client that is given no context asks its server.
func dials(addr string) (c *ssh.Client, err error) {
	for range 5 { // want `Dial is retried without a wait`
		if c, err = ssh.Dial("tcp", addr); err == nil {
			break
		}
	}
	return c, err
}

// Its package reads texts as well.
func nopeParses(pem []byte) (key any, err error) {
	for range 5 {
		if key, err = ssh.ParsePrivateKey(pem); err == nil {
			break
		}
	}
	return key, err
}
