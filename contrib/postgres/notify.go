package postgres

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	retry "github.com/retrygen/retrygen/runtime"
)

// maxPayload is the limit of PostgreSQL for the text of a notification, in bytes. A
// longer namespace is not notified: its workers ask from time to time.
const maxPayload = 8000

// A hub passes the notifications of one connection on to those who wait for them.
type hub struct {
	config   *pgx.ConnConfig
	starting chan struct{} // has a value while somebody makes the connection

	mu        sync.Mutex
	listeners map[*listener]bool
	listening bool // a goroutine has the connection, or makes it again
}

// A listener waits for the notifications of a namespace.
type listener struct {
	space string
	wake  chan struct{}
}

// configure sets the URL of the connection. Its waits end by a deadline, without a
// request to the server.
func (h *hub) configure(s *Store, url string) error {
	config, err := s.configure(url)
	if err != nil {
		return err
	}
	h.config = config.ConnConfig
	h.config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
	}
	h.listeners, h.starting = map[*listener]bool{}, make(chan struct{}, 1)
	return nil
}

// tell wakes the listeners of a namespace, or all of them.
func (h *hub) tell(all bool, space string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if all || l.space == space {
			select {
			case l.wake <- struct{}{}:
			default: // it has not yet looked
			}
		}
	}
}

// Notifications implements [storage.Notifier] with LISTEN, on a connection that all calls
// share: see [Listen]. The first call opens the connection. If the connection is lost, it
// is opened again. If that is not possible, all channels are closed.
func (s *Store) Notifications(ctx context.Context, space string) (<-chan struct{}, error) {
	l := &listener{space: space, wake: make(chan struct{}, 1)}
	if err := s.listen(ctx, l); err != nil {
		return nil, s.fail(ctx, err)
	}
	leave := func() { s.hub.remove(l) }
	context.AfterFunc(ctx, leave)
	context.AfterFunc(s.ctx, leave)
	return l.wake, nil
}

// remove closes the channel of a listener, unless it was closed.
func (h *hub) remove(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners[l] {
		delete(h.listeners, l)
		close(l.wake)
	}
}

// end closes the channels of all listeners: the connection cannot be made again.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listening = false
	for l := range h.listeners {
		close(l.wake)
	}
	clear(h.listeners)
}

// listen adds a listener. It makes the connection, unless it was made.
func (s *Store) listen(ctx context.Context, l *listener) error {
	h := &s.hub
	select {
	case h.starting <- struct{}{}:
		defer func() { <-h.starting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	h.mu.Lock()
	listening := h.listening
	if listening { // the channel is closed when it ends
		h.listeners[l] = true
	}
	h.mu.Unlock()
	if listening {
		return nil
	}
	conn, err := s.subscribe(ctx)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.ctx.Err() != nil {
		_ = conn.Close(ctx)
		return os.ErrClosed
	}
	h.listening, h.listeners[l] = true, true
	s.running.Go(func() { s.receive(conn) })
	return nil
}

// subscribe makes the connection.
func (s *Store) subscribe(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, s.hub.config)
	if err != nil {
		return nil, connecting(err)
	}
	if err = s.identify(ctx, conn); err == nil {
		_, err = conn.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel}.Sanitize(), pgx.QueryExecModeSimpleProtocol)
	}
	if err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// again makes the connection again. Until then, workers ask the store themselves.
var again = retry.Policy{
	Name: "postgres notifications",
	Schedule: retry.Schedule{
		MaxAttempts: 10_000, InitialDelay: 100 * time.Millisecond, MaxDelay: 10 * time.Second,
		Jitter: retry.JitterProportional,
	},
	MaxElapsed: 24 * time.Hour,
	MatchText:  retry.MatchNone,
	Classes: []retry.ErrorClass{{ // any: a wrong password may be right after its rotation
		Class: "failure", As: []func(error) bool{func(error) bool { return true }}, Action: retry.ActionRetry,
	}},
}

// checkEvery is how long the connection may be silent. Then it is checked: a server
// that is gone without a word would never be missed.
const checkEvery = time.Minute

// receive passes notifications on until the store is closed, or the connection
// cannot be made again.
func (s *Store) receive(conn *pgx.Conn) {
	for {
		_ = s.pass(conn)
		ctx, cancel := context.WithTimeout(context.Background(), undoTimeout)
		_ = conn.Close(ctx)
		cancel()
		if s.ctx.Err() != nil {
			return
		}
		var err error
		conn, err = retry.Do(s.ctx, &again, s.subscribe)
		if err != nil { // those who listen call Notifications again
			s.hub.end()
			return
		}
		s.hub.tell(true, "")
	}
}

// pass passes notifications on until the connection is lost or the store is closed.
func (s *Store) pass(conn *pgx.Conn) error {
	for {
		ctx, cancel := context.WithTimeout(s.ctx, checkEvery)
		n, err := conn.WaitForNotification(ctx)
		silent := ctx.Err() != nil && s.ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			s.hub.tell(false, n.Payload)
			continue
		case !silent || conn.IsClosed():
			return err
		}
		ctx, cancel = context.WithTimeout(s.ctx, undoTimeout)
		err = conn.Ping(ctx)
		cancel()
		if err != nil {
			return fmt.Errorf("the server is silent: %w", err)
		}
	}
}
