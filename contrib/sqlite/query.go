package sqlite

import (
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Orders of the records that a query selects.
const (
	byKey = " ORDER BY run, id"
	byDue = " ORDER BY priority DESC, due, run, id"
	// ofPriority is byDue for the records of one priority.
	ofPriority = " AND priority = ? ORDER BY due, run, id"
)

// listOrder returns the order of the results of a query that is not for an update.
func listOrder(q storage.Query) string {
	switch q.Order {
	case storage.OrderOldest:
		return " ORDER BY created, run, id"
	case storage.OrderNewest:
		return " ORDER BY created DESC, run DESC, id DESC"
	case storage.OrderDue:
		return " ORDER BY due, run, id"
	}
	return byKey
}

// indexOf returns which index a query uses, or "" for the primary key: SQLite has
// no statistics to choose one.
func indexOf(q storage.Query) string {
	switch {
	case merged(q) && ofHandler(q):
		return byHandlerCreated
	case merged(q):
		return byCreated
	case q.Label != "":
		return "INDEXED BY retry_label"
	case q.Attention:
		return "INDEXED BY retry_attention"
	case q.Owner != "":
		return "INDEXED BY retry_owner"
	case q.DueBy.IsZero() && q.Order != storage.OrderDue || q.Run != "" || len(q.Runs) > 0:
		return ""
	case ofHandler(q):
		return byHandler
	}
	return "INDEXED BY retry_due"
}

// merged reports whether the records of each status of q are read in its order. With
// one of the other fields, its index finds few records, which are sorted.
func merged(q storage.Query) bool {
	return q.Order.ByCreation() && len(q.Status) > 0 &&
		q.Run == "" && len(q.Runs) == 0 && q.Owner == "" && q.Label == "" && q.DueBy.IsZero()
}

const (
	byHandler        = "INDEXED BY retry_handler"
	byCreated        = "INDEXED BY retry_created"
	byHandlerCreated = "INDEXED BY retry_handler_created"
)

// ofHandler reports whether q is for the runs of one handler.
func ofHandler(q storage.Query) bool { return len(q.Handlers) == 1 && q.Handlers[0] != "" }

// querySQL returns the statement of a query and its arguments, without the last
// one, the limit. The text depends only on which fields are set and, in the order of
// creation, on the number of statuses.
func querySQL(q storage.Query, order string) (string, []any, error) {
	w := &where{terms: []string{"kind = ?", "space = ?"}, args: []any{q.Kind, q.Space}}
	if err := w.fields(q); err != nil {
		return "", nil, err
	}
	selected := columnsOf(q.Kind)
	switch {
	case q.Brief && q.Run != "":
		selected = briefOfRun
	case q.Brief:
		selected = briefColumns
	}
	if !merged(q) {
		w.statuses(q.Status)
		text := "SELECT " + selected + " FROM retry_record " + indexOf(q) + " WHERE " + w.text() + order + " LIMIT ?"
		return text, w.args, nil
	}
	// In the index, the statuses follow one another. SQLite merges their keys, and reads
	// only the records of the page: those with other ids are passed over in the index.
	var parts []string
	var args []any
	for _, status := range slices.Compact(slices.Sorted(slices.Values(q.Status))) {
		parts = append(parts, "SELECT kind, space, run, id, created FROM retry_record "+indexOf(q)+
			" WHERE "+w.text()+" AND status = ?")
		args = append(append(args, w.args...), status)
	}
	return "WITH page AS MATERIALIZED (" + strings.Join(parts, " UNION ALL ") + order + " LIMIT ?) SELECT " + selected +
		" FROM page CROSS JOIN retry_record USING (kind, space, run, id, created)" + order, args, nil
}

// A where is the condition of a query.
type where struct {
	terms []string
	args  []any
}

func (w *where) and(condition string, values ...any) {
	w.terms = append(w.terms, condition)
	w.args = append(w.args, values...)
}

func (w *where) text() string { return strings.Join(w.terms, " AND ") }

// fields adds the conditions for the fields that records have, except their status.
func (w *where) fields(q storage.Query) error {
	conditions, err := q.Conditions()
	if err != nil {
		return err
	}
	for _, c := range conditions {
		if err := w.condition(c); err != nil {
			return err
		}
	}
	return nil
}

func (w *where) condition(c storage.Condition) error {
	name := c.Fields[0].String()
	switch {
	case c.Op == storage.OpIn:
		w.and(name+" IN (SELECT value FROM json_each(?))", jsonList(c.Values[0].([]string)))
		return nil
	case c.Op == storage.OpSet && c.Fields[0] == storage.FieldAttention:
		w.and(name + " <> 0")
		return nil
	case c.Op == storage.OpSet:
		w.and(name + " IS NOT NULL") // the predicate of the index
		return nil
	}
	values := slices.Clone(c.Values)
	for i, value := range values {
		if t, ok := value.(time.Time); ok {
			at, err := toNanos(t)
			if err != nil {
				return err
			}
			values[i] = at
		}
	}
	text := c.SQL("?")
	if c.Fields[0] == storage.FieldHandler {
		text += " AND handler <> ''" // the predicate of the index
	}
	w.and(text, values...)
	return nil
}

func (w *where) statuses(all []storage.Status) {
	if len(all) == 0 {
		return
	}
	numbers := make([]int, len(all)) // a status is text in JSON
	for i, status := range all {
		numbers[i] = int(status)
	}
	w.and("status IN (SELECT value FROM json_each(?))", jsonList(numbers))
}
