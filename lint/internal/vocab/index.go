package vocab

import (
	"regexp"
	"sync"
)

// A Name identifies a function or another symbol in the tables.
type Name struct{ Pkg, Recv, Func string }

// An index finds the rows of a table that describe a name. It may be used concurrently.
type index[R any] struct {
	rows    []R
	pattern func(R) Name // returns the regular expressions of a row
	once    sync.Once
	regexps [][3]*regexp.Regexp
	found   sync.Map // by Name, because the packages of a program use the same symbols
}

// compiled returns the compiled regular expressions of each row, for the package, the receiver
// and the name.
func (x *index[R]) compiled() [][3]*regexp.Regexp {
	x.once.Do(func() {
		for _, r := range x.rows {
			n := x.pattern(r)
			x.regexps = append(x.regexps, [3]*regexp.Regexp{whole(n.Pkg), whole(n.Recv), whole(n.Func)})
		}
	})
	return x.regexps
}

// all returns the rows that describe a name, in the order of the table.
func (x *index[R]) all(name Name) []*R {
	if rows, ok := x.found.Load(name); ok {
		return rows.([]*R)
	}
	var rows []*R
	for i, r := range x.compiled() {
		if r[2].MatchString(name.Func) && r[1].MatchString(name.Recv) && r[0].MatchString(name.Pkg) {
			rows = append(rows, &x.rows[i])
		}
	}
	x.found.Store(name, rows)
	return rows
}

// whole returns a regular expression that matches only whole strings.
func whole(pattern string) *regexp.Regexp { return regexp.MustCompile("^(?:" + pattern + ")$") }
