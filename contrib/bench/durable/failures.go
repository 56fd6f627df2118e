package main

import (
	"context"

	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// failuresTable compares a success that is not recorded with the call itself.
// go run ./instructions in contrib/bench counts its instructions.
var failuresTable = table{
	name: "failures", title: "`record: failures`, a success", n: 100_000, columns: stepColumns,
	contenders: []contender{
		{name: "direct call", prepare: prepareDirect},
		{name: "step with `record: failures`", prepare: prepareFailures},
	},
}

// prepareDirect and prepareFailures make the same calls.
func prepareDirect(_ context.Context, _ string, n int) (*trial, error) {
	w := &work{}
	return &trial{
		run: func() error {
			for i := range n {
				if _, err := w.do(i, 1); err != nil {
					return err
				}
			}
			return w.done(n)
		},
		close: func() error { return nil },
	}, nil
}

func prepareFailures(ctx context.Context, dir string, n int) (*trial, error) {
	w := &work{}
	e, err := openSQLiteEngine(dir, w)
	if err != nil {
		return nil, err
	}
	unrecorded := charge
	unrecorded.Record = genapi.RecordFailures
	return &trial{
		run: func() error {
			return e.Run(ctx, "settle", func(ctx context.Context) error {
				for i := range n {
					if _, err := e.charge(ctx, &unrecorded, i); err != nil {
						return err
					}
				}
				return w.done(n)
			})
		},
		close: e.close,
	}, nil
}
