package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/retrygen/retrygen/runtime/durable"
)

// Orders of the records that a query selects.
const (
	byKey = " ORDER BY run, id"
	byDue = " ORDER BY priority DESC, due, run, id"
	// byLevel is byDue for one handler, with one priority after the other: in the index,
	// the records of two priorities have records between them that are not due yet.
	byLevel = " AND priority = levels.n ORDER BY due, run, id"
)

// querySQL returns the statement of a query in an order, with a clause that locks
// records, and its arguments, without the last one, the limit. The text depends only on
// which fields are set. It is empty for a query that selects nothing.
func (s *Store) querySQL(q durable.Query, order, locking string) (string, []any, error) {
	if !isText(q.Space) || !isText(q.Run) || !isText(q.Owner) || !isText(q.Label) {
		return "", nil, nil
	}
	var text strings.Builder
	if order == byLevel {
		text.WriteString(s.texts.table(q.Kind).due)
	}
	text.WriteString(s.texts.table(q.Kind).list)
	args := []any{int16(q.Kind), q.Space}
	and := func(condition string, values ...any) {
		numbers := make([]any, len(values))
		for i := range values {
			numbers[i] = fmt.Sprint("$", len(args)+1+i)
		}
		fmt.Fprintf(&text, " AND "+condition, numbers...)
		args = append(args, values...)
	}
	switch handlers := onlyText(q.Handlers); {
	case len(q.Handlers) == 1 && len(handlers) == 1 && handlers[0] != "":
		and("handler = %s AND handler <> ''", handlers[0])
	case len(q.Handlers) > 0:
		and("handler = ANY (%s)", handlers)
	}
	if q.Run != "" {
		and("run = %s", q.Run)
	}
	if !q.DueBy.IsZero() {
		due, err := toTime(q.DueBy)
		if err != nil {
			return "", nil, err
		}
		and("due <= %s", due)
	}
	if q.Owner != "" {
		and("owner = %s AND owner <> ''", q.Owner) // the predicate of the index
	}
	if q.Label != "" {
		and("label = %s AND label <> ''", q.Label) // the predicate of the index
	}
	if q.Attention {
		and("attention")
	}
	if len(q.Status) > 0 {
		and("status = ANY (%s)", numbers(q.Status))
	}
	if err := bounds(q, and); err != nil {
		return "", nil, err
	}
	fmt.Fprintf(&text, "%s LIMIT $%d%s", order, len(args)+1, locking)
	if order == byLevel {
		fmt.Fprintf(&text, ") AS due LIMIT $%d", len(args)+1)
	}
	return text.String(), args, nil
}

// bounds adds the conditions for the ids of a query, and for where the page before
// ended.
func bounds(q durable.Query, and func(condition string, values ...any)) error {
	fromID, fromRun := q.FromID, q.FromRun
	if q.From != "" {
		run, id, err := q.From.Position()
		switch {
		case err != nil:
			return err
		case !isText(run) || !isText(id):
			return fmt.Errorf("the cursor %.100q is not valid UTF-8, or has a NUL byte", string(q.From))
		case q.Run == "" && run >= fromRun:
			and("(run, id) > (%s, %s)", run, id)
			fromRun = ""
		case q.Run == "":
		case id >= fromID:
			and("id > %s", id)
			fromID = ""
		}
	}
	for _, text := range [...]string{fromRun, q.BeforeRun, fromID, q.BeforeID} {
		if !isText(text) {
			return fmt.Errorf("the bound %.50q of ids is not valid UTF-8, or has a NUL byte", text)
		}
	}
	if fromRun != "" {
		and("run >= %s", fromRun)
	}
	if q.BeforeRun != "" {
		and("run < %s", q.BeforeRun)
	}
	if fromID != "" {
		and("id >= %s", fromID)
	}
	if q.BeforeID != "" {
		and("id < %s", q.BeforeID)
	}
	return nil
}

func numbers(statuses []durable.Status) []int16 {
	all := make([]int16, len(statuses))
	for i, status := range statuses {
		all[i] = int16(status)
	}
	return all
}

// distinct returns the positions at, of which each key has one, in the order of keys.
func distinct(keys []durable.Key, at []int) []int {
	slices.SortStableFunc(at, func(i, j int) int { return keys[i].Compare(keys[j]) })
	return slices.CompactFunc(at, func(i, j int) bool { return keys[i] == keys[j] })
}

// claim queues the statement of a query of an update, which skips records that
// others have locked, but not those that the update itself has. extra is how many of
// these it may find.
func (s *Store) claim(b *pgx.Batch, q durable.Query, extra int, page *recordPage) error {
	order := byKey
	if !q.DueBy.IsZero() {
		order = dueOrder(q)
	}
	return s.find(b, q, order, pageSize(q.Limit)+extra, " FOR UPDATE SKIP LOCKED", page)
}

// dueOrder returns the order for a query with DueBy.
func dueOrder(q durable.Query) string {
	if len(q.Handlers) == 1 && q.Handlers[0] != "" && isText(q.Handlers[0]) &&
		q.Run == "" && q.Owner == "" && q.Label == "" && !q.Attention {
		return byLevel
	}
	return byDue
}

// overlap returns how many records of query i may be selected by what is before it.
func overlap(sel durable.Select, i int) (n int) {
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
func disjoint(a, b durable.Query) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	shares := func(handler string) bool { return slices.Contains(b.Handlers, handler) }
	return a.Kind != b.Kind || a.Space != b.Space || differ(a.Run, b.Run) || differ(a.Owner, b.Owner) ||
		differ(a.Label, b.Label) ||
		len(a.Handlers) > 0 && len(b.Handlers) > 0 && !slices.ContainsFunc(a.Handlers, shares)
}

// distinctRecords adds what queries have found to records, up to their limits and
// except what is there.
func distinctRecords(records []durable.Record, queries []durable.Query, pages []recordPage) []durable.Record {
	if len(queries) == 0 {
		return records
	}
	selected := make(map[durable.Key]bool, len(records))
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
