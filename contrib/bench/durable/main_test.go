package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test be the processes that it starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArg {
		os.Exit(child(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// TestTables makes every table with little work. The contenders check what they
// have executed.
func TestTables(t *testing.T) {
	pg := &server{}
	t.Cleanup(pg.close)
	if err := pg.start(t.Context(), "fsync=off"); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for on, tables := range map[string][]table{"sqlite": sqliteTables(), pg.url: postgresTables(pg)} {
		for _, table := range tables {
			t.Run(table.title, func(t *testing.T) {
				var out, errs strings.Builder
				scale := "0.01"
				if table.n > 50_000 {
					scale = "0.0001"
				}
				args := []string{"-on", on, "-rows", table.name, "-scale", scale, "-rounds", "1"}
				if status := run(args, &out, &errs); status != 0 {
					t.Fatalf("status %d: %s", status, errs.String())
				}
				if got, want := strings.Count(out.String(), "\n| "), len(table.contenders)+1; got != want {
					t.Errorf("got %d lines, want %d:\n%s", got, want, out.String())
				}
				checkDocumented(t, string(readme), table)
			})
		}
	}
}

// checkDocumented checks that the README has a table with its contenders.
func checkDocumented(t *testing.T, readme string, table table) {
	t.Helper()
	_, text, found := strings.Cut(readme, "\n### "+table.title+"\n")
	if !found {
		t.Errorf("the README has no table %q", table.title)
	}
	text, _, _ = strings.Cut(text, "\n##")
	for _, c := range table.contenders {
		if !strings.Contains(text, "\n| "+c.name+" |") {
			t.Errorf("table %q of the README has no line %q", table.title, c.name)
		}
	}
}

func TestPrint(t *testing.T) {
	table := table{title: "Two", columns: stepColumns, contenders: []contender{{name: "one"}, {name: "other"}}}
	figures := []figure{
		{cpu: 1234 * time.Nanosecond, wall: 2 * time.Millisecond, allocs: 3, start: 500 * time.Microsecond, server: 1},
		{
			cpu: 2468 * time.Nanosecond, wall: time.Millisecond, allocs: 4.2, start: 250 * time.Microsecond,
			recorded: latencies{1234 * time.Microsecond, 2 * time.Second},
		},
	}
	var out strings.Builder
	table.print(&out, figures)
	table.columns = []column{jobColumns[0], jobColumns[1], serverColumn, latencyColumns[1]}
	table.print(&out, figures)
	const want = `### Two

| | processor time | elapsed | allocations |
|---|---|---|---|
| one | 1.23µs | 2ms | 3 |
| other | 2.47µs, 2× | 1ms, 0.5× | 4 |

### Two

| | completed per second | started per second | of the server | end recorded: p50, p99 |
|---|---|---|---|---|
| one | 500 | 2000 | 1ns | 0s, 0s |
| other | 1000, 2× | 4000, 2× | – | 1.23ms, 2s |

`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-rows", "steps"}, {"-scale", "0"}, {"-rounds", "0"}, {"step"}, {"-x"}} {
		var out, errs strings.Builder
		if status := run(args, &out, &errs); status != 2 || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: status %d, %q and %q; want 2, nothing and a message", args, status, out.String(), errs.String())
		}
	}
}
