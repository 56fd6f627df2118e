package storage

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Order is the order in which a [Query] returns its results.
type Order uint8

// The orders. Records with the same time are ordered by key, and with OrderNewest in
// reverse order of their keys.
const (
	OrderKey    Order = iota // by Run and then by ID, compared bytewise
	OrderOldest              // by time of creation, with the oldest record first
	OrderNewest              // the reverse of OrderOldest
	OrderDue                 // by Due, with the earliest time first
)

// ByCreation reports whether o orders by time of creation.
func (o Order) ByCreation() bool { return o == OrderOldest || o == OrderNewest }

// A Cursor is a position in the results of a query or in a history. As an argument, an
// empty cursor means the start. As a result, an empty cursor means the end. [After] and
// [AfterCreated] return cursors for [Store.List]. The cursors of [Store.History] are
// opaque.
type Cursor string

// After returns the position in [OrderKey] after the record with the given run and id,
// whether or not that record exists.
func After(run, id string) Cursor { return Cursor(strconv.Itoa(len(run)) + ":" + run + id) }

// AfterCreated returns the position in [OrderOldest] and [OrderNewest] after the run with
// the given id and time of creation, whether or not that run exists.
func AfterCreated(created time.Time, run string) Cursor {
	return Position{created, run, ""}.cursor()
}

// A Position identifies the record that a query's [Cursor] follows.
type Position struct {
	Time    time.Time // time of creation, or Due with OrderDue; zero with OrderKey
	Run, ID string
}

// Compare orders positions as [OrderOldest] and [OrderDue] do. Positions without times
// are ordered as by [OrderKey].
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

// Position returns the position of c, which must not be empty. If c is not a valid
// cursor, the error matches [ErrStore].
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

// After returns the position after a record in the results of q, whether or not q selects
// the record. It is for stores.
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

// Position returns the position of the cursor of q, or the zero Position if q has no
// cursor. It is for stores. If the cursor belongs to a different order, the error matches
// [ErrStore].
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
