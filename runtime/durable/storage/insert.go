package storage

import (
	"context"
	"time"
)

// An Inserter is a store that can create runs in one statement, without locking and
// reading them first.
type Inserter interface {
	// Insert creates the runs that do not exist yet, and reports which ones it has
	// created. If they are due, everyone who waits for due runs is notified once. An
	// error that matches [ErrUnknown] means that runs may have been created. After any
	// other error, no run was created. A store may also create no runs and return no
	// error. In that case, the caller needs an update to find out why.
	Insert(ctx context.Context, n Insertion) (inserted []bool, err error)
}

// An Insertion describes new runs that differ only in their ids and inputs.
type Insertion struct {
	Space, Handler string
	Priority       int16
	Start          time.Time     // when the runs are due; zero or a time in the past means at once
	Timeout        time.Duration // sets the Deadline, counted from Start or the creation; zero means none
	Body           []byte        // body of the runs, or nil
	Runs           []NewRun      // the new runs, at least one, with distinct ids
}

// A NewRun is a run of an [Insertion].
type NewRun struct {
	Run   string
	Input []byte
}

// Key returns the key of a run.
func (n *Insertion) Key(r NewRun) Key { return Key{Kind: KindRun, Space: n.Space, Run: r.Run} }

// Record returns the record, without a version, of a run that is created at the time now.
// It defines what the fields of an insertion mean.
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

// An Updater has the Update method of a [Store].
type Updater interface {
	Update(ctx context.Context, sel Select, decide func(Tx) (Writes, error)) error
}

// InsertByUpdate does the same as the Insert method of an [Inserter], but with an update.
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
