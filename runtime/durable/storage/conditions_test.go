package storage

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// field returns a field of a record as a condition compares it.
func field(r *Record, f Field) any {
	switch f {
	case FieldHandler:
		return r.Handler
	case FieldRun:
		return r.Key.Run
	case FieldID:
		return r.Key.ID
	case FieldOwner:
		return r.Owner
	case FieldLabel:
		return r.Label
	case FieldDue:
		return r.Due
	}
	return r.Created
}

// satisfies evaluates a condition.
func satisfies(r *Record, c Condition) bool {
	if c.Op == OpSet {
		switch c.Fields[0] {
		case FieldAttention:
			return r.Attention
		case FieldCreated:
			return !r.Created.IsZero()
		}
		return c.Fields[0] == FieldDue && !r.Due.IsZero()
	}
	if c.Op == OpIn {
		return slices.Contains(c.Values[0].([]string), field(r, c.Fields[0]).(string))
	}
	order := 0
	for i, f := range c.Fields {
		switch v := field(r, f).(type) {
		case time.Time:
			if v.IsZero() {
				return false
			}
			order = cmp.Or(order, v.Compare(c.Values[i].(time.Time)))
		case string:
			order = cmp.Or(order, strings.Compare(v, c.Values[i].(string)))
		}
	}
	return map[Op]bool{
		OpIs: order == 0, OpMore: order > 0, OpAtLeast: order >= 0, OpLess: order < 0, OpAtMost: order <= 0,
	}[c.Op]
}

// TestConditions: the conditions of a query and its cursor say what Selects and the
// order of positions say.
func TestConditions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string { return [...]string{"", "a", "b", "c"}[r.IntN(4)] }
	few := func() string { return strings.Repeat(text(), r.IntN(4)/3) } // mostly none
	at := func() (t time.Time) {
		if n := r.IntN(5); n > 0 {
			t = time.Unix(int64(n), 0)
		}
		return t
	}
	selected := 0
	for range 100_000 {
		q := Query{
			Run: few(), FromRun: few(), BeforeRun: few(), FromID: few(), BeforeID: few(), DueBy: at(),
			CreatedFrom: at(), CreatedBefore: at(), Order: Order(r.IntN(4)), Attention: r.IntN(4) == 0,
		}
		if r.IntN(4) == 0 {
			q.Handlers = []string{text(), text()}[:1+r.IntN(2)]
		}
		if r.IntN(4) == 0 {
			q.Runs = []string{text(), text()}[:1+r.IntN(2)]
		}
		if r.IntN(4) == 0 {
			q.Owner, q.Label = text(), text()
		}
		record := Record{
			Key: Key{Run: text(), ID: text()}, Owner: text(), Label: text(), Handler: text(), Due: at(), Created: at(),
			Attention: r.IntN(2) == 0,
		}
		after := Record{Key: Key{Run: cmp.Or(q.Run, text()), ID: text()}, Created: time.Unix(int64(r.IntN(6)), 0)}
		after.Due = after.Created
		want := q.Selects(record)
		if r.IntN(2) == 0 {
			q.From = q.After(after)
			was, _ := q.Position()
			if order := q.PositionOf(record).Compare(was); q.Order == OrderNewest {
				want = want && order < 0
			} else {
				want = want && order > 0
			}
		}
		conditions, err := q.Conditions()
		if err != nil {
			t.Fatal(err)
		}
		got := !slices.ContainsFunc(conditions, func(c Condition) bool { return !satisfies(&record, c) })
		if got != want {
			t.Fatalf("%+v of %+v: got %v, want %v by %+v", record, q, got, want, conditions)
		}
		if want {
			selected++
		}
	}
	if selected < 1000 {
		t.Errorf("only %d records were selected", selected)
	}
}
