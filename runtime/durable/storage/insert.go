package storage

import (
	"context"
	"time"
)

// An Inserter is a store that creates runs in one statement, without locking and reading
// them before.
type Inserter interface {
	// Insert creates the runs that do not exist yet, and reports which. If they are
	// due, those who wait for due runs are notified once. An error that matches
	// [ErrUnknown] means that they may have been created; after other errors, none was. A
	// store may create none without an error, where an update finds out why.
	Insert(ctx context.Context, n Insertion) (inserted []bool, err error)
}

// An Insertion is new runs that differ in nothing but their ids and inputs.
type Insertion struct {
	Space, Handler string
	Priority       int16
	Start          time.Time     // when they are due; zero, or a time that has passed: at once
	Timeout        time.Duration // sets the Deadline, from Start or the creation on; 0: none
	Body           []byte        // or nil
	Runs           []NewRun      // at least one, and no id twice
}

// A NewRun is a run of an [Insertion].
type NewRun struct {
	Run   string
	Input []byte
}

// Key returns the key of a run.
func (n *Insertion) Key(r NewRun) Key { return Key{Kind: KindRun, Space: n.Space, Run: r.Run} }

// Record returns the record of a run that is created at a time, without a version. It
// defines what the fields of an insertion mean.
func (n *Insertion) Record(run NewRun, now time.Time) Record {
	r := Record{
		Key: n.Key(run), Status: StatusOpen, Handler: n.Handler, Priority: n.Priority, Created: now, Due: now,
		Bucket: time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC), Input: run.Input, Body: n.Body,
	}
	if n.Start.After(now) {
		r.Due = n.Start
	}
	if n.Timeout > 0 {
		r.Deadline = r.Due.Add(n.Timeout)
	}
	return r
}

// An Updater has the method Update of a [Store].
type Updater interface {
	Update(ctx context.Context, sel Select, decide func(Tx) (Writes, error)) error
}

// InsertByUpdate does what Insert of an [Inserter] does, with an update.
func InsertByUpdate(ctx context.Context, u Updater, n Insertion) (inserted []bool, err error) {
	keys := make([]Key, len(n.Runs))
	for i, run := range n.Runs {
		keys[i] = n.Key(run)
	}
	inserted = make([]bool, len(n.Runs))
	err = u.Update(ctx, Select{Keys: keys}, func(tx Tx) (w Writes, err error) {
		for i, r := range tx.Records {
			if inserted[i] = r.Version == 0; inserted[i] {
				w.Put = append(w.Put, n.Record(n.Runs[i], tx.Now))
			}
		}
		return w, nil
	})
	return inserted, err
}
