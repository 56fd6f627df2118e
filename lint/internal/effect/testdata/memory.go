package p

import "sync/atomic"

type host struct {
	name  string
	ports []int
}

type dialer struct {
	addr   string
	host   host
	next   *dialer
	n      int
	count  atomic.Int64
	byName map[string]int
}

var total int

// Fields, through values, pointers and embedded structures.
func (d *dialer) read() (string, string) { return d.addr, d.host.name }
func (d *dialer) write(s string)         { d.addr = s; d.host.name = s }
func (d *dialer) through() string        { return d.next.addr }
func (d *dialer) element(i int)          { d.host.ports[i] = i }
func (d *dialer) mapped(s string, n int) { d.byName[s] = n }
func (d *dialer) whole(e dialer) *dialer { d.host = e.host; return d }
func (d *dialer) counts()                { d.n++ }
func (d *dialer) countsAndReads() int    { d.n++; return d.n }
func (d *dialer) atomics() int64         { d.count.Add(1); return d.count.Load() }
func global() int                        { total++; return total }
func pointer(s *string)                  { *s += "1" }
func (d *dialer) pointers()              { pointer(&d.host.name) }
func local() int                         { x := host{}; x.name = "a"; return len(x.name) }
func made(s string) *dialer              { d := &dialer{}; d.addr = s; return d }
func shift(s []string)                   { copy(s, s[1:]) }
func shiftsField(d *dialer)              { shiftInts(d.host.ports) }
func shiftInts(s []int)                  { s[0] = s[1] }
func deleted(d *dialer)                  { delete(d.byName, d.addr) }

// Effects of callees, mapped to the arguments.
func calls(a, b *dialer)   { a.write("x"); b.read() }
func swapped(a, b *dialer) { calls(b, a) }

// Recursion starts with nothing.
func (d *dialer) even(n int) bool {
	if n == 0 {
		return d.n == 0
	}
	return d.odd(n - 1)
}

func (d *dialer) odd(n int) bool {
	d.addr = "odd"
	return d.even(n - 1)
}

type pair[T any] struct{ first, second T }

func (p *pair[T]) swap() { p.first, p.second = p.second, p.first }
func swaps(p *pair[int]) { p.swap() }

// Of a pointer whose type is a type parameter, only that is known.
func generic[T any, P interface{ *T }](p P, v T) T {
	*p = v
	return *p
}
