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

// A Kind is the kind of object that a record describes. Records are locked in the order
// of their kinds.
type Kind uint8

// The kinds of records, in the order in which they are locked.
const (
	KindOwner       Kind = iota + 1 // an engine and its lease
	KindRun                         // a run: its owner and its status
	KindGroup                       // a group, which contains the units that a run fans out to
	KindStep                        // a step of a run
	KindBudget                      // a budget that engines share
	KindBreaker                     // a breaker that engines share
	KindIncarnation                 // the incarnation of the store, as it was accepted
	KindSchedule                    // the state that workers share about the periods of a handler
	KindLimit                       // a limit on the executions of a handler by all workers
	KindRate                        // a rate that several processes share
	KindOverrides                   // the settings that operators override in an incident
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
	Run   string // the run to which a record belongs, or ""
	ID    string // id of a step, an owner, a budget, a breaker or a limit within the run or the namespace
}

// Compare orders keys as stores lock them: by Kind, Space, Run and ID. Strings are
// compared bytewise.
func (k Key) Compare(other Key) int {
	return cmp.Or(
		cmp.Compare(k.Kind, other.Kind), strings.Compare(k.Space, other.Space),
		strings.Compare(k.Run, other.Run), strings.Compare(k.ID, other.ID),
	)
}

// String returns the key as text for messages.
func (k Key) String() string {
	text := k.Kind.String()
	for _, part := range [...]string{k.Run, k.ID} {
		if part != "" {
			text += " " + part
		}
	}
	return text
}

// A Record is a row of a store. A store interprets all fields except Input, Result and
// Body, which belong to package durable. Stores keep times with a precision of at least a
// microsecond, and return them in UTC.
type Record struct {
	Key     Key
	Version uint64 // 1 for the first version; 0 means that the record does not exist
	Status  Status // status of a run or a step, indexed for queries; 0 for other records

	Owner   string    // for a run: id of the engine that is executing it, or ""
	Fence   uint64    // for a run: incremented by each claim; for a step: the run's fence at the last write
	Handler string    // for a run: name of the function that executes it, or ""
	Due     time.Time // for a run: when it is started, continued or deleted next; zero means never
	// Priority orders the due runs of a handler: those with a higher priority are claimed
	// first.
	Priority int16
	// Created, Claimed and Ended are the times of a run's creation, latest claim and end.
	// Deadline is when its timeout ends it. They are zero for other records and for
	// events that have not happened.
	Created, Claimed, Ended, Deadline time.Time

	// Attention marks records that need attention from a person or a resumed run: paused
	// runs, and steps that are unfinished, in doubt or dead letters.
	Attention bool
	// Awaited reports that someone is waiting for the end of the run: see [Tx.Notifies].
	Awaited bool
	// Label is a string by which queries can find a few records among millions, or "":
	// see [Query]. Dead letters have a label for the class of their error, including
	// those that were requeued and have not succeeded since.
	Label string
	// Bucket is the month in which the root run was created. All records of a run have
	// the same Bucket.
	Bucket time.Time

	// Input and Result are the encoded values of a run. They are nil for other records
	// and if there is no value. Input is not changed after the creation, but may be
	// removed.
	Input, Result []byte
	Body          []byte // JSON; nil for a run that the other fields describe completely
}

// An Entry is a part of a step's history, a result that is too large for its record, or a
// change that an operator made to a run, a budget or a breaker. Entries are never
// changed. They are deleted together with the record to which they belong. An existing
// entry is not added again, so an update may be repeated.
type Entry struct {
	Step    Key       // key of the step, or of another record
	Attempt int       // number of the attempt, starting at 1; 0 for other records
	Part    int       // distinguishes the entries of an attempt
	At      time.Time // when the entry was written, by the store's clock
	Bucket  time.Time // the Bucket of the step's record
	Body    []byte    // encoded as JSON
	Result  []byte    // encoded result, or nil
}

// Compare orders the entries of a record by Attempt and Part.
func (e Entry) Compare(other Entry) int {
	return cmp.Or(cmp.Compare(e.Attempt, other.Attempt), cmp.Compare(e.Part, other.Part))
}

