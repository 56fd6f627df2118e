package main

// A bugInfo is a rule that the flag -bug leaves out.
type bugInfo struct{ name, rule string }

// bugs are the rules that can be left out. Each of them is needed: without it, a
// promise is broken.
var bugs = []bugInfo{
	{"nostart", "the claim of a run of one row starts its attempt"},
	{"early", "a function is called after the reply to the start of its attempt"},
	{"noversion", "an end in one statement requires the version that is known, not only the owner and the fence"},
	{"nofence", "an end with locks requires the owner and the fence"},
	{"forget", "before a later execution of a run of one row goes on, it records the attempt that has started"},
	{"release", "a start is given back only by a process that has not called the function"},
	{"race", "what a process owns and does not execute is released while none of its claims is on its way"},
	{"noreconcile", "a process releases what it owns and does not execute"},
	{"noself", "a claim requires the record of the lease"},
	{"drop", "the success of a run that was canceled or paused meanwhile is recorded in a row of its step"},
	{"norepeat", "a repeated start finds that it has taken place"},
	{"norepeatend", "a repeated end finds that it has taken place"},
	{"stale", "an update sees what the updates before it in the same transaction have written"},
	{"late", "a held end is recorded with the start of the next attempt, and not after it"},
	{"blind", "an update that records a held end keeps it when it writes its own decision"},
	{"silent", "an end that somebody waits for is not recorded in one statement, which notifies nobody"},
}
