package shared

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/override"
)

// A Store keeps the records of breakers, ratio budgets and rates that several processes
// share. Every [storage.Store] implements it. contrib/redis implements only this
// interface.
type Store interface {
	// Update is the same as in [storage.Store], for keys of [storage.KindBudget],
	// [storage.KindBreaker], [storage.KindRate] and [storage.KindOverrides].
	Update(ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error)) error
	// Get is the same as in [storage.Store], for the same keys.
	Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error)
	// Guarantee describes what the store survives and who may share it.
	Guarantee() storage.Guarantee
}

// A Set contains the breakers, budgets and rates that [Link.Connect] connects. The Stored
// method of generated code returns it.
type Set struct {
	Breakers []*breaker.Breaker
	Budgets  []*Budget
	Rates    []*capacity.Rate // created with capacity.NewSharedRate
}

// A Link describes the store through which processes share breakers and budgets. It is
// plain data.
type Link struct {
	Store Store
	// Namespace is the namespace of the engines whose durable steps use the same breakers
	// and budgets. The default is the empty namespace.
	Namespace string
	// Forgetful accepts a store, such as Redis, that several processes share but that may
	// lose acknowledged updates when it stops. After such a loss, budgets are full and
	// breakers are closed.
	Forgetful bool
	// Overrides, if not nil, follows the overrides that operators store with retryctl
	// override. Each override takes effect within about a second. If the store fails,
	// overrides remain active until they end.
	Overrides *override.Set
	// OnEvent, if not nil, is called for every [events.EventStoreError], whose Name is
	// the name of the breaker or the budget. It may be called by multiple goroutines, and
	// must not use the link's breakers or budgets.
	OnEvent func(context.Context, events.Event)
}

// ErrForgetful means that a store may lose acknowledged updates and that the [Link] does
// not accept this.
var ErrForgetful = errors.New("the store may forget breakers and budgets when it ends: set Forgetful to accept that")

const (
	storeTimeout = time.Second     // for one update of a breaker or a budget
	watchEvery   = time.Second     // between two looks at the records
	reportEvery  = 5 * time.Second // between two reports about the part of a budget
)

// Connect shares breakers and budgets with all processes that use the same store and the
// same names, until the connection is closed. Processes that use the same name should
// have the same policy, because each process applies its own policy.
//
// Connect reads the store. If this fails, it returns the error and connects nothing. ctx
// limits only this read. Afterwards, the link reads the records once a second. While the
// store is failing, a budget refuses retries once its share is used up or 30s have
// passed, a breaker decides for its own process, and a rate refuses all attempts.
func (l Link) Connect(ctx context.Context, sets ...Set) (*Connection, error) {
	if g := l.Store.Guarantee(); g.Shared != storage.SharedByProcess && !g.SurvivesProcess && !l.Forgetful {
		return nil, ErrForgetful
	}
	c := &Connection{
		link:   link{store: l.Store, space: l.Namespace, id: record.Token(16), observe: l.OnEvent},
		wake:   make(chan struct{}, 1),
		closed: make(chan struct{}), done: make(chan struct{}),
		overrides: l.Overrides,
	}
	for _, set := range sets {
		c.budgets = append(c.budgets, set.Budgets...)
		c.rates = append(c.rates, set.Rates...)
		for _, b := range set.Breakers {
			p := b.Policy()
			c.breakers = append(c.breakers, &sharedBreaker{c: c, b: b, policy: p, key: c.link.key(storage.KindBreaker, p.Name)})
		}
	}
	if err := c.start(ctx); err != nil {
		return nil, fmt.Errorf("connecting breakers and budgets: %w", err)
	}
	go c.watch()
	return c, nil
}

// link is what a connection uses to reach its store.
type link struct {
	store   Store
	space   string
	id      string // of the process in leases
	observe func(context.Context, events.Event)
}

func (l *link) key(kind storage.Kind, name string) storage.Key {
	return storage.Key{Kind: kind, Space: l.space, ID: name}
}

// event reports a failure of the store.
func (l *link) event(ctx context.Context, name string, err error) {
	if l.observe != nil {
		l.observe(ctx, events.Event{Kind: events.EventStoreError, Name: name, Err: err})
	}
}

// A Connection shares breakers and budgets with other processes: see
// [Link.Connect].
type Connection struct {
	link     link
	budgets  []*Budget
	breakers []*sharedBreaker
	rates    []*capacity.Rate

	overrides *override.Set // or nil

	wake   chan struct{} // a breaker has opened
	once   sync.Once
	closed chan struct{}
	done   chan struct{}
}

// start reads the records and connects everything, or nothing.
func (c *Connection) start(ctx context.Context) error {
	records, err := c.link.store.Get(ctx, c.keys())
	if err != nil {
		return err
	}
	for _, r := range records {
		switch r.Key.Kind {
		case storage.KindBreaker:
			_, err = record.Decode[breaker.Snapshot](r)
		case storage.KindBudget:
			_, err = record.Decode[record.RatioBudget](r)
		case storage.KindOverrides:
			_, err = record.Decode[record.Overrides](r)
		}
		if err != nil {
			return err
		}
	}
	for i, b := range c.budgets {
		if err := b.connect(&c.link); err != nil {
			for _, connected := range c.budgets[:i] {
				connected.disconnect()
			}
			return err
		}
	}
	for _, b := range c.breakers {
		b.b.Share(b)
	}
	for _, r := range c.rates {
		p := r.Policy()
		r.Share(&sharedRate{link: &c.link, policy: p, key: c.link.key(storage.KindRate, p.Name)})
	}
	c.look(ctx, time.Now(), true)
	return nil
}

