// Package api stands for a client library.
package api

import "context"

// A Conn is a connection to a host.
type Conn struct{ Host string }

func (c *Conn) Exec(ctx context.Context, query string) (string, error) {
	return c.Host + " " + query, nil
}
