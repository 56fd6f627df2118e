package storage

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Order is an order of the results of a [Query].
type Order uint8

// The orders. Records with the same time are in the order of their keys, and in OrderNewest
// in the reverse of it.
const (
	OrderKey    Order = iota // by Run and ID, bytewise
	OrderOldest              // by the time of the creation, the oldest first
	OrderNewest              // the reverse of OrderOldest
	OrderDue                 // by Due, the earliest first
)

// ByCreation reports whether o is an order by the time of the creation.
func (o Order) ByCreation() bool { return o == OrderOldest || o == OrderNewest }

// A Cursor is a position in the results of a query, or in a history. An empty
// one is the start, and as a result the end. [After] and [AfterCreated] make the cursors
// of [Store.List]; the cursors of [Store.History] are opaque.
type Cursor string

// After returns the position in [OrderKey] after the record with a run and an id,
// whether that record exists or not.
func After(run, id string) Cursor { return Cursor(strconv.Itoa(len(run)) + ":" + run + id) }

// AfterCreated returns the position in [OrderOldest] and [OrderNewest] after the run
// with an id that was created at a time, whether that run exists or not.
func AfterCreated(created time.Time, run string) Cursor {
	return Position{created, run, ""}.cursor()
}

// A Position is what a [Cursor] of a query comes after.
type Position struct {
	Time    time.Time // of the creation, or Due in OrderDue; zero in OrderKey
	Run, ID string
}

// Compare orders positions as [OrderOldest] and [OrderDue] do and, without times, as
// [OrderKey].
func (p Position) Compare(other Position) int {
	return cmp.Or(p.Time.Compare(other.Time), strings.Compare(p.Run, other.Run), strings.Compare(p.ID, other.ID))
}

// cursor returns the cursor of a position.
func (p Position) cursor() Cursor {
	key := After(p.Run, p.ID)
	if p.Time.IsZero() {
		return key
	}
	return Cursor(fmt.Sprintf("%d.%d/%s", p.Time.Unix(), p.Time.Nanosecond(), key))
}

// Position returns what c, which is not empty, comes after. The error for another text
// matches [ErrStore].
func (c Cursor) Position() (p Position, err error) {
	head, text, found := strings.Cut(string(c), ":")
	at, length, timed := strings.Cut(head, "/")
	if !timed {
		at, length = "", head
	}
	seconds, nanos, _ := strings.Cut(at, ".")
	s, wrongSeconds := strconv.ParseInt(seconds, 10, 64)
	ns, wrongNanos := strconv.ParseInt(nanos, 10, 64)
	n, wrongLength := strconv.Atoi(length)
	if !found || wrongLength != nil || n < 0 || n > len(text) || timed && (wrongSeconds != nil || wrongNanos != nil) {
		return Position{}, fmt.Errorf("%w: %.100q is not a cursor of a query", ErrStore, string(c))
	}
	if timed {
		p.Time = time.Unix(s, ns).UTC()
	}
	p.Run, p.ID = text[:n], text[n:]
	return p, nil
}

// After returns the position in the results of q after a record, whether q selects it
// or not. It is for stores.
func (q *Query) After(r Record) Cursor {
	return q.PositionOf(r).cursor()
}

// PositionOf returns the position of a record in the order of q. It is for stores.
func (q *Query) PositionOf(r Record) Position {
	p := Position{Run: r.Key.Run, ID: r.Key.ID}
	switch {
	case q.Order.ByCreation():
		p.Time = r.Created
	case q.Order == OrderDue:
		p.Time = r.Due
	}
	return p
}

// Position returns what the cursor of q comes after, or the zero Position if q has
// none. It is for stores. The error for a cursor of another order matches [ErrStore].
func (q *Query) Position() (Position, error) {
	if q.From == "" {
		return Position{}, nil
	}
	p, err := q.From.Position()
	if err == nil && p.Time.IsZero() != (q.Order == OrderKey) {
		err = fmt.Errorf("%w: %.100q is a cursor of another order", ErrStore, string(q.From))
	}
	return p, err
}
