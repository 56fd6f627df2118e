package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// An order and the run that mails its receipt are recorded together or not at all.
func ExampleStore_Transact() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(filepath.Join(dir, "shop.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	engine, err := durable.New(store)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)

	place := func(order string, paid bool) error {
		return store.Transact(ctx, func(tx *sqlite.Tx) error {
			if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS shop_order (id TEXT PRIMARY KEY)`); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO shop_order VALUES (?)`, order); err != nil {
				return err
			}
			if err := durable.StartTx(ctx, engine, tx, "mail", "mail-"+order, order); err != nil {
				return err
			}
			if !paid {
				return errors.New("not paid: neither the order nor the run exists")
			}
			return nil
		})
	}
	fmt.Println(place("o-1", true))
	fmt.Println(place("o-2", false))
	for r, err := range engine.Admin().List(ctx, storage.Query{}) {
		fmt.Println(r.ID, r.Status, err)
	}
	// Output:
	// <nil>
	// not paid: neither the order nor the run exists
	// mail-o-1 open <nil>
}
