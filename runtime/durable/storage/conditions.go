package storage

import (
	"strings"
	"time"
)

// A Field is a field of a record that a [Condition] compares.
type Field uint8

// The fields.
const (
	FieldHandler Field = iota + 1
	FieldRun           // Run of the Key
	FieldID            // ID of the Key
	FieldOwner
	FieldLabel
	FieldDue
	FieldAttention
	FieldCreated
)

// An Op is the comparison that a [Condition] makes.
type Op uint8

// The comparisons. An unset time satisfies none of them.
const (
	OpIs      Op = iota + 1 // the fields are equal to the values
	OpIn                    // the field is in a list
	OpSet                   // the field is true, or a time that is not zero
	OpMore                  // the fields are greater than the values, compared like rows in SQL
	OpAtLeast               // the fields are at least the values
	OpLess                  // the fields are less than the values
	OpAtMost                // the fields are at most the values
)

// A Condition is a test that every record selected by a query passes.
type Condition struct {
	Fields []Field // several fields are compared in order, like a row in SQL
	Op     Op
	Values []any // a string or a time for each field; with OpIn, a []string; with OpSet, none
}

var fields = [...]string{
	FieldHandler: "handler", FieldRun: "run", FieldID: "id", FieldOwner: "owner", FieldLabel: "label", FieldDue: "due",
	FieldAttention: "attention", FieldCreated: "created",
}

// String returns the name of the field, which is also the name of its SQL column.
func (f Field) String() string { return fields[f] }

var operators = [...]string{OpIs: "=", OpMore: ">", OpAtLeast: ">=", OpLess: "<", OpAtMost: "<="}

// SQL returns the condition as an SQL expression, with mark in place of each value. It is
// for stores.
func (c *Condition) SQL(mark string) string {
	if len(c.Fields) == 1 {
		return c.Fields[0].String() + " " + operators[c.Op] + " " + mark
	}
	names, marks := make([]string, len(c.Fields)), make([]string, len(c.Fields))
	for i, f := range c.Fields {
		names[i], marks[i] = f.String(), mark
	}
	return "(" + strings.Join(names, ", ") + ") " + operators[c.Op] + " (" + strings.Join(marks, ", ") + ")"
}

// Conditions returns the conditions of q, for stores. They do not include Kind, Space and
// Status, which a store must compare itself. If a record satisfies all conditions and has
// the Kind, the Space and a Status of q, q selects it, and it follows the cursor. If
// there is a condition on handlers, it is the first one. A range of ids or times has only
// one bound at each end, so that an index can be used for both. If the cursor is not
// valid for q, the error matches [ErrStore].
func (q *Query) Conditions() ([]Condition, error) {
	after, err := q.Position()
	if err != nil {
		return nil, err
	}
	var c conditions
	switch {
	case len(q.Handlers) == 1 && q.Handlers[0] != "":
		c.add(FieldHandler, OpIs, q.Handlers[0])
	case len(q.Handlers) > 0:
		c.add(FieldHandler, OpIn, q.Handlers)
	}
	c.text(FieldRun, OpIs, q.Run)
	if len(q.Runs) > 0 {
		c.add(FieldRun, OpIn, q.Runs)
	}
	c.time(FieldDue, OpAtMost, q.DueBy)
	c.text(FieldOwner, OpIs, q.Owner)
	c.text(FieldLabel, OpIs, q.Label)
	if q.Attention {
		c = append(c, Condition{Fields: []Field{FieldAttention}, Op: OpSet})
	}
	rest := *q // without the bounds that the cursor makes superfluous
	switch {
	case q.Order.ByCreation():
		c = append(c, Condition{Fields: []Field{FieldCreated}, Op: OpSet})
		c.afterCreated(&rest, after)
	case q.Order == OrderDue:
		c = append(c, Condition{Fields: []Field{FieldDue}, Op: OpSet})
		if q.From != "" {
			c.after(FieldDue, OpMore, after)
		}
	default:
		c.afterKey(&rest, after)
	}
	c.text(FieldRun, OpAtLeast, rest.FromRun)
	c.text(FieldRun, OpLess, rest.BeforeRun)
	c.text(FieldID, OpAtLeast, rest.FromID)
	c.text(FieldID, OpLess, rest.BeforeID)
	c.time(FieldCreated, OpAtLeast, rest.CreatedFrom)
	c.time(FieldCreated, OpLess, rest.CreatedBefore)
	return c, nil
}

type conditions []Condition

func (c *conditions) add(f Field, op Op, value any) {
	*c = append(*c, Condition{[]Field{f}, op, []any{value}})
}

// text adds a condition for a field of the query that is not empty.
func (c *conditions) text(f Field, op Op, value string) {
	if value != "" {
		c.add(f, op, value)
	}
}

// time is text for a time.
func (c *conditions) time(f Field, op Op, value time.Time) {
	if !value.IsZero() {
		c.add(f, op, value)
	}
}

// afterKey adds the condition for a cursor in the order of keys, and removes the bound
// of q that it makes superfluous. A cursor before the first key that q selects has none.
func (c *conditions) afterKey(q *Query, after Position) {
	switch {
	case q.From == "":
	case q.Run == "" && after.Run >= q.FromRun:
		*c = append(*c, Condition{[]Field{FieldRun, FieldID}, OpMore, []any{after.Run, after.ID}})
		q.FromRun = ""
	case q.Run != "" && after.ID >= q.FromID:
		c.add(FieldID, OpMore, after.ID)
		q.FromID = ""
	}
}

// afterCreated is afterKey for the orders by creation.
func (c *conditions) afterCreated(q *Query, after Position) {
	op := OpMore
	switch {
	case q.From == "":
		return
	case q.Order == OrderNewest && (q.CreatedBefore.IsZero() || after.Time.Before(q.CreatedBefore)):
		op, q.CreatedBefore = OpLess, time.Time{}
	case q.Order == OrderOldest && !after.Time.Before(q.CreatedFrom):
		q.CreatedFrom = time.Time{}
	default: // before the first one that q selects
		return
	}
	c.after(FieldCreated, op, after)
}

// after adds the condition for a cursor in an order by a time.
func (c *conditions) after(f Field, op Op, p Position) {
	*c = append(*c, Condition{[]Field{f, FieldRun, FieldID}, op, []any{p.Time, p.Run, p.ID}})
}
