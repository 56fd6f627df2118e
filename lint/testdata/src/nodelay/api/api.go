// Package api asks a server.
package api

import (
	"context"
	"io"
	"net"
	"net/http"
)

type Client struct{ url string }

func (c *Client) Status() (string, error) {
	return c.get("status")
}

func (c *Client) get(path string) (string, error) {
	resp, err := http.Get(c.url + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func (c *Client) Known() (string, error) { return c.url, nil }

// ShouldRetry reports whether an error is worth another try.
func ShouldRetry(err error) bool { return err != io.EOF }

// A Conn is a connection to a server.
type Conn struct{ net.Conn }

// Dial connects to a server.
func Dial(addr string) (*Conn, error) {
	c, err := net.Dial("tcp", addr)
	return &Conn{c}, err
}

// A Watcher takes what a server tells.
type Watcher struct{ conn *Conn }

// NewWatcher returns a watcher of what comes on a connection.
func NewWatcher(conn *Conn) *Watcher { return &Watcher{conn} }

// Watch asks for all that comes.
func (w *Watcher) Watch(ctx context.Context) (*Events, error) {
	_, err := w.conn.Write([]byte("watch\n"))
	return &Events{w.conn}, err
}

// Events are what a server tells.
type Events struct{ conn *Conn }

// Recv takes the next.
func (e *Events) Recv() (byte, error) {
	b := make([]byte, 1)
	_, err := e.conn.Read(b)
	return b[0], err
}
