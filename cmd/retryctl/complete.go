package main

import (
	"context"
	"flag"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// completeIDs returns a function that completes the id of a run and, if steps is set,
// of a step: from a page of the store, if that answers at once. more allows several
// runs.
func completeIDs(steps, more bool, statuses ...storage.Status) func(*flag.FlagSet, []string, string) []string {
	return func(flags *flag.FlagSet, args []string, prefix string) (words []string) {
		const most, patience = 100, time.Second
		s := &session{store: flags.Lookup("store").Value.String(), space: flags.Lookup("namespace").Value.String()}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		add := func(id string) bool {
			if quote(id) == id { // what needs quotes is not completed
				words = append(words, id)
			}
			return len(words) < most
		}
		_ = s.open(ctx, func() error {
			switch {
			case len(args) == 0 || more:
				for r, err := range s.client.List(ctx, storage.Query{Limit: most}.Prefix(prefix)) {
					if err != nil || !add(r.ID) {
						break
					}
				}
			case len(args) == 1 && steps:
				f := admin.Filter{Run: args[0], AfterStep: prefix, Status: statuses}
				for i, err := range s.client.Steps(ctx, f) {
					if err != nil || !add(i.Step) {
						break
					}
				}
			}
			return nil
		})
		return words
	}
}