// keys returns the keys of the breakers, of the budgets, and of the overrides.
func (c *Connection) keys() (keys []storage.Key) {
	for _, b := range c.breakers {
		keys = append(keys, b.key)
	}
	for _, b := range c.budgets {
		keys = append(keys, c.link.key(storage.KindBudget, b.policy.Name))
	}
	if c.overrides != nil {
		keys = append(keys, c.link.key(storage.KindOverrides, ""))
	}
	return keys
}

// watch looks at the records until the connection is closed.
func (c *Connection) watch() {
	defer close(c.done)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	reported := time.Now()
	for {
		select {
		case <-c.closed:
			return
		case <-c.wake:
			c.push()
		case now := <-ticker.C:
			due := now.Sub(reported) >= reportEvery
			if due {
				reported = now
			}
			c.look(context.Background(), now, due)
		}
	}
}

// push records in the store which breakers have opened.
func (c *Connection) push() {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	for _, b := range c.breakers {
		b.sync(ctx, b.seen)
	}
}

// look reads the records, and takes over what is new. If due, the parts of the
// budgets are reported.
func (c *Connection) look(ctx context.Context, now time.Time, due bool) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	records, err := c.link.store.Get(ctx, c.keys())
	if err != nil {
		c.link.event(ctx, "", err)
		return
	}
	for i, b := range c.breakers {
		b.sync(ctx, records[i].Version)
	}
	for i, b := range c.budgets {
		if version := records[len(c.breakers)+i].Version; b.stale(version, due) {
			b.asking.Lock()
			b.exchange(ctx, &c.link, report)
			b.asking.Unlock()
		}
	}
	if c.overrides != nil {
		c.follow(ctx, records[len(records)-1])
	}
}

// follow takes over the overrides in a record. One that cannot be read changes nothing.
func (c *Connection) follow(ctx context.Context, r storage.Record) {
	b, err := record.Decode[record.Overrides](r)
	if err != nil {
		c.link.event(ctx, "", err)
		return
	}
	c.overrides.Follow(b.List)
}

// Close returns the process's shares of the budgets to the store and disconnects
// everything. Afterwards, the breakers belong to this process alone, the budgets refuse
// all retries, the rates refuse all attempts, and overrides from the store no longer
// apply. ctx limits the time that Close takes. If the store does not take a share back,
// Close returns the store's error, and the lease of the share expires on its own.
func (c *Connection) Close(ctx context.Context) error {
	var errs []error
	c.once.Do(func() {
		close(c.closed)
		<-c.done
		c.push()
		for _, b := range c.breakers {
			b.b.Share(nil)
		}
		for _, r := range c.rates {
			r.Share(nil)
		}
		for _, b := range c.budgets {
			b.asking.Lock()
			b.exchange(ctx, &c.link, leave)
			errs = append(errs, b.disconnect())
			b.asking.Unlock()
		}
		if c.overrides != nil {
			c.overrides.Follow(nil)
		}
	})
	return errors.Join(errs...)
}

// A sharedBreaker is the copy of a breaker in a store. It is the remote of the
// breaker of this process.
type sharedBreaker struct {
	c      *Connection
	b      *breaker.Breaker
	policy breaker.Policy
	key    storage.Key
	seen   uint64 // version of the record; of the goroutine that watches
}

// Changed implements [breaker.Remote].
func (b *sharedBreaker) Changed() {
	select {
	case b.c.wake <- struct{}{}:
	default: // it is awake
	}
}

// Admit implements [breaker.Remote].
func (b *sharedBreaker) Admit() (s breaker.Snapshot, p breaker.Permit, ok bool, err error) {
	s, _, err = b.update(context.Background(), func(s *breaker.Snapshot, now time.Time) {
		p, ok = b.policy.Admit(s, now)
	})
	return s, p, ok, err
}

// Record implements [breaker.Remote].
func (b *sharedBreaker) Record(p breaker.Permit, sample breaker.Sample) (s breaker.Snapshot, err error) {
	s, _, err = b.update(context.Background(), func(s *breaker.Snapshot, now time.Time) {
		b.policy.Record(s, p, sample, now)
	})
	return s, err
}

// sync pushes a state that this process has changed, and takes over that of the
// record if its version is new.
func (b *sharedBreaker) sync(ctx context.Context, version uint64) {
	_ = b.b.Sync(func(local breaker.Snapshot, changed bool) (breaker.Snapshot, bool, error) {
		if !changed && version == b.seen {
			return local, false, nil
		}
		s, seen, err := b.update(ctx, func(s *breaker.Snapshot, now time.Time) {
			if changed {
				b.policy.Set(s, local, now)
			}
		})
		if err == nil {
			b.seen = seen
		}
		return s, true, err
	})
}

// update changes the record of the breaker. It returns the state by the clock of
// this process, and the version of the record.
func (b *sharedBreaker) update(
	ctx context.Context, change func(*breaker.Snapshot, time.Time),
) (s breaker.Snapshot, version uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	var now time.Time
	sel := storage.Select{Keys: []storage.Key{b.key}}
	err = b.c.link.store.Update(ctx, sel, func(tx storage.Tx) (w storage.Writes, err error) {
		r := tx.Record(b.key)
		if s, err = record.Decode[breaker.Snapshot](r); err != nil {
			return w, err
		}
		now = tx.Now
		change(&s, now)
		version = r.Version
		if err = record.PutBreaker(&w, r, &s, now); len(w.Put) > 0 {
			version++
		}
		return w, err
	})
	if err != nil {
		b.c.link.event(ctx, "breaker "+b.policy.Name, err)
		return s, version, err
	}
	if !s.OpenUntil.IsZero() {
		s.OpenUntil = time.Now().Add(s.OpenUntil.Sub(now))
	}
	return s, version, nil
}
