// Package events defines the types that package durable uses to report what it does:
// events, spans, the outcomes of attempts, and the operators who make changes.
package events
