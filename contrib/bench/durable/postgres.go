package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
)

// A server is a PostgreSQL server with a database that is created again for each
// trial.
type server struct {
	url        string // of another database
	postmaster int    // its process, or 0 if that is not known
	remove     func() // nil if it was not started here
}

// pgDatabase is the name of the database that is dropped and created.
const pgDatabase = "retrygen_bench"

// maxCallers is the greatest number of units that are started or executed at the
// same time.
const maxCallers = 64

// start starts the server, with settings such as "fsync=on".
func (s *server) start(ctx context.Context, settings ...string) error {
	started, err := pgtest.New(settings...)
	if err != nil {
		return err
	}
	s.url, s.remove = started.DatabaseURL("postgres"), started.Remove
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if p, ok := readProcess(int(conn.PgConn().PID())); ok {
		s.postmaster = p.parent
	}
	return nil
}

// close removes the server, if it was started.
func (s *server) close() {
	if s.remove != nil {
		s.remove()
	}
}

// newDatabase returns the URL of an empty database.
func (s *server) newDatabase(ctx context.Context) (string, error) {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	for _, statement := range []string{"DROP DATABASE IF EXISTS %s WITH (FORCE)", "CREATE DATABASE %s"} {
		if _, err := conn.Exec(ctx, fmt.Sprintf(statement, pgDatabase)); err != nil {
			return "", err
		}
	}
	uri, err := url.Parse(s.url)
	if err != nil {
		return "", err
	}
	uri.Path = pgDatabase
	return uri.String(), nil
}

// units returns a contender that executes units of work in an empty database.
func (s *server) units(
	name string, open func(ctx context.Context, url string, w *work, callers int) (system, error), fails, callers int,
) contender {
	c := units(name, func(ctx context.Context, _ string, w *work, callers int) (system, error) {
		url, err := s.newDatabase(ctx)
		if err != nil {
			return nil, err
		}
		return open(ctx, url, w, callers)
	}, fails, callers)
	prepare := c.prepare
	c.prepare = func(ctx context.Context, dir string, n int) (*trial, error) {
		t, err := prepare(ctx, dir, n)
		if err != nil {
			return nil, err
		}
		cpu := s.cpu()
		t.note = func(f *figure) { f.server = (s.cpu() - cpu) / time.Duration(n) }
		return t, nil
	}
	return c
}

// pooled returns an opener of a system that is given connections.
func pooled(
	open func(ctx context.Context, pool *pgxpool.Pool, w *work, callers int) (system, error),
) func(ctx context.Context, url string, w *work, callers int) (system, error) {
	return func(ctx context.Context, url string, w *work, callers int) (system, error) {
		pool, err := newPool(ctx, url, callers)
		if err != nil {
			return nil, err
		}
		s, err := open(ctx, pool, w, callers)
		if err != nil {
			pool.Close()
			return nil, err
		}
		return pooledSystem{s, pool}, nil
	}
}

// newPool returns connections for callers and what a system does besides.
func newPool(ctx context.Context, url string, callers int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(callers + 10)
	return pgxpool.NewWithConfig(ctx, config)
}

// A pooledSystem is a system with its connections.
type pooledSystem struct {
	system
	pool *pgxpool.Pool
}

func (p pooledSystem) close() error {
	defer p.pool.Close()
	return p.system.close()
}

// written returns how many bytes the server has logged, or 0 if it does not say.
func (s *server) written(ctx context.Context) (n float64) {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return 0
	}
	defer conn.Close(ctx)
	_ = conn.QueryRow(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8").Scan(&n)
	return n
}

// cpu returns the processor time of the server, or 0 if it is not known.
func (s *server) cpu() (sum time.Duration) {
	if s.postmaster == 0 {
		return 0
	}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		switch p, ok := readProcess(pid); {
		case ok && pid == s.postmaster:
			sum += p.cpu + p.children
		case ok && p.parent == s.postmaster:
			sum += p.cpu
		}
	}
	return sum
}

// A process is what the system knows about one.
type process struct {
	parent        int
	cpu, children time.Duration // processor time; that of children which have ended
}

// readProcess reads /proc of Linux.
func readProcess(pid int) (p process, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, false
	}
	// The name of the program, in parentheses, may have spaces.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 15 {
		return p, false
	}
	const tick = 10 * time.Millisecond // of Linux
	ticks := func(i int) time.Duration {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		ok = ok && err == nil
		return time.Duration(n) * tick
	}
	p.parent, err = strconv.Atoi(fields[1])
	ok = err == nil
	p.cpu, p.children = ticks(11)+ticks(12), ticks(13)+ticks(14)
	return p, ok
}
