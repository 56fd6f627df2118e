//go:build unix

package redisretry_test

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	redisretry "github.com/retrygen/retrygen/contrib/redis"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A server is a redis-server of the test, without persistence.
type server struct {
	t    *testing.T
	port int
	cmd  *exec.Cmd
}

// startServer starts a server that ends with the test. The program is found in
// PATH; on Debian, it is in the package redis-server.
func startServer(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, port: l.Addr().(*net.TCPAddr).Port}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(s.kill)
	return s
}

// start starts the server and waits until it answers.
func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command("redis-server", "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--save", "",
		"--appendonly", "no", "--dir", s.t.TempDir())
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("%v: install the Debian package redis-server", err)
	}
	c := s.client()
	s.eventually("the server answers", func() bool { return c.Ping(context.Background()).Err() == nil })
}

// kill kills the server with SIGKILL.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// client returns a new client, as another process would have.
func (s *server) client() *redis.Client {
	c := redis.NewClient(&redis.Options{
		Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), ContextTimeoutEnabled: true,
	})
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// store returns a store over a client of its own.
func (s *server) store(prefix string) *redisretry.Store { return s.storeOf(s.client(), prefix) }

func (s *server) storeOf(c redis.UniversalClient, prefix string) *redisretry.Store {
	s.t.Helper()
	store, err := redisretry.New(c, prefix)
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

// do executes a command of an operator.
func (s *server) do(args ...any) {
	s.t.Helper()
	if err := s.client().Do(s.t.Context(), args...).Err(); err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
}

// eventually waits until a condition holds.
func (s *server) eventually(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(end) {
			s.t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func budgetKey(name string) storage.Key { return storage.Key{Kind: storage.KindBudget, ID: name} }
