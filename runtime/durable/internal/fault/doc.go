// Package fault has the errors that several packages of durable return. Each of them
// names those that its callers can meet.
package fault
