package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A Kind is what a record describes. Records are locked in the order of their
// kinds.
type Kind uint8

// The kinds of records, in the order in which they are locked.
const (
	KindOwner       Kind = iota + 1 // an engine and its lease
	KindRun                         // a run: who owns it, and its status
	KindGroup                       // what a run fans out to
	KindStep                        // a step of a run
	KindBudget                      // a budget that engines share
	KindBreaker                     // a breaker that engines share
	KindIncarnation                 // of the store, as it was accepted
	KindSchedule                    // what workers agree on about the periods of a handler
	KindLimit                       // of the executions of a handler, by all workers
	KindRate                        // a rate that processes share
	KindOverrides                   // what operators override in an incident
)

var kinds = [...]string{
	"", "owner", "run", "group", "step", "budget", "breaker", "incarnation", "schedule", "limit", "rate", "overrides",
}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kinds) && k > 0 {
		return kinds[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// A Key identifies a record.
type Key struct {
	Kind  Kind
	Space string // the namespace of the engine
	Run   string // the run that a record belongs to, or ""
	ID    string // the rest: of a step, an owner, a budget, a breaker or a limit
}

// Compare orders keys as stores lock them: by Kind, Space, Run and ID, the
// strings bytewise.
func (k Key) Compare(other Key) int {
	return cmp.Or(
		cmp.Compare(k.Kind, other.Kind), strings.Compare(k.Space, other.Space),
		strings.Compare(k.Run, other.Run), strings.Compare(k.ID, other.ID),
	)
}

// String returns the key for messages.
func (k Key) String() string {
	text := k.Kind.String()
	for _, part := range [...]string{k.Run, k.ID} {
		if part != "" {
			text += " " + part
		}
	}
	return text
}

// A Record is a row of a store. A store interprets all fields but Input, Result and
// Body, which belong to package durable. Stores keep times to the microsecond or better, and
// return them in UTC.
type Record struct {
	Key     Key
	Version uint64 // 1 for the first; 0: the record does not exist
	Status  Status // of a run or a step, an index for queries; 0 for other records

	Owner   string    // of a run: the id of the engine that executes it, or ""
	Fence   uint64    // of a run: raised by each claim; of a step: that of its last write
	Handler string    // of a run: the function that executes it, or ""
	Due     time.Time // of a run: its next start, wake-up, or deletion; zero: none
	// Priority orders the runs of a handler that are due: higher ones are claimed first.
	Priority int16
	// Created, Claimed, Ended and Deadline are the times of a run: of its creation, of its
	// latest claim, of its end, and when its timeout ends it. Zero for other records, and
	// for what has not taken place.
	Created, Claimed, Ended, Deadline time.Time

	// Attention marks records that somebody, or a resumed run, has to look at:
	// steps that are unfinished, in doubt or dead letters.
	Attention bool
	// Awaited says of a run that somebody waits for its end: see [Tx.Notifies].
	Awaited bool
	// Label is a text by which queries find some records among millions, or "": see
	// [Query]. Dead letters have one for the class of their error, also those that
	// were requeued and have not succeeded since.
	Label string
	// Bucket is the month in which the root run was created. All records of a
	// run have the same.
	Bucket time.Time

	// Input and Result are the values of a run, as they were encoded; nil for other
	// records, and if there are none. Input is not changed after the creation, but may be
	// removed.
	Input, Result []byte
	Body          []byte // JSON; nil for a run if the other fields say everything
}

// An Entry is a part of the history of a step, or a result that is too large
// for its record, or what an operator did to a run, a budget or a breaker.
// Entries are never changed. They are deleted with the record they belong to. An
// entry that exists is not added again, so that an update may be repeated.
type Entry struct {
	Step    Key       // or that of another record
	Attempt int       // its number, from 1; 0 for other records
	Part    int       // distinguishes the entries of one attempt
	At      time.Time // when it was written, by the clock of the store
	Bucket  time.Time // that of the record of the step
	Body    []byte    // JSON
	Result  []byte    // or nil
}

// Compare orders the entries of a record: by Attempt and Part.
func (e Entry) Compare(other Entry) int {
	return cmp.Or(cmp.Compare(e.Attempt, other.Attempt), cmp.Compare(e.Part, other.Part))
}

// A Query selects records. A zero field selects all, except Kind and Space,
// which are always compared.
type Query struct {
	Kind      Kind
	Space     string
	Run       string
	Runs      []string // any of these
	FromRun   string   // whose Run is this, or follows it bytewise
	BeforeRun string   // whose Run precedes this
	Owner     string
	Handlers  []string  // any of these
	Status    []Status  // any of these
	DueBy     time.Time // due at this time or earlier
	Attention bool      // only records that have it
	Label     string    // whose Label is this: an index finds them in the order of their keys
	FromID    string    // whose ID is this, or follows it bytewise
	BeforeID  string    // whose ID precedes this

	CreatedFrom   time.Time // created at this time or later
	CreatedBefore time.Time // created earlier than this

	// Order is the order of the results of [Store.List]. [OrderNewest] and
	// [OrderOldest] select only records with a time of creation: runs. An index has
	// the runs of each handler and Status: a query that names every Status reads no more
	// than a page of each. [OrderDue] selects only records that are due at
	// some time: of runs that have ended, a query reads no more than its page.
	Order Order
	From  Cursor // where the page before ended, or ""
	Limit int    // of the page: 1 to 1000; 0 means 1000
	// Brief asks [Store.List] for nothing but the Key, Version, Status and Body of the
	// records: a store may leave the other fields out, which takes less time. Updates
	// ignore it.
	Brief bool
}

// Prefix returns the query for those of q whose Run begins with prefix.
func (q Query) Prefix(prefix string) Query {
	q.FromRun, q.BeforeRun = prefix, ""
	for prefix != "" && q.BeforeRun == "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		switch prefix = prefix[:len(prefix)-size]; last {
		case utf8.MaxRune: // nothing has this prefix and follows it
		case 0xD7FF: // surrogates are no text
			q.BeforeRun = prefix + "\uE000"
		default:
			q.BeforeRun = prefix + string(last+1)
		}
	}
	return q
}

