// Package record is what package durable writes into the bodies of records: their
// fields, the ids of steps and groups, and the encoding of results. It decides
// nothing.
package record
