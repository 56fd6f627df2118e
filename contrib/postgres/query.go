package postgres

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Orders of the records that a query selects.
const (
	byKey = " ORDER BY run, id"
	byDue = " ORDER BY priority DESC, due, run, id"
	// byLevel is byDue for one handler, with one priority after the other: in the index,
	// the records of two priorities have records between them that are not due yet.
	byLevel = " AND status IN (1, 5) AND priority = levels.n ORDER BY due, run, id"
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

// querySQL returns the statement of a query in an order, with a clause that locks
// records, and its arguments, without the last one, the limit. The text depends only on
// which fields are set. It is empty for a query that selects nothing.
func (s *Store) querySQL(q storage.Query, order, locking string) (string, []any, error) {
	if !isText(q.Space) || !isText(q.Run) || !isText(q.Owner) || !isText(q.Label) {
		return "", nil, nil
	}
	table := s.texts.table(q.Kind)
	list := table.list
	if q.Brief {
		list = table.brief
	}
	w := &where{args: []any{int16(q.Kind), q.Space}}
	var runs, handlers []string
	switch {
	case order == byKey:
		runs, q.Runs = q.Runs, nil
	case merged(q):
		handlers, q.Handlers = q.Handlers, nil
	}
	if err := w.fields(q); err != nil {
		return "", nil, err
	}
	if len(runs) > 0 {
		return w.ofEach(runs, list, locking, q.Status), w.args, nil
	}
	if !merged(q) {
		if len(q.Status) > 0 {
			w.and("status = ANY (%s)", numbers(q.Status))
		}
		text := list + w.text.String() + order + fmt.Sprintf(" LIMIT $%d", len(w.args)+1) + locking
		if order == byLevel {
			text = fmt.Sprintf("WITH RECURSIVE %s\nSELECT due.* FROM levels CROSS JOIN LATERAL (%s) AS due LIMIT $%d",
				table.levels, text, len(w.args)+1)
		}
		return text, w.args, nil
	}
	return w.ofHandlers(handlers, q.Status, table.handlers, list, order), w.args, nil
}

// ofHandlers returns the statement of a query in the order of creation, for some handlers or
// those that all finds. It has the first records of each handler and status, which its index
// has in this order, and of those that have an owner, which are few and not in that index.
func (w *where) ofHandlers(handlers []string, statuses []storage.Status, all, list, order string) string {
	of, named := all, ""
	if len(handlers) > 0 {
		w.args = append(w.args, slices.Compact(slices.Sorted(slices.Values(onlyText(handlers)))))
		of = fmt.Sprintf("handlers AS (SELECT unnest($%d::text[]) AS handler)", len(w.args))
		named = fmt.Sprintf(" AND handler = ANY ($%d)", len(w.args))
	}
	w.args = append(w.args, numbers(slices.Compact(slices.Sorted(slices.Values(statuses)))))
	order += fmt.Sprintf(" LIMIT $%d", len(w.args)+1)
	from := list + w.text.String()
	return fmt.Sprintf(`WITH RECURSIVE %s
(%s%s AND owner > '' AND owner <> '' AND status = ANY ($%d)%s)
UNION ALL (SELECT r.* FROM handlers AS h CROSS JOIN unnest($%[4]d::smallint[]) AS s (status)
	CROSS JOIN LATERAL (%[2]s AND owner = '' AND handler = h.handler AND status = s.status%[5]s) AS r)%[5]s`,
		of, from, named, len(w.args), order)
}

// ofEach returns the statement of a query in the order of keys for some runs, one after the
// other: so it ends when the page is full, and no plan passes over the records of other
// runs.
func (w *where) ofEach(runs []string, list, locking string, statuses []storage.Status) string {
	if len(statuses) > 0 {
		w.and("status = ANY (%s)", numbers(statuses))
	}
	w.args = append(w.args, slices.Compact(slices.Sorted(slices.Values(onlyText(runs)))))
	limit := fmt.Sprintf(" LIMIT $%d", len(w.args)+1)
	return fmt.Sprintf("SELECT r.* FROM unnest($%d::text[]) AS k (run) CROSS JOIN LATERAL (", len(w.args)) +
		list + w.text.String() + " AND run = k.run" + byKey + limit + locking + ") AS r" + limit
}

// merged reports whether the records of each handler and status of q are read in its order.
// With one of the other fields, its index finds few records, which are sorted.
func merged(q storage.Query) bool {
	return q.Order.ByCreation() && len(q.Status) > 0 &&
		q.Run == "" && len(q.Runs) == 0 && q.Owner == "" && q.Label == "" && q.DueBy.IsZero()
}

// noSort is a setting for a query that is merged. Without statistics, PostgreSQL expects
// few records of a handler and a status, and may sort all.
const noSort = `SELECT set_config('enable_sort', 'off', true)`

// A where is the condition of a query, after the kind and the namespace.
type where struct {
	text strings.Builder
	args []any
}

// and adds a condition, with %s for each of its values.
func (w *where) and(condition string, values ...any) {
	numbers := make([]any, len(values))
	for i := range values {
		numbers[i] = fmt.Sprint("$", len(w.args)+1+i)
	}
	fmt.Fprintf(&w.text, " AND "+condition, numbers...)
	w.args = append(w.args, values...)
}

// fields adds the conditions for the fields that records have, except their status. The
// handler comes first: see table.due.
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
	first := c.Fields[0]
	name := first.String()
	handler := ""
	if first == storage.FieldHandler && c.Op == storage.OpIs {
		handler = c.Values[0].(string)
	}
	switch {
	case c.Op == storage.OpIn:
		w.and(name+" = ANY (%s)", onlyText(c.Values[0].([]string)))
		return nil
	case first == storage.FieldHandler && !isText(handler):
		w.and(name + " = ANY ('{}')")
		return nil
	case c.Op == storage.OpSet && first == storage.FieldAttention:
		w.and(name)
		return nil
	case c.Op == storage.OpSet:
		w.and(name + " IS NOT NULL") // the predicate of the indexes
		return nil
	}
	values := make([]any, len(c.Values))
	for i, f := range c.Fields {
		var err error
		if values[i], err = argument(c, f, c.Values[i]); err != nil {
			return err
		}
	}
	text := c.SQL("%s")
	switch {
	case c.Op != storage.OpIs:
	case first == storage.FieldHandler, first == storage.FieldOwner, first == storage.FieldLabel:
		text += " AND " + name + " <> ''" // the predicate of the indexes
	}
	w.and(text, values...)
	return nil
}