// Selects reports whether q selects r: whether r is in the results of [Store.List]
// without From and Limit. It defines what the fields of a query mean.
func (q *Query) Selects(r Record) bool {
	return r.Key.Kind == q.Kind && r.Key.Space == q.Space && (q.Run == "" || r.Key.Run == q.Run) &&
		(len(q.Runs) == 0 || slices.Contains(q.Runs, r.Key.Run)) &&
		r.Key.Run >= q.FromRun && (q.BeforeRun == "" || r.Key.Run < q.BeforeRun) &&
		r.Key.ID >= q.FromID && (q.BeforeID == "" || r.Key.ID < q.BeforeID) &&
		(q.Owner == "" || r.Owner == q.Owner) &&
		(len(q.Handlers) == 0 || slices.Contains(q.Handlers, r.Handler)) &&
		(len(q.Status) == 0 || slices.Contains(q.Status, r.Status)) &&
		(q.DueBy.IsZero() && q.Order != OrderDue || !r.Due.IsZero()) && (q.DueBy.IsZero() || !r.Due.After(q.DueBy)) &&
		(!q.Attention || r.Attention) && (q.Label == "" || r.Label == q.Label) && q.selectsCreated(r.Created)
}

// selectsCreated reports whether q selects records that were created at t, which is
// zero for those without such a time.
func (q *Query) selectsCreated(t time.Time) bool {
	if t.IsZero() {
		return !q.Order.ByCreation() && q.CreatedFrom.IsZero() && q.CreatedBefore.IsZero()
	}
	return !t.Before(q.CreatedFrom) && (q.CreatedBefore.IsZero() || t.Before(q.CreatedBefore))
}

// MaxPage is the greatest number of records or entries of a page.
const MaxPage = 1000

// A Select names the records that an update works on: at least one.
type Select struct {
	// Keys are records whose locks are waited for. They need not be sorted or
	// distinct.
	Keys []Key
	// Queries find further records while the locks of Keys are held, each at most
	// a page. A record that another update has locked, or that was selected
	// before, is left out. A query with DueBy selects the records with the
	// highest Priority, and among equals those that have been due longest. Order is
	// not looked at, and From is a position in OrderKey.
	Queries []Query
}

