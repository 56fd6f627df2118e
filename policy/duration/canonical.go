package duration

import (
	"math/big"
	"strings"
	"time"
)

// short are the names of units as they are written; months and years have none.
var short = map[time.Duration]string{
	7 * day: "w", day: "d", time.Hour: "h", time.Minute: "m", time.Second: "s", time.Millisecond: "ms",
	time.Microsecond: "us", 1: "ns",
}

// Canonical returns the usual spelling of a duration: no spaces, short units,
// no idle zeros. Numbers and units stay as they are written where they can:
// 90 min is 90m, and 1h 30m is 1h30m. Text that is not a duration is returned
// as it is, and so are months and years: how long they are meant to be is not
// known.
func Canonical(text string) string {
	value, err := Parse(text)
	if err != nil || CalendarUnit(text) != "" {
		return text
	}
	var b strings.Builder
	before := time.Duration(1<<63 - 1)
	for s := strings.TrimSpace(text); s != ""; {
		number, rest := cutNumber(s)
		name, rest := cutUnit(rest)
		size := units[name]
		// Out of order, or a unit twice: only the sum is worth writing.
		if size >= before || carries(number, size) {
			return Canonical(Format(value)) // which is in order
		}
		before = size
		if number = tidy(number); number != "0" {
			b.WriteString(number + short[size])
		}
		s = rest
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}

// carries reports whether a number of units below the second is a whole number
// of the next one, as 90000ms is.
func carries(number string, size time.Duration) bool {
	n, ok := new(big.Int).SetString(number, 10)
	if !ok || size >= time.Second || n.Sign() == 0 {
		return false
	}
	return new(big.Int).Mod(n, big.NewInt(1000)).Sign() == 0
}

// tidy removes zeros that say nothing.
func tidy(number string) string {
	if strings.Contains(number, ".") {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
	}
	number = strings.TrimLeft(number, "0")
	if number == "" || number[0] == '.' {
		number = "0" + number
	}
	return number
}
