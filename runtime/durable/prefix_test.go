package durable_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestPrefix: the runs whose id begins with a prefix, wherever a page ends.
func TestPrefix(t *testing.T) {
	ids := []string{
		"a", "a/", "a/1", "a/2", "a0", "b", "b\u007f", "b\u007f1", "b\u0080", "c\ud7ff", "c\ud7ff1", "c\ue000", "d",
		"d\U0010ffff", "d\U0010ffff\U0010ffff1", "e", "\U0010ffff", "\U0010ffff2",
	}
	e, err := durable.New(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	for _, id := range ids {
		if err := e.Run(t.Context(), id, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for _, prefix := range append([]string{"", "a/1x", "none", "d\U0010ffff\U0010ffff"}, ids...) {
		want := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id, prefix) })
		var got []string
		for r, err := range e.Admin().List(t.Context(), storage.Query{Limit: 1}.Prefix(prefix)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("prefix %q: got %q, want %q", prefix, got, want)
		}
	}
}
