package main

// This file has the help texts of the commands.

const runsHelp = `
Runs are listed from the one that was created last to the one that was created
first, or with -order oldest the other way round, a page at a time. A page that is
not the last one ends with the flag for the next one, which new runs do not change.`

const tailHelp = `
It prints the runs that change, and the steps that begin, wait, fail or end. With
the id of a run, it prints all steps of that run. A change that is undone before
the next look is not seen. It ends with Ctrl-C.`

const statsHelp = `
It counts runs and steps by status, and attempts, retries, failures, lost attempts
and recoveries across all executions. Failures are grouped by their class and
text, with # in place of words that have a digit. It reads all that is selected.`

const deadHelp = `
The column DO is advice: reprocess what may succeed now, review what a retry
would repeat or may have taken effect. A dead letter that was requeued is listed
until it has succeeded.`

const requeueHelp = `
The attempts of a dead letter are counted from zero, and its run is open again:
workers execute it, or the program that calls Run. Several are selected by flags,
and requeued one by one: after Ctrl-C or a crash, run the command again for the
rest. It asks first, unless -yes is set.`

const discardHelp = `
A dead letter that is discarded is not listed any more, and its run may expire.
The history stays until then. It asks first, unless -yes is set.`

const pauseHelp = `
The attempts that are executing end and are recorded; no other starts. The runs
that a run has started are paused with it. It asks before it pauses runs that
flags select, unless -yes is set.`

const cancelHelp = `
A canceled run cannot be continued. The runs that it has started are canceled
with it. It asks first, unless -yes is set.`

const acceptHelp = `
After a failover, or when a backup was restored, the store may have lost what it
had acknowledged, and engines claim no run. Compare the records with the systems
that they describe before you accept. It asks first, unless -yes is set.`

const overrideHelp = `
All processes that follow the overrides of the store (shared.Link with Overrides) and
whose policy files have reload: true apply the override within about a second, until
its end. TARGET is the name of a policy, or of a breaker for -breaker, or a pattern:

  retryctl override -retries off -for 30m -why 'the provider asks for less load' '*'
  retryctl override -breaker open -for 1h payments

Durable steps keep the attempts of their policies: pause their runs. Breakers of
durable steps are records of the store: see retryctl breakers open.`

const resolveHelp = `
A step is in doubt if an attempt started and nobody knows how it ended. Ask the
other system, with the idempotency key that retryctl step prints, whether it took
effect. A step that has paused its run is resolved in the same way.

A step that waits for its next attempt can be resolved, too: with -retry, the
attempt is due now and counts as it would have; -succeeded skips the step, and
-failed ends it.`

const signalHelp = `
The step is a durable.Wait. The value is null if there is none. A signal that comes
before its step is kept, and the command prints so, with the signals for which the
run waits: the id may be a mistake. The first value counts. To send it again changes
nothing, and another one is an error.`

const importHelp = `
The files are checkpoints of the agents of one workflow, in any order. The run
continues with their next attempts when the program executes it. Importing a file
twice changes nothing.`

const exportHelp = `
Each line is an object with a type and a value: a run, followed by what operators
did to it, its groups, and its steps, each followed by its attempts. With -o, an
export that was interrupted continues after the last run that it has written
whole.`

const verifyHelp = `
It checks the database, and for each record what the guarantees promise: attempts
are counted, fences rise, budgets are not over-spent, no run has succeeded over an
unfinished step. Engines may work meanwhile.`

const vacuumHelp = `
The results and the history of a run are deleted when it has succeeded and its
time has passed. Engines do this as they work; vacuum does all of it now. The ids
of runs stay, so that they are not executed again, and so do failed runs and dead
letters.`
