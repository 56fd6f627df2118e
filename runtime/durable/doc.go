// Package durable keeps the state of retries in a store, so that a call survives
// the death of its process: how many attempts were made, how long the next one
// has to wait, whether the last one may have taken effect, and what is left of
// the budgets.
package durable
