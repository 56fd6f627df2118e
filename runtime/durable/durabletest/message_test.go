package durabletest

import (
	"testing"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func TestSetFields(t *testing.T) {
	r := record(step("a"), 7)
	r.Status, r.Input = storage.StatusDead, []byte{}
	sel := storage.Select{
		Keys:    []storage.Key{run("a")},
		Queries: []storage.Query{{Kind: storage.KindRun, Limit: 2}, {Handlers: []string{"h"}, DueBy: month}},
	}
	for got, want := range map[string]string{
		setFields(storage.Record{}): `{}`,
		setFields(r):                `{Key:step run a Status:dead letter Bucket:2026-11-01 00:00:00 +0000 UTC Input:"" Body:"7"}`,
		setFields(sel): `{Keys:[run a] Queries:[{Kind:run Limit:2} ` +
			`{Handlers:[h] DueBy:2026-11-01 00:00:00 +0000 UTC}]}`,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