// argument returns a value of a condition as PostgreSQL compares it.
func argument(c storage.Condition, f storage.Field, value any) (any, error) {
	switch v := value.(type) {
	case time.Time:
		if f == storage.FieldCreated && len(c.Fields) == 1 {
			v = v.Add(time.Microsecond - 1) // rounded up: there is none between
		}
		return toTime(v)
	case string:
		if !isText(v) {
			return nil, fmt.Errorf("the bound or the cursor %.50q is not valid UTF-8, or has a NUL byte", v)
		}
	}
	return value, nil
}

func numbers(statuses []storage.Status) []int16 {
	all := make([]int16, len(statuses))
	for i, status := range statuses {
		all[i] = int16(status)
	}
	return all
}

// distinct returns the positions at, of which each key has one, in the order of keys.
func distinct(keys []storage.Key, at []int) []int {
	slices.SortStableFunc(at, func(i, j int) int { return keys[i].Compare(keys[j]) })
	return slices.CompactFunc(at, func(i, j int) bool { return keys[i] == keys[j] })
}

// claim queues the statement of a query of an update, which skips records that
// others have locked, but not those that the update itself has. extra is how many of
// these it may find.
func (s *Store) claim(b *pgx.Batch, q storage.Query, extra int, page *recordPage) error {
	q.Order = storage.OrderKey
	q.Brief = false // what an update selects, it may write
	return s.find(b, q, orderOf(q), pageSize(q.Limit)+extra, " FOR UPDATE SKIP LOCKED", page)
}

// orderOf returns the order for a query of an update.
func orderOf(q storage.Query) string {
	switch {
	case q.DueBy.IsZero():
		return byKey
	case q.Kind == storage.KindRun && len(q.Handlers) == 1 && q.Handlers[0] != "" && isText(q.Handlers[0]) &&
		len(q.Status) > 0 && !slices.ContainsFunc(q.Status, unclaimable) &&
		q.Run == "" && q.Owner == "" && q.Label == "" && !q.Attention:
		return byLevel
	}
	return byDue
}

// unclaimable reports whether the index of claims has no runs with a status.
func unclaimable(s storage.Status) bool { return s != storage.StatusOpen && s != storage.StatusParked }

// needsPlan reports whether a query of an update must be planned for its arguments.
// Planning a claim takes longer than executing it, and one index has its order.
func needsPlan(q storage.Query) bool { return orderOf(q) != byLevel }

// overlap returns how many records of query i may be selected by what is before it.
func overlap(sel storage.Select, i int) (n int) {
	q := sel.Queries[i]
	for _, key := range sel.Keys {
		if key.Kind == q.Kind && key.Space == q.Space {
			n++
		}
	}
	for _, other := range sel.Queries[:i] {
		if !disjoint(q, other) {
			n += pageSize(other.Limit)
		}
	}
	return n
}

// disjoint reports whether no record can be selected by both queries.
func disjoint(a, b storage.Query) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	shares := func(handler string) bool { return slices.Contains(b.Handlers, handler) }
	return a.Kind != b.Kind || a.Space != b.Space || differ(a.Run, b.Run) || differ(a.Owner, b.Owner) ||
		differ(a.Label, b.Label) ||
		len(a.Handlers) > 0 && len(b.Handlers) > 0 && !slices.ContainsFunc(a.Handlers, shares)
}

// distinctRecords adds what queries have found to records, up to their limits and
// except what is there.
func distinctRecords(records []storage.Record, queries []storage.Query, pages []recordPage) []storage.Record {
	if len(queries) == 0 {
		return records
	}
	selected := make(map[storage.Key]bool, len(records))
	for _, r := range records {
		selected[r.Key] = true
	}
	for i, page := range pages {
		left := pageSize(queries[i].Limit)
		for _, r := range page.records {
			if left > 0 && !selected[r.Key] {
				selected[r.Key] = true
				records = append(records, r)
				left--
			}
		}
	}
	return records
}
