package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// sqliteTables are the tables that need nothing but a disk.
func sqliteTables() []table {
	systems := func(fails, callers int) []contender {
		return []contender{
			units("retrygen", openEngine, fails, callers),
			units("DBOS, `synchronous=NORMAL`", openDBOS, fails, callers),
			units("DBOS, `synchronous=FULL`", openDBOSFull, fails, callers),
			units("River", openRiver, fails, callers),
		}
	}
	return []table{
		recordTable,
		{name: "step", title: "A step that succeeds, SQLite", n: 1000, contenders: systems(0, 1)},
		{name: "retried", title: "A step that fails twice, SQLite", n: 300, contenders: systems(2, 1)},
		{name: "callers", title: "A step that succeeds, 64 at a time, SQLite", n: 4000, contenders: append(
			[]contender{units("retrygen, one at a time", openEngine, 0, 1)}, systems(0, 64)...,
		)},
		processesTable, resumeTable, finishedTable, failuresTable,
	}
}

// postgresTables are the tables that need a server. There is no PostgreSQL
// store of retrygen yet.
func postgresTables(server string) []table {
	systems := func(fails, callers int) []contender {
		return []contender{
			units("DBOS", onPostgres(server, openDBOSPG), fails, callers),
			units("River", onPostgres(server, openRiverPG), fails, callers),
		}
	}
	return []table{
		{name: "step", title: "A step that succeeds, PostgreSQL", n: 1000, contenders: systems(0, 1)},
		{name: "retried", title: "A step that fails twice, PostgreSQL", n: 300, contenders: systems(2, 1)},
		{name: "callers", title: "A step that succeeds, 64 at a time, PostgreSQL", n: 4000, contenders: systems(0, 64)},
	}
}

// pgDatabase is the name of the database that is dropped and created.
const pgDatabase = "retrygen_bench"

// onPostgres returns an opener of a system in a new database.
func onPostgres(
	server string, open func(context.Context, *pgxpool.Pool, *work, int) (system, error),
) opener {
	return func(ctx context.Context, _ string, w *work, callers int) (system, error) {
		if err := createDatabase(ctx, server); err != nil {
			return nil, err
		}
		uri, err := url.Parse(server)
		if err != nil {
			return nil, err
		}
		uri.Path = pgDatabase
		config, err := pgxpool.ParseConfig(uri.String())
		if err != nil {
			return nil, err
		}
		config.MaxConns = int32(callers + 10)
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			return nil, err
		}
		s, err := open(ctx, pool, w, callers)
		if err != nil {
			pool.Close()
			return nil, err
		}
		return pooled{s, pool}, nil
	}
}

func createDatabase(ctx context.Context, server string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range []string{"DROP DATABASE IF EXISTS %s WITH (FORCE)", "CREATE DATABASE %s"} {
		if _, err := conn.Exec(ctx, fmt.Sprintf(statement, pgDatabase)); err != nil {
			return err
		}
	}
	return nil
}

// pooled is a system with its connections.
type pooled struct {
	system
	pool *pgxpool.Pool
}

func (p pooled) close() error {
	defer p.pool.Close()
	return p.system.close()
}

func openDBOSPG(ctx context.Context, pool *pgxpool.Pool, w *work, _ int) (system, error) {
	return newDBOS(ctx, dbos.Config{SystemDBPool: pool}, w)
}
