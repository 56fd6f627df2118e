package namespace

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Namespace gives engines and operators access to the records in one namespace of a
// store. Its methods may be called concurrently.
type Namespace struct {
	Store   storage.Store
	updates *coalescer
	Space   string
	Codec   record.Codec
	Lease   time.Duration                       // the length of an engine's lease
	observe func(context.Context, events.Event) // or nil
	// Hidden reports which parts of values must be hidden from people.
	Hidden []func(path []string) bool

	// Check returns an error for a run that belongs to a different shard. It is nil
	// without shards.
	Check func(run string) error
	// Halt immediately ends the execution of a run in the engine of this process. The run was
	// paused under the given fence or, if h is nil, canceled. Halt is nil if there is no
	// engine.
	Halt func(run string, fence uint64, h *record.Hold)

	mu        sync.Mutex
	listeners []*Listener
}

// New returns the namespace with the empty name in a store.
func New(s storage.Store) *Namespace {
	return &Namespace{Store: s, updates: newCoalescer(s), Codec: record.JSON{}, Lease: defaultLease}
}

// Name sets the name of the namespace.
func (n *Namespace) Name(name string) error {
	if len(name) > record.MaxID || record.Escape(name) != name {
		return fmt.Errorf("%w: namespace %.40q: use letters, digits, dots and hyphens", fault.ErrID, name)
	}
	n.Space = name
	return nil
}

// OnEvent adds a function that is called for every event.
func (n *Namespace) OnEvent(f func(context.Context, events.Event)) {
	first := n.observe
	if first == nil {
		n.observe = f
		return
	}
	n.observe = func(ctx context.Context, ev events.Event) {
		first(ctx, ev)
		f(ctx, ev)
	}
}

// Event reports an event.
func (n *Namespace) Event(ctx context.Context, ev events.Event) {
	if n.observe != nil {
		n.observe(ctx, ev)
	}
}

// Key returns the key of a record in the namespace.
func (n *Namespace) Key(kind storage.Kind, run, id string) storage.Key {
	return storage.Key{Kind: kind, Space: n.Space, Run: run, ID: id}
}

// Update changes the records with the given keys in one transaction. Concurrent updates of
// other goroutines may share this transaction.
func (n *Namespace) Update(
	ctx context.Context, keys []storage.Key, decide func(storage.Tx) (storage.Writes, error),
) error {
	return n.updates.update(ctx, keys, decide)
}

// Each calls f for each record that a query selects.
func (n *Namespace) Each(ctx context.Context, q storage.Query, f func(storage.Record) error) error {
	return n.EachPage(ctx, q, func(page []storage.Record) error {
		for _, r := range page {
			if err := f(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// EachPage calls f for each page of the records that a query selects.
func (n *Namespace) EachPage(ctx context.Context, q storage.Query, f func([]storage.Record) error) error {
	for {
		records, next, err := n.Store.List(ctx, q)
		if err == nil {
			err = f(records)
		}
		if q.From = next; next == "" || err != nil {
			return err
		}
	}
}

// Entries iterates over the entries in the history of a record. An error ends the sequence.
func (n *Namespace) Entries(ctx context.Context, key storage.Key) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		for from := storage.Cursor(""); ; {
			entries, next, err := n.Store.History(ctx, key, from)
			if err != nil {
				yield(storage.Entry{}, err)
				return
			}
			for _, entry := range entries {
				if !yield(entry, nil) {
					return
				}
			}
			if from = next; next == "" {
				return
			}
		}
	}
}

// BlockedSteps returns the ids of the steps of a run that wait for a person.
func (n *Namespace) BlockedSteps(ctx context.Context, run string) (ids []string, err error) {
	q := storage.Query{Kind: storage.KindStep, Space: n.Space, Run: run, Attention: true, Status: []storage.Status{
		storage.StatusInDoubt, storage.StatusPaused,
	}}
	err = n.Each(ctx, q, func(r storage.Record) error {
		ids = append(ids, r.Key.ID)
		return nil
	})
	return ids, err
}

// Large reads a result that is too large for the record of its step.
func (n *Namespace) Large(ctx context.Context, step storage.Key, attempt int) (*record.Payload, error) {
	for from := storage.Cursor(""); ; {
		entries, next, err := n.Store.History(ctx, step, from)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if entry.Attempt == attempt && entry.Part == record.ResultPart {
				return &record.Payload{Bytes: entry.Result}, nil
			}
		}
		if from = next; next == "" {
			return nil, fmt.Errorf("%w: %s: the entry with its result is missing", storage.ErrFormat, step)
		}
	}
}

// LimitKey returns the key of a handler's limit. All versions of the handler share it.
func (n *Namespace) LimitKey(handler string) storage.Key {
	name, _, _ := strings.Cut(handler, "@")
	return n.Key(storage.KindLimit, "", name)
}

// IncarnationKey returns the key of the record with the accepted incarnation of the store.
func (n *Namespace) IncarnationKey() storage.Key { return n.Key(storage.KindIncarnation, "", "") }

// defaultLease is the length of the lease of an engine.
const defaultLease = 30 * time.Second