// A Query selects records. A zero field selects everything, except Kind and Space, which
// are always compared.
type Query struct {
	Kind      Kind
	Space     string
	Run       string
	Runs      []string // any of these
	FromRun   string   // the Run is at least this, compared bytewise
	BeforeRun string   // the Run is less than this, compared bytewise
	Owner     string
	Handlers  []string  // any of these
	Status    []Status  // any of these
	DueBy     time.Time // due at this time or earlier
	Attention bool      // only records whose Attention is set
	Label     string    // only records with this Label; an index finds them in the order of their keys
	FromID    string    // the ID is at least this, compared bytewise
	BeforeID  string    // the ID is less than this, compared bytewise

	CreatedFrom   time.Time // created at this time or later
	CreatedBefore time.Time // created before this time

	// Order is the order of the results of [Store.List]. [OrderNewest] and [OrderOldest]
	// select only records with a time of creation, which are runs. The runs are indexed
	// by handler and Status, so a query that names every Status reads no more than a page
	// of each. [OrderDue] selects only records that are due at some time. For runs that
	// have ended, such a query reads no more than its page.
	Order Order
	From  Cursor // the position at which the previous page ended, or ""
	Limit int    // size of the page, from 1 to 1000; 0 means 1000
	// Brief asks [Store.List] only for the Key, Version, Status and Body of the records.
	// A store may omit the other fields, which takes less time. Updates ignore it.
	Brief bool
}

// Prefix returns a query for the records that q selects and whose Run begins with prefix.
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

// Selects reports whether q selects r, that is, whether [Store.List] without From and
// Limit would return r. It defines what the fields of a query mean.
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

// MaxPage is the maximum number of records or entries in a page.
const MaxPage = 1000

// A Select names the records that an update works on. It must contain at least one key or
// query.
type Select struct {
	// Keys name the records whose locks the update waits for. They need not be sorted or
	// distinct.
	Keys []Key
	// Queries select further records while the locks of Keys are held. Each query selects
	// at most a page. Records that another update has locked, or that are already
	// selected, are skipped. A query with DueBy selects the records with the highest
	// Priority and, at equal priority, those that have been due longest. Order is
	// ignored, and From is a position in OrderKey.
	Queries []Query
}

// A Tx contains the data on which an update bases its decision.
type Tx struct {
	Now time.Time // the store's time in UTC, read when all locks are held
	// Records contains the records of Select.Keys in their order, followed by the records
	// of each query. The records of a query with DueBy are ordered by descending
	// Priority, then by Due, then by key. The records of other queries are ordered by
	// key. If Version is 0, the record does not exist and only Key is set.
	Records []Record

	find func(Key) int // the index of a record, or -1: see Decide
}

// Record returns the selected record with the given key. If no such record was selected,
// Record panics and [Tx.Decide] returns an error, because this is a bug in the decision.
func (tx Tx) Record(key Key) Record {
	r, ok := tx.Lookup(key)
	if !ok {
		panic(fmt.Sprintf("record %.100q was not selected", key))
	}
	return r
}

// Lookup returns the record with the given key, and reports whether it was selected.
func (tx Tx) Lookup(key Key) (Record, bool) {
	if tx.find == nil {
		tx.find = finder(tx.Records)
	}
	if i := tx.find(key); i >= 0 {
		return tx.Records[i], true
	}
	return Record{}, false
}

// Writes contains the changes of an update. Clear, Delete, Put and Add are applied in
// this order. Put replaces whole records, and the store increments their versions.
type Writes struct {
	Put    []Record
	Add    []Entry
	Delete []Key // deleting a step also deletes its entries
	// Clear lists runs whose records of [ClearedKinds] are all deleted, together with
	// their entries. The runs must be selected by the update. The records need not be
	// selected, because every update that writes one of them selects its run. The update
	// itself must not write any of them.
	Clear []Key
}

// ClearedKinds are the kinds of records that the Clear field of [Writes] deletes.
var ClearedKinds = []Kind{KindGroup, KindStep, KindBudget}

// A Store keeps records and serializes their updates. It makes no decisions. All methods
// may be called concurrently.
type Store interface {
	// Update locks the records, calls decide through [Tx.Decide], and commits all of the
	// returned writes or none. After a conflict, it calls decide again with fresh
	// records, so decide must be pure. The writes must not contain a record that was not
	// selected. An error from decide is returned unchanged. An error that matches
	// [ErrUnknown] means that the commit may have happened. ctx limits the wait before
	// the commit.
	Update(ctx context.Context, sel Select, decide func(Tx) (Writes, error)) error
	// Get returns the records for keys, in the same order.
	Get(ctx context.Context, keys []Key) ([]Record, error)
	// List returns a page of records in the order of the query.
	List(ctx context.Context, q Query) ([]Record, Cursor, error)
	// History returns a page of the entries of a step, ordered by Attempt and Part.
	History(ctx context.Context, step Key, from Cursor) ([]Entry, Cursor, error)
	// Entries returns the entries that follow the entry after, which need not exist,
	// across all records of its Kind and Space. They are ordered by Step, Attempt and
	// Part. An Attempt of -1 precedes the entries of its record. At most limit entries
	// are returned, and at most MaxPage. If fewer entries are returned, no more follow.
	// The Result of each entry is nil. Entries without a record may be missing.
	Entries(ctx context.Context, after Entry, limit int) ([]Entry, error)
	// Guarantee describes what the store survives and who may share it.
	Guarantee() Guarantee
	// Close releases the store. The records are kept.
	Close() error
}

