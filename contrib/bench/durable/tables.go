package main

// sqliteTables are the tables that need nothing but a disk.
func sqliteTables() []table {
	systems := func(fails, callers int) []contender {
		return []contender{
			units("retrygen", openEngine, fails, callers),
			units("DBOS, `synchronous=NORMAL`", openDBOS, fails, callers),
			units("DBOS, `synchronous=FULL`", openDBOSFull, fails, callers),
			units("River", openRiver, fails, callers),
		}
	}
	return []table{
		recordTable,
		{name: "step", title: "A step that succeeds, SQLite", n: 1000, columns: stepColumns,
			contenders: systems(0, 1)},
		{name: "retried", title: "A step that fails twice, SQLite", n: 300, columns: stepColumns,
			contenders: systems(2, 1)},
		{name: "callers", title: "A step that succeeds, 64 at a time, SQLite", n: 4000, columns: stepColumns,
			contenders: append([]contender{units("retrygen, one at a time", openEngine, 0, 1)}, systems(0, 64)...)},
		processesTable, resumeTable, finishedTable, failuresTable,
	}
}

// postgresTables are the tables that need a server.
func postgresTables(s *server) []table {
	systems := func(fails, callers int) []contender {
		return []contender{
			s.units("retrygen", openEnginePG, fails, callers),
			s.units("DBOS", pooled(openDBOSPG), fails, callers),
			s.units("River", pooled(openRiverPG), fails, callers),
		}
	}
	workers := func(n int) []contender {
		return []contender{
			s.jobs("retrygen", openRuns, n), s.jobs("DBOS", openDBOSJobs, n), s.jobs("River", openRiverJobs, n),
		}
	}
	steps := []column{cpuColumn, serverColumn, wallColumn, allocsColumn}
	return []table{
		{name: "step", title: "A step that succeeds, PostgreSQL", n: 1000, columns: steps, contenders: systems(0, 1)},
		{name: "retried", title: "A step that fails twice, PostgreSQL", n: 300, columns: steps, contenders: systems(2, 1)},
		{name: "callers", title: "A step that succeeds, 64 at a time, PostgreSQL", n: 4000, columns: steps,
			contenders: systems(0, 64)},
		{name: "budget", title: "A step that fails once, 64 at a time, PostgreSQL", n: 4000, columns: steps,
			contenders: append(
				[]contender{s.units("retrygen, one budget for all", openBudgetPG, 1, 64)}, systems(1, 64)...,
			)},
		{name: "jobs-1", title: "Jobs, 1 worker, PostgreSQL", n: 600, columns: jobColumns, contenders: workers(1)},
		{name: "jobs-16", title: "Jobs, 16 workers, PostgreSQL", n: 3000, columns: jobColumns, contenders: workers(16)},
		{name: "jobs-64", title: "Jobs, 64 workers, PostgreSQL", n: 6000, columns: jobColumns, contenders: workers(64)},
		{name: "latency", title: "50 jobs per second, 16 workers, PostgreSQL", n: 300, columns: latencyColumns,
			contenders: []contender{
				s.paced("retrygen", openRuns, 16), s.paced("DBOS", openDBOSJobs, 16), s.paced("River", openRiverJobs, 16),
			}},
	}
}
