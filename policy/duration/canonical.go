package duration

import (
	"math/big"
	"strings"
	"time"
)

// shortUnits maps units to their canonical names. Months and years have none.
var shortUnits = map[time.Duration]string{
	7 * day: "w", day: "d", time.Hour: "h", time.Minute: "m", time.Second: "s", time.Millisecond: "ms",
	time.Microsecond: "us", 1: "ns",
}

// Unit returns the canonical name of a unit, such as ms for millis. It returns "" for
// other words, and for months and years, which have no canonical name.
func Unit(name string) string { return shortUnits[units[name]] }

// Canonical returns the canonical spelling of a duration, which has short units and
// neither spaces nor redundant zeros. If possible, it keeps numbers and units: 90 min
// becomes 90m, and 1h 30m becomes 1h30m. If text is not a duration, or contains months or
// years, whose length is ambiguous, Canonical returns it unchanged.
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
		// Units out of order, or repeated: write the sum instead.
		if size >= before || carries(number, size) {
			return Canonical(Format(value)) // Format writes units in order
		}
		before = size
		if number = trimZeros(number); number != "0" {
			b.WriteString(number + shortUnits[size])
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

// trimZeros removes redundant leading and trailing zeros.
func trimZeros(number string) string {
	if strings.Contains(number, ".") {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
	}
	number = strings.TrimLeft(number, "0")
	if number == "" || number[0] == '.' {
		number = "0" + number
	}
	return number
}
