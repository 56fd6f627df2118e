// Package job runs work that fans out over units (shards, regions, workflows) and
// combines the results.
//
// A [Group] is one job. [Run] calls a function for each unit, and returns when enough
// units have succeeded according to the [GroupPolicy]:
//
//	imports := job.NewGroup(job.GroupPolicy{
//		Name:       "import",
//		Budget:     &job.BudgetPolicy{Retries: 20, PerUnit: 3},
//		BestEffort: &job.BestEffort{MinSuccess: 6, Deadline: 5 * time.Minute},
//	}, jobID)
//	imports.Observe(job.Log(slog.Default()))
//	outcome, err := job.Run(ctx, imports, shards, importShard, nil)
//
// Inside the function, [Group.Unit] returns the retry budget of a unit:
//
//	retry.DoWith(ctx, &policy, retry.Shared{Budget: imports.Unit(shard)}, op)
//
// A [Budget] limits the retries of the job and of each unit. The first execution of a
// unit is not a retry. The limits are in a [BudgetPolicy]. If a job asks for other
// limits, [BudgetPolicy.Request] reduces them to what the policy allows:
//
//	limits := imports.Policy().Budget.Request(retries, perUnit)
//	imports.SetBudget(job.NewBudget(limits))
//
// The error policy of a group decides what happens when units fail. A unit that has
// failed can become a dead letter, and too many failures stop the group:
//
//	job.GroupPolicy{
//		Workers:       8,
//		OnUnitFailure: job.FailureDeadLetter,
//		MaxFailures:   5,
//		FailureRate:   0.2, // of the units that have ended, if these are at least MinUnits
//	}
//
// A [Progress] is the state of a group as plain data. A program that manages groups
// itself, for example in a store, can use it to make the same decisions as Run.
//
// The rules, and the words in logs and metrics, follow design AD-44 of the hyperscale
// project: see [Reason] and [EventKind].
package job
