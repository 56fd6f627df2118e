// Package job runs work that fans out over units (shards, regions, workflows)
// and makes one result of their results.
//
// A [Group] is one job. [Run] calls a function for each of its units, and
// returns when the group's policy says that enough units have succeeded. A
// [Budget] counts the retries of the job and of each unit. The rules are those
// of AD-44 of hyperscale.
package job
