// Package events has what package durable reports of its work: events, spans, how
// attempts ended, and who has changed something by hand.
package events
