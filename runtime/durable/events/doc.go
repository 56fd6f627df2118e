// Package events has the types with which package durable reports what it does: events,
// spans, the outcomes of attempts, and the operators who have changed something.
package events
