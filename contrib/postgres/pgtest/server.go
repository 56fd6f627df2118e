//go:build unix

package pgtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Server is a PostgreSQL server on this machine, with its own data.
type Server struct {
	bin        string // folder of the programs
	dir        string
	port       int
	settings   []string
	credential *syscall.Credential // nil: the user of the test

	mu      sync.Mutex
	process *os.Process // nil: stopped
	ended   chan struct{}
	output  buffer
}

// Start starts a server for one test, with settings such as "fsync=off", and waits until
// it responds. The server is removed when the test ends.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := New(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	return s
}

// URL returns the URL of an empty database of the server.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	return newDatabase(t, s.DatabaseURL("postgres"))
}

// DatabaseURL returns the URL of a database of the server. A new server has the
// database postgres.
func (s *Server) DatabaseURL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// Address returns the host and the port of the server.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// New is like [Start], but for a program that is not a test. The server runs until
// [Server.Remove].
func New(settings ...string) (s *Server, err error) {
	s = &Server{settings: settings}
	if s.bin, err = findPrograms(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "pgtest-"); err != nil {
		return nil, err
	}
	if err := s.create(); err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

func (s *Server) create() error {
	if err := s.chooseUser(); err != nil {
		return err
	}
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "--pgdata", s.data(), "--username", "postgres",
		"--auth", "trust", "--encoding", "UTF8", "--no-locale", "--no-sync", "--no-instructions")
	s.prepare(initdb)
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	// Another process may take the free port before the server does.
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
		if err := s.start(); err == nil || attempt == 5 {
			return err
		}
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// findPrograms returns the folder of the programs of the newest server.
func findPrograms() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	if len(found) == 0 {
		return "", fmt.Errorf("no initdb in PATH or /usr/lib/postgresql: install PostgreSQL, or set %s", Variable)
	}
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

// chooseUser chooses another user than root, as whom the server refuses to run, and
// gives it the folder.
func (s *Server) chooseUser() error {
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return err
	}
	s.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: true}
	return os.Chown(s.dir, int(uid), int(gid))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *Server) prepare(cmd *exec.Cmd) {
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential}
}

// start starts the server and waits until it answers.
func (s *Server) start() error {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port)}
	for _, setting := range slices.Concat([]string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300", "shared_buffers=64MB",
		"max_prepared_transactions=0", "autovacuum_naptime=5s",
	}, s.settings) {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), args...)
	s.prepare(cmd)
	diesWithParent(cmd.SysProcAttr)
	s.output.reset()
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// The server gets its signal when the thread that has started it ends.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	s.mu.Lock()
	s.process, s.ended = cmd.Process, ended
	s.mu.Unlock()
	if err := s.ready(ended); err != nil {
		s.signal(syscall.SIGQUIT)
		return err
	}
	return nil
}

// ready waits until the server answers.
func (s *Server) ready(ended chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.DatabaseURL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ended:
			return fmt.Errorf("the server has ended:\n%s", s.output.String())
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w\n%s", err, s.output.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// signal sends a signal to the server and waits until it has ended.
func (s *Server) signal(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	_ = s.process.Signal(signal)
	<-s.ended
	s.process = nil
}

// Stop stops the server in fast mode: open transactions are rolled back, and their
// connections are closed.
func (s *Server) Stop() { s.signal(syscall.SIGINT) }

// Kill stops the server at once, without a checkpoint. The server recovers when it is
// started again.
func (s *Server) Kill() { s.signal(syscall.SIGQUIT) }

// Restart starts the server again, after it was stopped or killed.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.StartAgain(); err != nil {
		t.Fatal(err)
	}
}

// StartAgain is [Server.Restart] for a program that is not a test.
func (s *Server) StartAgain() error {
	s.Stop()
	return s.start()
}

// Promote makes the server continue on a new timeline, like a standby that becomes the
// primary.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Stop()
	mark := filepath.Join(s.data(), "recovery.signal")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s.credential != nil {
		if err := os.Chown(mark, int(s.credential.Uid), int(s.credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	settings := s.settings
	defer func() { s.settings = settings }()
	s.settings = append(slices.Clone(settings), "restore_command=false")
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// Remove stops the server and removes its data.
func (s *Server) Remove() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}

// A buffer has the latest output of a server.
type buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.data.Len() > 1<<20 {
		b.data.Reset()
	}
	return b.data.Write(data)
}

func (b *buffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data.Reset()
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.TrimSpace(b.data.String())
}

// Log returns what the server has logged since it started.
func (s *Server) Log() string { return s.output.String() }
