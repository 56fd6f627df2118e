// Package redisretry shares circuit breakers, ratio budgets and rates between processes
// through Redis, for calls that are not durable steps:
//
//	store, err := redisretry.New(client, "retry")
//	…
//	link := shared.Link{Store: store, Forgetful: true, OnEvent: events.Log(logger)}
//	conn, err := link.Connect(ctx, payments.DefaultShared.Stored())
//
// Redis may lose updates that it has acknowledged, so it cannot keep runs and steps. A
// [Store] is therefore not a [storage.Store], and engines do not accept it.
//
// The guarantees of budgets and breakers hold as long as their records exist. Records can
// be lost through FLUSHALL, an eviction, a restart without persistence, or a failover to
// a replica. After that, budgets are full and breakers are closed, and the link reports
// the lost leases in its events ([shared.ErrLeaseLost]). To accept this, set Forgetful in
// [shared.Link].
package redisretry

import (
	"context"
	crypto "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Store keeps the records of breakers and ratio budgets in Redis. It implements
// [shared.Store]. Any number of goroutines may use it.
//
// Each record is a hash with a single key, so a Store works with a single server, with
// Sentinel and with a cluster. An update reads the record and the server's time, decides,
// and writes the record. If another process has written the record in the meantime, the
// update starts again. Reading takes one script and one round trip, and so does writing.
type Store struct {
	client redis.UniversalClient
	prefix string
}

// New returns a store that uses a client. The store neither changes nor closes the
// client. The keys in Redis are PREFIX:KIND:NAMESPACE:NAME. Programs that share breakers
// and budgets need the same prefix. New does not connect to the server.
//
// If ContextTimeoutEnabled is not set in the client's options, New returns an error,
// because a server that hangs would block calls for longer than their contexts allow.
func New(client redis.UniversalClient, prefix string) (*Store, error) {
	enabled := true
	switch c := client.(type) {
	case *redis.Client:
		enabled = c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		enabled = c.Options().ContextTimeoutEnabled
	case *redis.Ring:
		enabled = c.Options().ContextTimeoutEnabled
	}
	if !enabled {
		return nil, errors.New("redisretry: set ContextTimeoutEnabled in the options of the client")
	}
	return &Store{client: client, prefix: prefix}, nil
}

// Guarantee implements [shared.Store]. Processes on any machine may share the store, but
// acknowledged updates may be lost at any time.
func (s *Store) Guarantee() storage.Guarantee {
	return storage.Guarantee{Shared: storage.SharedByCluster}
}

// read returns the version and the body of a record, or false, and the time of the
// server in seconds and microseconds.
var read = redis.NewScript(`
local record = redis.call('HMGET', KEYS[1], 'version', 'body')
local time = redis.call('TIME')
return {record[1], record[2], time[1], time[2]}
`)

// write replaces a record if its version is ARGV[1], or ” if there is none. A
// repetition whose reply was lost finds the token that it has written, and has
// succeeded.
var write = redis.NewScript(`
local record = redis.call('HMGET', KEYS[1], 'version', 'token')
if record[2] == ARGV[4] then
	return 1
end
if (record[1] or '') ~= ARGV[1] then
	return 0
end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'body', ARGV[3], 'token', ARGV[4])
return 1
`)

// Update implements [shared.Store]. It updates one record of a breaker or a ratio budget.
// If the last script was sent but there was no reply, the error matches
// [storage.ErrUnknown].
func (s *Store) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	keys := slices.Compact(slices.Clone(sel.Keys))
	if len(sel.Queries) > 0 || len(keys) != 1 {
		return fmt.Errorf("%w: Redis updates one breaker, budget or rate at a time, not %d records", storage.ErrStore,
			len(keys))
	}
	key, err := s.key(keys[0])
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		r, now, err := s.read(ctx, key, keys[0])
		if err != nil {
			return err
		}
		tx := storage.Tx{Now: now, Records: slices.Repeat([]storage.Record{r}, len(sel.Keys))}
		w, err := tx.Decide(decide)
		if err != nil {
			return err
		}
		if written, err := s.write(ctx, key, r, now, w); written || err != nil {
			return err
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

// pause lets others go first, the longer the more often they have.
func pause(ctx context.Context, n int) error {
	if n < 3 {
		return nil
	}
	select {
	case <-time.After(rand.N(time.Duration(min(n, 20)) * time.Millisecond)):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: other processes were faster %d times: %w", storage.ErrStore, n, context.Cause(ctx))
	}
}

// key returns the key of a record in Redis.
func (s *Store) key(k storage.Key) (string, error) {
	kinds := []storage.Kind{storage.KindBudget, storage.KindBreaker, storage.KindRate, storage.KindOverrides}
	if !slices.Contains(kinds, k.Kind) || k.Run != "" {
		return "", fmt.Errorf("%w: Redis keeps breakers, ratio budgets and rates, not the record %q: use a storage.Store",
			storage.ErrStore, k)
	}
	return s.prefix + ":" + k.Kind.String() + ":" + url.QueryEscape(k.Space) + ":" + url.QueryEscape(k.ID), nil
}

// Get implements [shared.Store].
func (s *Store) Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error) {
	commands := make([]*redis.SliceCmd, len(keys))
	pipe := s.client.Pipeline()
	for i, k := range keys {
		key, err := s.key(k)
		if err != nil {
			return nil, err
		}
		commands[i] = pipe.HMGet(ctx, key, "version", "body")
	}
	if len(keys) > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, failed(err)
		}
	}
	records := make([]storage.Record, len(keys))
	for i, c := range commands {
		var err error
		if records[i], err = record(keys[i], c.Val()); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// read returns a record and the time of the server.
func (s *Store) read(ctx context.Context, key string, k storage.Key) (storage.Record, time.Time, error) {
	values, err := read.Run(ctx, s.client, []string{key}).Slice()
	if err != nil {
		return storage.Record{}, time.Time{}, failed(err)
	}
	if len(values) != 4 {
		return storage.Record{}, time.Time{}, unknown(k)
	}
	r, err := record(k, values[:2])
	var now [2]int64
	for i, v := range values[2:] {
		text, _ := v.(string)
		n, invalid := strconv.ParseInt(text, 10, 64)
		now[i], err = n, errors.Join(err, invalid)
	}
	return r, time.Unix(now[0], now[1]*int64(time.Microsecond)).UTC(), err
}

// record returns the record with a version and a body, which may be nil.
func record(k storage.Key, values []any) (storage.Record, error) {
	r := storage.Record{Key: k}
	if len(values) != 2 {
		return r, unknown(k)
	}
	if values[0] == nil && values[1] == nil {
		return r, nil
	}
	version, _ := values[0].(string)
	body, ok := values[1].(string)
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil || !ok || n == 0 {
		return r, unknown(k)
	}
	r.Version, r.Body = n, []byte(body)
	return r, nil
}

// unknown returns the error for a record that this package has not written.
func unknown(k storage.Key) error {
	return fmt.Errorf("%w: the key of %s was written by another program", storage.ErrFormat, k)
}

// write writes what was decided about a record, and reports false if another
// process has written it meanwhile.
func (s *Store) write(
	ctx context.Context, key string, r storage.Record, now time.Time, w storage.Writes,
) (bool, error) {
	switch {
	case len(w.Add) > 0 || len(w.Delete) > 0:
		return false, fmt.Errorf("%w: Redis keeps no history and deletes nothing: use a storage.Store", storage.ErrStore)
	case len(w.Put) == 0:
		return true, nil
	}
	// A record that is created again after a loss has a greater version than before:
	// nobody takes it for the old one.
	before, version := "", uint64(now.UnixMicro())
	if r.Version != 0 {
		before, version = strconv.FormatUint(r.Version, 10), r.Version+1
	}
	args := []any{before, strconv.FormatUint(version, 10), w.Put[0].Body, crypto.Text()}
	written, err := retry.Do(ctx, &unanswered, func(ctx context.Context) (bool, error) {
		written, err := write.Run(ctx, s.client, []string{key}, args...).Bool()
		if answered(err) {
			return false, retry.Permanent(err)
		}
		return written, err
	})
	if err != nil && !answered(err) {
		return false, fmt.Errorf("%w: %w", storage.ErrUnknown, err)
	}
	return written, failed(err)
}

// unanswered is how a script is repeated whose reply is lost.
var unanswered = retry.Policy{
	Name: "redis",
	Schedule: retry.Schedule{
		MaxAttempts: 4, InitialDelay: 10 * time.Millisecond, MaxDelay: 100 * time.Millisecond, Jitter: retry.JitterFull,
	},
	MatchText:    retry.MatchNone,
	RetryUnknown: true, // a connection that was closed is an end of file
}

// answered reports whether an error is an answer of the server, which has changed
// nothing then.
func answered(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// failed returns an error of the client as one of the store.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: Redis: %w", storage.ErrStore, err)
}
