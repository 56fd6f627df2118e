package console

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// The limit of wrong tokens from an address.
const (
	loginBurst  = 10              // at once
	loginPeriod = 6 * time.Second // for each one after that
)

// A throttle limits what comes from each address, in constant memory: addresses that
// share a place share its limit. Which ones do differs from process to process.
type throttle struct {
	seed maphash.Seed

	mu     sync.Mutex
	places [1024]time.Time // when what has come so far is forgotten
}

func newThrottle() *throttle { return &throttle{seed: maphash.MakeSeed()} }

// admit counts what comes from the address of a peer, or returns how long it has to wait.
func (t *throttle) admit(peer string, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	place := &t.places[maphash.String(t.seed, addressOf(peer))%uint64(len(t.places))]
	if place.Before(now) {
		*place = now
	}
	if wait = place.Sub(now) - (loginBurst-1)*loginPeriod; wait > 0 {
		return wait
	}
	*place = place.Add(loginPeriod)
	return 0
}

// addressOf returns what one user has of the addresses: one of IPv4, or a /64 of IPv6.
func addressOf(peer string) string {
	at, err := netip.ParseAddrPort(peer)
	if err != nil {
		return peer
	}
	address := at.Addr().Unmap()
	if address.Is6() {
		prefix, _ := address.WithZone("").Prefix(64) // which every address of IPv6 has
		return prefix.String()
	}
	return address.String()
}
