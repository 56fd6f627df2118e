// Package console is the web console of retryctl serve: pages about the runs, steps,
// dead letters, breakers, budgets and policies of a store, and forms that change
// them.
//
// The server renders every page. The script of the console only replaces parts of a
// page when the store has changed: all pages and forms work without it. Nothing is
// requested from other hosts.
package console
