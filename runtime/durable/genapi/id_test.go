package genapi

import (
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

type orderID string

func TestID(t *testing.T) {
	for _, c := range []struct {
		parts []any
		want  string
	}{
		{nil, ""},
		{[]any{"o-17"}, "/o-17"},
		{[]any{orderID("o-17"), 3, uint8(4), true}, "/o-17/3/4/true"},
		{[]any{netip.MustParseAddr("::1")}, "/%3A%3A1"},
		{[]any{"a/b", "c"}, "/a%2Fb/c"},
		{[]any{"a", "b/c"}, "/a/b%2Fc"},
		{[]any{"100%"}, "/100%25"},
		{[]any{"Grüße an alle"}, "/Grüße an alle"},
		{[]any{"a\x00b\xff\n"}, "/a%00b%FF%0A"},
		{[]any{"\uFFFD"}, "/\uFFFD"},
		{[]any{""}, "/"},
	} {
		if got := ID(c.parts...); got.text != c.want || got.err != nil {
			t.Errorf("ID(%q) = %q, %v, want %q", c.parts, got.text, got.err, c.want)
		}
	}
	for _, c := range []struct{ got, want StepID }{
		{StringID("a/b"), ID("a/b")},
		{StringID(""), ID("")},
		{StringID(orderID("o-17")), ID(orderID("o-17"))},
		{IntID(math.MinInt64), ID(math.MinInt64)},
		{IntID(int8(-1)), ID(-1)},
		{UintID(uint64(math.MaxUint64)), ID(uint64(math.MaxUint64))},
	} {
		got, err := c.got.Path("in:", "Charge")
		want, wantErr := c.want.Path("in:", "Charge")
		if got != want || err != nil || wantErr != nil {
			t.Errorf("got the id %q, %v, want %q, %v", got, err, want, wantErr)
		}
	}
	for _, part := range []any{nil, 1.5, struct{}{}, []byte("x"), errors.New("x"), (*netip.Addr)(nil)} {
		if got := ID(part); got.err == nil || !errors.Is(*got.err, fault.ErrID) {
			t.Errorf("ID(%v) = %q, %v, want ErrID", part, got.text, got.err)
		}
	}
}

func TestFullID(t *testing.T) {
	scoped := record.ScopeIn(record.ScopeIn("", "page-1"), "a:b")
	if got, err := ID("o-17").Path(scoped, "Bank.Charge"); got != "page-1:a%3Ab:Bank.Charge/o-17" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for name, id := range map[string]StepID{"": {}, "x": ID(strings.Repeat("x", record.MaxID)), "y": ID(1.5)} {
		if got, err := id.Path("", name); !errors.Is(err, fault.ErrID) {
			t.Errorf("fullID(%q) = %q, %v, want ErrID", name, got, err)
		}
	}
}

// FuzzID: different parts have different ids, and every id is text that any
// store keeps.
func FuzzID(f *testing.F) {
	f.Add("s", "a/b", "c", "s", "a", "b/c")
	f.Add("s:t", "a", "", "s", "t:a", "")
	f.Add("", "\xff", "%FF", "", "%FF", "\xff")
	f.Fuzz(func(t *testing.T, scope1, a1, b1, scope2, a2, b2 string) {
		one, err1 := ID(a1, b1).Path(record.ScopeIn("", scope1), "n")
		two, err2 := ID(a2, b2).Path(record.ScopeIn("", scope2), "n")
		if err1 != nil || err2 != nil {
			return // too long
		}
		if same := scope1 == scope2 && a1 == a2 && b1 == b2; (one == two) != same {
			t.Errorf("%q and %q: the parts are equal: %v", one, two, same)
		}
		if !utf8.ValidString(one) || strings.ContainsRune(one, 0) {
			t.Errorf("%q is not text", one)
		}
	})
}

// FuzzRecord: no body makes the decoder panic, and what it accepts is encoded as
// what it decodes.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"name":"charge","attempts":2,"call":{"attempts":1},"open":{"token":"t","fence":3}}`))
	f.Add([]byte(`{"name":"charge","unknown":1}`))
	f.Add([]byte(`{"name":"charge","result":{"json":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := storage.Record{Key: storage.Key{Kind: storage.KindStep}, Version: 1, Body: body}
		b, err := record.Decode[record.Step](r)
		if err != nil {
			if !errors.Is(err, storage.ErrFormat) {
				t.Errorf("%v does not match ErrFormat", err)
			}
			return
		}
		if err := record.Encode(&r, &b); err != nil {
			t.Fatal(err)
		}
		again, err := record.Decode[record.Step](r)
		if err != nil {
			t.Fatal(err)
		}
		two := r
		if err := record.Encode(&two, &again); err != nil || string(two.Body) != string(r.Body) {
			t.Errorf("%s is encoded as %s (%v)", r.Body, two.Body, err)
		}
	})
}

func TestCursorPosition(t *testing.T) {
	for _, text := range []string{"", "a", "a:b", "1:", "é/%2F", strings.Repeat("x", record.MaxID)} {
		q := storage.Query{From: storage.After(text, "i"+text)}
		if p, err := q.Position(); p.Run != text || p.ID != "i"+text || err != nil {
			t.Errorf("%.20q: got %+v, %v", text, p, err)
		}
		for _, at := range []time.Time{time.Unix(-3, 7), time.Unix(1<<40, 999_999_999)} {
			q := storage.Query{From: storage.AfterCreated(at, text), Order: storage.OrderNewest}
			if p, err := q.Position(); !p.Time.Equal(at) || p.Run != text || p.ID != "" || err != nil {
				t.Errorf("%v, %.20q: got %+v, %v", at, text, p, err)
			}
		}
	}
	for _, q := range []storage.Query{
		{From: "x"}, {From: "1"}, {From: "2:a"}, {From: "-1:a"}, {From: ":a"}, {From: storage.AfterCreated(time.Now(), "a")},
		{From: storage.After("a", "b"), Order: storage.OrderNewest}, {From: "1/1:a", Order: storage.OrderOldest},
		{From: "1.x/1:a", Order: storage.OrderOldest},
	} {
		if _, err := q.Position(); !errors.Is(err, storage.ErrStore) {
			t.Errorf("%q: got error %v", q.From, err)
		}
	}
	if _, _, err := memory.New().List(t.Context(), storage.Query{From: "x"}); !errors.Is(err, storage.ErrStore) {
		t.Errorf("List: got %v", err)
	}
}
