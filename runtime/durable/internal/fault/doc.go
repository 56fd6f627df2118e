// Package fault defines the errors that package durable and several packages below it
// return. Each of these packages exports the errors that its callers can receive.
package fault
