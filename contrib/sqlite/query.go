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
	case q.DueBy.IsZero() || q.Run != "":
		return ""
	case ofHandler(q):
		return byHandler
	}
	return "INDEXED BY retry_due"
}

// merged reports whether the records of each status of q are read in its order. With
// one of the other fields, its index finds few records, which are sorted.
func merged(q storage.Query) bool {
	return q.Order != storage.OrderKey && len(q.Status) > 0 &&
		q.Run == "" && q.Owner == "" && q.Label == "" && q.DueBy.IsZero()
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
	if err := w.bounds(q); err != nil {
		return "", nil, err
	}
	selected := columns
	if q.Brief {
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
	if q.Run != "" {
		w.and("run = ?", q.Run)
	}
	if !q.DueBy.IsZero() {
		due, err := toNanos(q.DueBy)
		if err != nil {
			return err
		}
		w.and("due <= ?", due)
	}
	if q.Owner != "" {
		w.and("owner = ?", q.Owner)
	}
	if q.Label != "" {
		w.and("label = ?", q.Label)
	}
	if q.Attention {
		w.and("attention <> 0")
	}
	switch {
	case ofHandler(q):
		w.and("handler = ? AND handler <> ''", q.Handlers[0])
	case len(q.Handlers) > 0:
		w.and("handler IN (SELECT value FROM json_each(?))", jsonList(q.Handlers))
	}
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

// bounds adds the conditions for ids and times of creation, and for where the page
// before ended. Each end has one bound, or the index is not used for both.
func (w *where) bounds(q storage.Query) error {
	after, err := q.Position()
	if err != nil {
		return err
	}
	fromID, fromRun := q.FromID, q.FromRun
	switch {
	case q.Order != storage.OrderKey:
		if err := w.created(&q, after); err != nil {
			return err
		}
	case q.From == "":
	case q.Run == "" && after.Run >= fromRun:
		w.and("(run, id) > (?, ?)", after.Run, after.ID)
		fromRun = ""
	case q.Run != "" && after.ID >= fromID:
		w.and("id > ?", after.ID)
		fromID = ""
	}
	if fromRun != "" {
		w.and("run >= ?", fromRun)
	}
	if q.BeforeRun != "" {
		w.and("run < ?", q.BeforeRun)
	}
	if fromID != "" {
		w.and("id >= ?", fromID)
	}
	if q.BeforeID != "" {
		w.and("id < ?", q.BeforeID)
	}
	for _, bound := range []struct {
		condition string
		time      time.Time
	}{{"created >= ?", q.CreatedFrom}, {"created < ?", q.CreatedBefore}} {
		if !bound.time.IsZero() {
			at, err := toNanos(bound.time)
			if err != nil {
				return err
			}
			w.and(bound.condition, at)
		}
	}
	return nil
}

// created adds the conditions for a query whose order is by creation. It removes the
// bound of q that the position of the page before makes superfluous.
func (w *where) created(q *storage.Query, after storage.Position) error {
	w.and("created IS NOT NULL") // the predicate of the index
	at, err := toNanos(after.Created)
	switch {
	case err != nil || q.From == "":
		return err
	case q.Order == storage.OrderNewest && (q.CreatedBefore.IsZero() || after.Created.Before(q.CreatedBefore)):
		w.and("(created, run, id) < (?, ?, ?)", at, after.Run, after.ID)
		q.CreatedBefore = time.Time{}
	case q.Order == storage.OrderOldest && !after.Created.Before(q.CreatedFrom):
		w.and("(created, run, id) > (?, ?, ?)", at, after.Run, after.ID)
		q.CreatedFrom = time.Time{}
	}
	return nil
}
