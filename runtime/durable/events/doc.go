// Package events defines the types with which package durable reports what it does:
// events, spans, the outcomes of attempts, and the operators who make changes.
package events
