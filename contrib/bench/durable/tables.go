package main

import "github.com/retrygen/retrygen/runtime/durable"

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

// What a crash repeats of jobs and workflows, as they are measured here.
const (
	repeatsExecuting = "jobs that were executing"
	repeatsFinished  = "these, and jobs that finished within the last 250 ms"
	repeatsStep      = "the step that was executing"
	repeatsHeld      = "this, or the one whose result the function has just got"
)

// postgresTables are the tables that need a server.
func postgresTables(s *server) []table {
	systems := func(fails, callers int) []contender {
		return []contender{
			s.units("retrygen", openEnginePG, fails, callers),
			s.units("DBOS", pooled(openDBOSPG), fails, callers),
			s.units("River", pooled(openRiverPG), fails, callers),
		}
	}
	jobs := func(engines, slots int) []contender {
		all := []contender{
			s.jobs("retrygen", repeatsExecuting, openJobs, engines, slots),
			s.jobs("River, completed in a transaction of the worker", repeatsExecuting, openRiverTx, engines, slots),
			s.jobs("River", repeatsFinished, openRiverJobs, engines, slots),
		}
		if engines == 1 {
			all = append(all, s.jobs("DBOS", repeatsExecuting, openDBOSJobs, engines, slots))
		}
		return all
	}
	workflows := func(slots int) []contender {
		return []contender{
			s.jobs("retrygen", repeatsStep, openTwoSteps(), 1, slots),
			s.jobs("retrygen, `durable.Hold`", repeatsHeld, openTwoSteps(durable.Hold()), 1, slots),
			s.jobs("DBOS", repeatsStep, openDBOSTwoSteps, 1, slots),
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
		s.recordTable(),
		{name: "jobs-1x1", title: "Jobs, 1 engine with 1 slot, PostgreSQL", n: 600, rounds: 3, columns: jobColumns,
			contenders: jobs(1, 1)},
		{name: "jobs-1x64", title: "Jobs, 1 engine with 64 slots, PostgreSQL", n: 6000, rounds: 3, columns: jobColumns,
			contenders: jobs(1, 64)},
		{name: "jobs-4x16", title: "Jobs, 4 engines with 16 slots, PostgreSQL", n: 6000, rounds: 3, columns: jobColumns,
			contenders: jobs(4, 16)},
		{name: "jobs-16x4", title: "Jobs, 16 engines with 4 slots, PostgreSQL", n: 4000, rounds: 3, columns: jobColumns,
			contenders: jobs(16, 4)},
		{name: "start-many", title: "Start 100,000 jobs, PostgreSQL", n: 100_000, rounds: 3, columns: startColumns,
			contenders: []contender{
				s.startMany("retrygen, `StartMany`", openStartMany),
				s.startMany("River, `InsertMany`", openInsertMany),
				s.startMany("River, `InsertManyFast`", openInsertManyFast),
			}},
		{name: "workflows-1", title: "Workflows of two steps, 1 slot, PostgreSQL", n: 600, rounds: 3, columns: jobColumns,
			contenders: workflows(1)},
		{name: "workflows-64", title: "Workflows of two steps, 64 slots, PostgreSQL", n: 4000, rounds: 3, columns: jobColumns,
			contenders: workflows(64)},
		{name: "latency", title: "50 jobs per second, 16 workers, PostgreSQL", n: 300, columns: latencyColumns,
			contenders: []contender{
				s.paced("retrygen", openJobs, 16), s.paced("DBOS", openDBOSJobs, 16), s.paced("River", openRiverJobs, 16),
			}},
	}
}