// A Tx is what the decision of an update sees.
type Tx struct {
	Now time.Time // read when every lock is held; UTC
	// Records are those of Select.Keys in their order, and then those of each
	// query: by descending Priority and then by Due if it has DueBy, and among equals
	// in the order of their keys.
	// Version 0: the record does not exist, and only Key is set.
	Records []Record

	find func(Key) int // the index of a record, or -1: see Decide
}

// Record returns the record with a key that was selected. For another key it
// panics, and [Tx.Decide] returns an error: the decision has a defect.
func (tx Tx) Record(key Key) Record {
	r, ok := tx.Lookup(key)
	if !ok {
		panic(fmt.Sprintf("record %.100q was not selected", key))
	}
	return r
}

// Lookup returns the record with a key, and whether it was selected.
func (tx Tx) Lookup(key Key) (Record, bool) {
	if tx.find == nil {
		tx.find = finder(tx.Records)
	}
	if i := tx.find(key); i >= 0 {
		return tx.Records[i], true
	}
	return Record{}, false
}

// Writes is what an update changes: Clear, Delete, Put and Add are applied in this
// order. Put replaces whole records; the store raises their versions.
type Writes struct {
	Put    []Record
	Add    []Entry
	Delete []Key // of a step: its entries, too
	// Clear are runs whose records of [ClearedKinds] are all deleted with their entries.
	// The runs are selected. Those records need not be, since whoever writes one selects
	// its run, and the update writes none of them.
	Clear []Key
}

// ClearedKinds are the kinds of the records that Clear of [Writes] deletes.
var ClearedKinds = []Kind{KindGroup, KindStep, KindBudget}

// A Store keeps records and orders their updates. It decides nothing. All
// methods may be called concurrently.
type Store interface {
	// Update locks the records, calls decide, and commits what it returns, or
	// nothing. After a conflict, it calls decide again with fresh records: decide
	// must be pure, and must not write a record that was not selected. It is
	// called through [Tx.Decide]. An error of decide is returned unchanged. An
	// error that matches [ErrUnknown] means that the commit may have happened. ctx
	// limits the wait before the commit.
	Update(ctx context.Context, sel Select, decide func(Tx) (Writes, error)) error
	// Get returns the records of keys, in their order.
	Get(ctx context.Context, keys []Key) ([]Record, error)
	// List returns a page of records in the order of the query.
	List(ctx context.Context, q Query) ([]Record, Cursor, error)
	// History returns a page of the entries of a step, by Attempt and Part.
	History(ctx context.Context, step Key, from Cursor) ([]Entry, Cursor, error)
	// Entries returns the entries that follow one, which need not exist, across
	// records of its Kind and Space: by Step, Attempt and Part. An Attempt of -1 precedes
	// the entries of its record. At most limit are returned, and at most MaxPage; fewer
	// are the last ones. Their Result is nil. Entries without a record may be missing.
	Entries(ctx context.Context, after Entry, limit int) ([]Entry, error)
	// Guarantee returns what the store survives and who may share it.
	Guarantee() Guarantee
	// Close releases the store. Records stay.
	Close() error
}

// Liveness is what a store has that knows whether the process of an owner is alive
// without waiting for the end of its lease, as one on a single machine does.
type Liveness interface {
	// Hold marks an owner as alive until the function it returns is called, or
	// the process dies.
	Hold(owner string) (release func() error, err error)
	// Dead reports whether the process that held owner has died or released it.
	// It returns false if that is not known.
	Dead(owner string) bool
}

