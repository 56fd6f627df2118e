// Package open opens the store that the user of a program names.
package open

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Variable is the environment variable with the store of commands without -store.
const Variable = "RETRYCTL_STORE"

// Store opens the store that name describes:
//
//	sqlite:/var/lib/payments/retry.db
//	postgres://user@host:5432/database
//
// A PostgreSQL URL may name the schema of the store, as in ?schema=retry, which is
// the default; its other parameters are those of the driver. The store must exist:
// none is created or migrated. Errors say what to do, and never contain a password.
// The caller closes the store.
func Store(ctx context.Context, name string) (storage.Store, error) {
	switch scheme, rest, _ := strings.Cut(name, ":"); {
	case name == "":
		return nil, fmt.Errorf("no store is named: set -store or the variable %s to sqlite:FILE or postgres://…", Variable)
	case scheme == "sqlite" && rest == "":
		return nil, errors.New("-store sqlite: has no file: write sqlite:FILE")
	case scheme == "sqlite":
		store, err := sqlite.Open(rest, sqlite.Existing())
		if err != nil {
			return nil, describe(err)
		}
		return store, nil
	case !strings.Contains(name, ":"): // nor a password
		return nil, fmt.Errorf("-store %s: write sqlite:%[1]s for the file, or postgres://user@host/database", name)
	case scheme == "postgres" || scheme == "postgresql":
		return openPostgres(ctx, name)
	}
	return nil, errors.New(
		"-store must begin with sqlite: or postgres://: write sqlite:FILE or postgres://user@host/database")
}

// Redacted returns the name of a store, as [Store] accepts it, without what a URL may
// contain of a password.
func Redacted(name string) string {
	if strings.HasPrefix(name, "sqlite:") {
		return name
	}
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return "postgres"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// openPostgres opens a store in PostgreSQL. The parameter schema is ours: the driver
// would send it to the server, which refuses it.
func openPostgres(ctx context.Context, name string) (storage.Store, error) {
	options := []postgres.Option{postgres.Existing()}
	if base, query, found := strings.Cut(name, "?"); found {
		values, err := url.ParseQuery(query)
		if err != nil { // which may contain a password
			return nil, errors.New("-store: the parameters after ? are not valid: write ?name=value&name=value, URL-encoded")
		}
		if values.Has("schema") {
			options = append(options, postgres.Schema(values.Get("schema")))
			values.Del("schema")
			if name = base; len(values) > 0 {
				name += "?" + values.Encode()
			}
		}
	}
	store, err := postgres.Open(ctx, name, options...)
	if err != nil {
		return nil, describe(err)
	}
	return store, nil
}

// describe removes the general text in front of the error of a store.
func describe(err error) error {
	for _, kind := range []error{storage.ErrStore, storage.ErrFormat} {
		if text, found := strings.CutPrefix(err.Error(), kind.Error()+": "); found {
			return &storeError{text, err}
		}
	}
	return err
}

// A storeError is an error of a store with a shorter text.
type storeError struct {
	text string
	err  error
}

func (e *storeError) Error() string { return e.text }
func (e *storeError) Unwrap() error { return e.err }