// Liveness is implemented by a store that can find out whether an owner's process is
// alive without waiting for the end of its lease, such as a store on a single machine.
type Liveness interface {
	// Hold marks an owner as alive until the returned function is called or the process
	// dies.
	Hold(owner string) (release func() error, err error)
	// Dead reports whether the process that held owner has died or released it. It
	// returns false if this is unknown.
	Dead(owner string) bool
}

// A Notifier is a store that notifies workers and callers of durable.Await as soon as
// they have something to do, so that they need not wait for their next poll. They
// continue to poll, because notifications may be lost, merged or superfluous.
type Notifier interface {
	// Notifications returns a channel. It receives a value soon after any process has
	// committed an update for which [Tx.Notifies] returned the namespace. It also
	// receives a value when such an update may have been missed, for example when a lost
	// connection was restored. No value is sent while another one is waiting to be
	// received. The channel is closed when ctx has ended, the store was closed, or the
	// store can no longer receive notifications. After that, the caller may call
	// Notifications again. An error that matches [ErrStore] means that the store is
	// currently not responding.
	Notifications(ctx context.Context, space string) (<-chan struct{}, error)
}

// A Checker is a store that can check its own storage, such as its database file,
// independently of what its records mean.
type Checker interface {
	// Check returns one sentence for each problem. It may take minutes and does not block
	// updates.
	Check(ctx context.Context) ([]string, error)
}

// A Sharing describes who may use a store at the same time.
type Sharing uint8

// The kinds of sharing.
const (
	SharedByProcess Sharing = iota // a single process
	SharedByHost                   // the processes of one machine
	SharedByCluster                // processes on any number of machines
)

// A Guarantee is what a store promises about acknowledged updates.
type Guarantee struct {
	SurvivesProcess bool // updates survive the end of the process
	SurvivesPower   bool // updates survive a power failure
	SurvivesNode    bool // updates survive the loss of the machine
	Shared          Sharing
	// Incarnation changes when the store may have lost acknowledged updates, for example
	// after a failover. It is empty if the store cannot detect this.
	Incarnation string
}

// Errors that stores return.
var (
	// ErrUnknown means that the reply to an update was lost, so the update may have been
	// committed.
	ErrUnknown = errors.New("the store did not answer: the update may have been committed")
	// ErrFormat means that a store was written by a newer version of this module or is
	// not a store of this module. Nothing is read or written.
	ErrFormat = errors.New("unknown format of the store")
	// ErrStore matches every other store error. Nothing was committed.
	ErrStore = errors.New("the store failed")
)

// A Status is the state of a run or a step.
type Status uint8

// The states. A run has no StatusWaiting, StatusExecuting, StatusInDoubt,
// StatusDead, StatusAbandoned or StatusDiscarded.
const (
	StatusOpen      Status = iota + 1 // a run that may be continued; a step that is to be executed
	StatusWaiting                     // a step that is waiting for its next attempt
	StatusExecuting                   // a step whose attempt has started
	StatusInDoubt                     // a step whose attempt may have taken effect: see admin.Client.Resolve
	StatusParked                      // a run that is waiting without a process
	StatusPaused                      // a run or a step that waits until someone resumes the run or resolves its steps
	StatusSucceeded                   // finished, with a result
	StatusFailed                      // finished, with an error; a failed run may be continued
	StatusDead                        // a dead letter: an exhausted step that is kept for admin.Client.Requeue
	StatusCanceled                    // canceled with admin.Client.Cancel
	StatusTimedOut                    // a run whose Timeout has passed
	StatusAbandoned                   // an unfinished step of a run that has succeeded without it
	StatusExpired                     // a run whose results were deleted: see durable.Retention
	StatusDiscarded                   // a dead letter that was discarded: see admin.Client.Discard
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

// EndsRun reports whether a run with this status is no longer executed unless someone
// reopens it.
func (s Status) EndsRun() bool {
	switch s {
	case StatusSucceeded, StatusFailed, StatusCanceled, StatusTimedOut, StatusExpired:
		return true
	}
	return false
}

// IsOver reports whether a run with this status is never executed again. Steps of the run
// that were waiting then stay as they are: their next attempts are never made.
func (s Status) IsOver() bool { return s == StatusCanceled || s == StatusTimedOut }

// MarshalText implements [encoding.TextMarshaler]. It returns an error for 0, the status
// of records that are neither runs nor steps.
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
