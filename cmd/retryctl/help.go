package main

// This file has the help texts of the commands.

const runsHelp = `
The newest run is printed first, by the time of creation; -order oldest reverses the
list. It is printed a page at a time. Unless a page is the last one, it ends with
the flag that prints the next page. New runs do not shift the pages.`

const tailHelp = `
It prints each run that changes, and each step that begins, waits, fails or ends.
With the id of a run, it prints all steps of that run. It looks at the store at
intervals, so it misses a change that is undone in between. End it with Ctrl-C.`

const statsHelp = `
It counts runs and steps by status. It also counts attempts, retries, failures, lost
attempts and recoveries across all executions. Failures are grouped by their class
and text; words that contain a digit are replaced by #. The command reads
everything that the flags select, which can take minutes.`

const deadHelp = `
The column DO is advice: reprocess means that the step may succeed now, and review
means that a retry would probably fail again, or that an attempt may have taken
effect. A dead letter that was requeued is listed until it has succeeded.`

const requeueHelp = `
The step of a dead letter is executed again, and its attempts are counted from zero.
Its run is open again: workers continue it, or the program does when it calls Run.
Name one dead letter, or select several with flags. They are requeued one after
another: after Ctrl-C or a crash, run the command again for the rest. It asks for
confirmation first, unless -yes is set.`

const discardHelp = `
A discarded dead letter is no longer listed, and no longer keeps its run from being
deleted; its history is kept until then. The command asks for confirmation first,
unless -yes is set.`

const pauseHelp = `
Attempts that are executing can still end, and are recorded; no new attempt starts.
A run is paused together with the runs that it has started. If flags select the
runs, the command asks for confirmation first, unless -yes is set.`

const resumeHelp = `
A run is resumed together with the runs that were paused with it. A failed run is
executed again if you name its id; flags select only paused runs.`

const cancelHelp = `
A canceled run cannot be continued. A run is canceled together with the runs that it
has started. The command asks for confirmation first, unless -yes is set.`

const acceptHelp = `
After a failover, or after a backup was restored, the store may have lost updates
that it had acknowledged. Engines notice this and claim no more runs. Before you
accept the store, compare its records with the systems that they describe. The
command asks for confirmation first, unless -yes is set.`

const overrideHelp = `
An override applies to all processes that follow the overrides of the store
(shared.Link with Overrides) and whose policy files have reload: true. They apply it
within about a second, until its end. TARGET is the name of a policy, or with
-breaker the name of a breaker, or a pattern:

  retryctl override -retries off -for 30m -why 'the provider asks for less load' '*'
  retryctl override -breaker open -for 1h payments

An override does not change durable steps. To stop these, pause their runs, or open
their breakers in the store with retryctl breakers open.`

const resolveHelp = `
A step is in doubt if an attempt has started and nobody knows how it ended. Ask the
other system whether the attempt took effect; retryctl step prints the idempotency
key to ask for. Then record the answer with -succeeded, -failed or -retry. A step
that has paused its run is resolved in the same way.

You can also resolve a step that waits for its next attempt. With -retry, the
attempt is made now and counts like any other; -succeeded skips the step, and
-failed ends it.`

const signalHelp = `
The step is a durable.Wait. Without JSON, the value is null. If the run has not
called the wait yet, the value is kept for it. The command then prints the signals
that the run does wait for, in case the id is a mistake. Only the first value
counts: sending it again changes nothing, and sending another value is an error.`

const importHelp = `
The files are checkpoints of the agents of one workflow, in any order. When the
program executes the run, it continues with the next attempts. Importing a file
twice changes nothing.`

const exportHelp = `
Each line is an object with a type and a value. A run is followed by the changes of
operators, its groups and its steps, and each step by its attempts. If an export
with -o was interrupted, run the same command again: it continues with the last run
in the file.`

const verifyHelp = `
It checks the database, and then each record against the guarantees: attempts are
counted correctly, fences only grow, no budget is overspent, and no run has
succeeded with an unfinished step. Engines may work meanwhile.`

const vacuumHelp = `
When a run has ended and its retention has passed, its input, results and history are
deleted. Engines do this while they work; vacuum does all of it now. The ids of runs
are kept, so that no run is executed twice. Runs with dead letters or with steps in
doubt are kept as well.`
