package postgres

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestPlans checks how PostgreSQL finds what is asked for. Statements for keys are
// planned once, even while the tables are empty.
func TestPlans(t *testing.T) {
	s := openInternal(t)
	for _, table := range []*table{&s.texts.runs, &s.texts.records, &s.texts.steps} {
		for _, text := range []string{table.lockMany, table.removeMany} {
			keys := make([][]any, 50)
			for i := range keys {
				keys[i] = keyArguments(key(storage.KindStep, "r", fmt.Sprint(i)))
			}
			plan := s.explain(t, false, nil, text, arrays(keys)...)
			if !strings.Contains(plan, "_pkey") || strings.Contains(plan, "Hash") || strings.Contains(plan, "Merge Join") {
				t.Errorf("%s\ngot\n%s", text, plan)
			}
		}
	}
	for _, text := range s.texts.clear {
		plan := s.explain(t, false, nil, text, "test", []string{"r1", "r2"})
		if strings.Count(plan, "Scan") != strings.Count(plan, "_pkey") {
			t.Errorf("%s\ngot\n%s", text, plan)
		}
	}
	now := time.Now().UTC()
	_, err := s.pool.Exec(t.Context(), fmt.Sprintf(`
INSERT INTO retry.retry_run (kind, space, run, id, version, status, owner, fence, handler, due, attention, bucket, label,
	priority, created, awaited)
SELECT 2, 'test', 'r'||i, '', 1, 1 + 6 * (i %% 2), CASE WHEN i %% 50 = 0 THEN 'o' ELSE '' END, 0, CASE WHEN i %% 10 = 0 THEN 'h' ELSE 'other' END, CASE WHEN i %% 3 = 0 THEN now() + make_interval(secs => i - 100) END,
	false, '%[1]s', '', 0, now() - make_interval(secs => i), false FROM generate_series(1, 30000) AS i;
INSERT INTO retry.retry_step SELECT 4, 'test', 'r'||i/100, 's'||i, 1, 1, '', 0, '', NULL, i %% 100 = 0, '%[1]s', '{}',
	CASE WHEN i %% 1000 = 0 THEN 'l' ELSE '' END
FROM generate_series(1, 20000) AS i`, monthOf(now).Format(time.DateOnly)), pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	open := []storage.Status{storage.StatusOpen, storage.StatusParked}
	ended := []storage.Status{storage.StatusSucceeded, storage.StatusFailed}
	failed := []storage.Status{storage.StatusFailed}
	others := []storage.Status{storage.StatusPaused, storage.StatusCanceled, storage.StatusTimedOut}
	all := slices.Concat(open, ended, others)
	created := storage.AfterCreated(now.Add(-time.Hour), "r")
	due := (&storage.Query{Order: storage.OrderDue}).After(
		storage.Record{Key: key(storage.KindRun, "r", ""), Due: now.Add(-time.Hour)},
	)
	const newest, oldest = storage.OrderNewest, storage.OrderOldest
	// Without statistics, as after a burst of jobs, and with them: a sort reads the whole
	// backlog for each claim.
	for _, analyzed := range []bool{false, true} {
		for _, test := range []struct {
			query storage.Query
			order string // "": as the query has it
			want  string
		}{
			{storage.Query{Kind: storage.KindRun}, byKey, "retry_run_pkey"},
			{storage.Query{Kind: storage.KindRun, From: storage.After("r", "i")}, byKey, "retry_run_pkey"},
			{storage.Query{Kind: storage.KindRun, DueBy: now, Status: ended}, byKey, "retry_run_ended"},
			{storage.Query{Kind: storage.KindRun, DueBy: now, Handlers: []string{"h"}}, byLevel, "retry_run_handler"},
			{storage.Query{Kind: storage.KindRun, DueBy: now, Handlers: []string{"h"}, Status: open}, byLevel,
				"retry_run_handler"},
			{storage.Query{Kind: storage.KindRun, Owner: "o"}, byKey, "retry_run_owner"},
			{storage.Query{Kind: storage.KindRun, Order: newest, Status: all}, "", "retry_run_created"},
			{storage.Query{Kind: storage.KindRun, Order: oldest, Status: all}, "", "retry_run_created"},
			{storage.Query{Kind: storage.KindRun, Order: newest, Status: failed}, "", "retry_run_created"},
			{storage.Query{Kind: storage.KindRun, Order: newest, Status: failed, From: created}, "", "retry_run_created"},
			{storage.Query{Kind: storage.KindRun, Order: oldest, Status: ended, From: created}, "", "retry_run_created"},
			{
				storage.Query{Kind: storage.KindRun, Order: newest, Status: all, Handlers: []string{"h"}}, "",
				"retry_run_created",
			},
			{
				storage.Query{Kind: storage.KindRun, Order: newest, Status: failed, Handlers: []string{"h"}, From: created}, "",
				"retry_run_created",
			},
			{
				storage.Query{
					Kind: storage.KindRun, Order: newest, Status: all, CreatedFrom: now.Add(-time.Hour), CreatedBefore: now,
				}, "", "retry_run_created",
			},
			{storage.Query{Kind: storage.KindRun, Order: storage.OrderDue, DueBy: now, Status: ended}, "", "retry_run_ended"},
			{
				storage.Query{Kind: storage.KindRun, Order: storage.OrderDue, DueBy: now, Status: ended, From: due}, "",
				"retry_run_ended",
			},
			{storage.Query{Kind: storage.KindStep, Run: "r"}, byKey, "_pkey"},
			{storage.Query{Kind: storage.KindStep, Runs: []string{"r1", "r2"}}, byKey, "_pkey"},
			{
				storage.Query{Kind: storage.KindStep, Runs: []string{"r1", "r2"}, Attention: true}, byKey,
				"_kind_space_run_id_idx",
			},
			{storage.Query{Kind: storage.KindStep, Label: "l", Attention: true}, byKey, "_kind_space_label_run_id_idx"},
			{
				storage.Query{Kind: storage.KindStep, Label: "l", From: storage.After("r", "i")}, byKey,
				"_kind_space_label_run_id_idx",
			},
			{storage.Query{Kind: storage.KindStep, Attention: true}, byKey, "_kind_space_run_id_idx"},
			{storage.Query{Kind: storage.KindStep, Attention: true, Run: "r"}, byKey, "_kind_space_run_id_idx"},
		} {
			test.query.Space = "test"
			order := cmp.Or(test.order, listOrder(test.query))
			text, args, err := s.querySQL(test.query, order, "")
			if err != nil {
				t.Fatal(err)
			}
			plan := s.explain(t, test.order != byLevel, &test.query, text, append(args, 10)...)
			if test.want == "retry_run_ended" && !analyzed {
				continue // in the order of keys, which no index has: without statistics, any will do
			}
			if strings.Contains(plan, "Seq Scan on") && order != byKey {
				t.Errorf("%s\ngot\n%s\nwant an index", text, plan)
			}
			sorts := strings.Count(plan, "Sort  ") - strings.Count(plan, "Incremental Sort  ") // of those with one time
			if merged(test.query) && strings.Contains(plan, "retry_run_owner") {
				sorts -= 2 // the runs that have an owner are few, and so are the pages of the handlers
			}
			if !strings.Contains(plan, test.want) || sorts > 0 && order != byKey {
				t.Errorf("%s\ngot\n%s\nwant %s in its order", text, plan, test.want)
			}
		}
		if _, err := s.pool.Exec(t.Context(), "ANALYZE"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlanOfClaim: a claim finds runs in the order of its index, also if it was planned
// while there were none, and while PostgreSQL has no statistics of them. A sort would read
// the whole backlog for each claim. With 90,000 due jobs of several handlers, and with as
// many that the statement does not claim, it reads hardly more than with 100.
func TestPlanOfClaim(t *testing.T) {
	s := openInternal(t)
	q := storage.Query{
		Kind: storage.KindRun, Space: "test", DueBy: time.Now(), Handlers: []string{"h1"},
		Status: []storage.Status{storage.StatusOpen, storage.StatusParked},
	}
	if needsPlan(q) {
		t.Fatal("the claim is planned each time")
	}
	decided, _, err := s.querySQL(q, orderOf(q), " FOR UPDATE SKIP LOCKED")
	if err != nil {
		t.Fatal(err)
	}
	engine := storage.Key{Kind: storage.KindOwner, Space: "test", ID: "engine"}
	apply(t, s, storage.Writes{Put: []storage.Record{{Key: engine, Bucket: monthOf(time.Now().UTC())}}})
	claims := []*claimPlan{
		{name: "decided", types: "smallint, text, text, timestamptz, smallint[], bigint", text: decided,
			args: "2, 'test', 'h1', now(), '{1,5}', 10"},
		{name: "new", types: "smallint, text, text, bigint, bigint, text, bytea", text: s.texts.claim,
			args: "2, 'test', 'h1', 10, 0, 'engine', NULL"},
		{name: "others", types: "smallint, text, text, bigint, bigint, text, bytea", text: s.texts.claim,
			args: "2, 'test', 'other1', 10, 0, 'engine', NULL"}, // which are not new
	}
	c, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	execute := func(statement string) {
		if _, err := c.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	fill := func(first, last int) {
		execute(fmt.Sprintf(`INSERT INTO retry.retry_run (kind, space, run, id, version, status, owner, fence, handler, due,
	attention, bucket, label, priority, created, awaited, body)
SELECT 2, 'test', handler||i, '', 1, 1, '', 0, handler||i %% 3, now(), false, now(), '', 0, now(), false, body
FROM generate_series(%d, %d) AS i, (VALUES ('h', NULL), ('other', '{}'::bytea)) AS v (handler, body)`, first, last))
	}
	for _, claim := range claims {
		execute("PREPARE " + claim.name + " (" + claim.types + ") AS " + claim.text)
		claim.check(t, c, "without runs")
	}
	fill(1, 100)
	few := map[string]int{}
	for _, claim := range claims {
		few[claim.name] = claim.check(t, c, "planned without runs")
	}
	fill(101, 90_000) // of each kind
	for _, when := range []string{"planned without runs", "without statistics"} {
		for _, claim := range claims {
			if pages := claim.check(t, c, when); pages > 2*few[claim.name] { // the indexes are higher
				t.Errorf("%s, %s: a claim reads %d pages with 90,000 due runs, and %d with 100",
					claim.name, when, pages, few[claim.name])
			}
			execute("DEALLOCATE " + claim.name)
			execute("PREPARE " + claim.name + " (" + claim.types + ") AS " + claim.text)
		}
	}
}

// A claimPlan is a statement that claims runs.
type claimPlan struct{ name, types, text, args string }

// check reports a plan that does not have the order of the index of claims. It returns
// the number of pages that the statement reads.
func (p *claimPlan) check(t *testing.T, c *pgxpool.Conn, when string) (pages int) {
	t.Helper()
	var plan []string
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	b.Queue("EXPLAIN (ANALYZE, BUFFERS) EXECUTE " + p.name + " (" + p.args + ")").Query(func(rows pgx.Rows) (err error) {
		plan, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	b.Queue("ROLLBACK")
	if err := c.SendBatch(t.Context(), b).Close(); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(plan, "\n")
	isIn := func(text string) bool { return strings.Contains(got, text) }
	if isIn("Sort") || isIn("Seq Scan on") || !isIn("retry_run_handler") {
		t.Errorf("%s, %s: got\n%s\nwant retry_run_handler in its order", p.name, when, got)
	}
	for _, line := range plan { // the first one has the sum
		if _, buffers, found := strings.Cut(line, "Buffers: shared"); found {
			for field := range strings.FieldsSeq(buffers) {
				name, n, _ := strings.Cut(field, "=")
				if number, err := strconv.Atoi(n); err == nil && (name == "hit" || name == "read") {
					pages += number
				}
			}
			t.Logf("%s, %s: %d pages", p.name, when, pages)
			return pages
		}
	}
	t.Errorf("%s, %s: got\n%s\nwant the number of pages", p.name, when, got)
	return 0
}

// explain returns the plan of a statement with the settings of an update, or of a query
// that is not nil. planned says that it is planned for its arguments.
func (s *Store) explain(t *testing.T, planned bool, q *storage.Query, text string, args ...any) string {
	t.Helper()
	var plan []string
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	s.set(b, planned)
	if q != nil && merged(*q) {
		b.Queue(noSort)
	}
	b.Queue("EXPLAIN "+text, args...).Query(func(rows pgx.Rows) (err error) {
		plan, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	b.Queue("ROLLBACK")
	if err := s.pool.SendBatch(t.Context(), b).Close(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Join(plan, "\n")
}
