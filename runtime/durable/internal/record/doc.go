// Package record defines the data that package durable writes into the bodies of records: their
// fields, the ids of steps and groups, and the encoding of results. Its decisions depend only
// on one record and the time: [Gate.Admit], [Group.Decide], [Group.Report].
package record