// A Notifier is a store that reports that workers, or callers of durable.Await, have
// something to do, so that they do not wait until they ask the store again. They
// ask it from time to time nevertheless: notifications may be lost or merged, and
// may come for nothing.
type Notifier interface {
	// Notifications returns a channel that receives a value soon after an update
	// was committed, by whomever, for which [Tx.Notifies] returned the namespace,
	// and when such an update may have been missed, as after a connection was lost
	// and restored. A value is not sent while another one waits to be received. The
	// channel is closed when ctx has ended, the store was closed, or it cannot
	// receive notifications any more: then the caller may call Notifications again.
	// An error that matches [ErrStore] means that the store does not answer at
	// present.
	Notifications(ctx context.Context, space string) (<-chan struct{}, error)
}

// A Checker is a store that can check what it keeps apart from the meaning of its
// records, such as the file of its database.
type Checker interface {
	// Check returns what is wrong, in a sentence each. It may take minutes and does
	// not stop updates.
	Check(ctx context.Context) ([]string, error)
}

// A Sharing is who may use a store at the same time.
type Sharing uint8

// The kinds of sharing.
const (
	SharedByProcess Sharing = iota // one process
	SharedByHost                   // the processes of one machine
	SharedByCluster                // any machine
)

// A Guarantee is what a store promises about acknowledged updates.
type Guarantee struct {
	SurvivesProcess bool // the end of the process
	SurvivesPower   bool // a power failure
	SurvivesNode    bool // the loss of the machine
	Shared          Sharing
	// Incarnation changes when the store may have lost acknowledged updates, as
	// after a failover. It is empty for a store that cannot know.
	Incarnation string
}

// Errors of stores.
var (
	// ErrUnknown means that an update may have been committed: its reply was
	// lost.
	ErrUnknown = errors.New("the store did not answer: the update may have been committed")
	// ErrFormat means that a store was written by a newer version of this module,
	// or is not one of its stores. Nothing is read or written.
	ErrFormat = errors.New("unknown format of the store")
	// ErrStore matches every other error of a store: nothing was committed.
	ErrStore = errors.New("the store failed")
)

// A Status is the state of a run or a step.
type Status uint8

// The states. A run has no StatusWaiting, StatusExecuting, StatusInDoubt,
// StatusDead, StatusAbandoned or StatusDiscarded.
const (
	StatusOpen      Status = iota + 1 // a run that may be continued; a step that is to be executed
	StatusWaiting                     // for the next attempt
	StatusExecuting                   // an attempt has started
	StatusInDoubt                     // an attempt may have taken effect: see admin.Client.Resolve
	StatusParked                      // a run that waits without a process
	StatusPaused                      // a run until somebody resumes it, or resolves its steps; such a step
	StatusSucceeded                   // finished, with a result
	StatusFailed                      // finished, with an error; a failed run may be continued
	StatusDead                        // a dead letter: an exhausted step that is kept for admin.Client.Requeue
	StatusCanceled                    // by admin.Client.Cancel
	StatusTimedOut                    // a run whose Timeout has passed
	StatusAbandoned                   // an unfinished step of a run that has succeeded without it
	StatusExpired                     // a run whose results were deleted: see durable.Retention
	StatusDiscarded                   // a dead letter that was given up: see admin.Client.Discard
)

var statuses = [...]string{
	"", "open", "waiting", "executing", "in doubt", "parked", "paused", "succeeded", "failed", "dead letter",
	"canceled", "timed out", "abandoned", "expired", "discarded",
}

// String returns the name of the status.
func (s Status) String() string {
	if int(s) < len(statuses) && s > 0 {
		return statuses[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// EndsRun reports whether a run with this status is not executed any more, unless
// somebody reopens it.
func (s Status) EndsRun() bool {
	switch s {
	case StatusSucceeded, StatusFailed, StatusCanceled, StatusTimedOut, StatusExpired:
		return true
	}
	return false
}

// MarshalText implements [encoding.TextMarshaler]. It returns an error for 0, which
// records have that are neither runs nor steps.
func (s Status) MarshalText() ([]byte, error) {
	if int(s) >= len(statuses) || s == 0 {
		return nil, fmt.Errorf("%v is not a status", s)
	}
	return []byte(statuses[s]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts the names that
// [Status.String] returns.
func (s *Status) UnmarshalText(text []byte) error {
	for i, name := range statuses {
		if i > 0 && string(text) == name {
			*s = Status(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a status", text)
}
