// Package duration parses and formats the durations of policy files. Their grammar
// includes the grammar of humantime, a Rust library.
package duration

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// units maps every spelling of a unit that humantime accepts to its length. Months
// and years are averages, 30.44 and 365.25 days, as in humantime.
var units = map[string]time.Duration{
	"ns": 1, "nsec": 1, "nanos": 1,
	"us": time.Microsecond, "usec": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond,
	"ms": time.Millisecond, "msec": time.Millisecond, "millis": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": day, "day": day, "days": day,
	"w": 7 * day, "wk": 7 * day, "wks": 7 * day, "week": 7 * day, "weeks": 7 * day,
	"M": month, "month": month, "months": month,
	"y": year, "yr": year, "yrs": year, "year": year, "years": year,
}

const (
	day   = 24 * time.Hour
	month = 2_630_016 * time.Second
	year  = 31_557_600 * time.Second
)

// Parse parses a duration, which consists of numbers with units, such as 500ms, 1.5s or
// 1h 30m. The result is exact. The error describes what to write instead.
func Parse(text string) (time.Duration, error) {
	s := strings.TrimSpace(text)
	if err := checkForeign(s); err != nil {
		return 0, err
	}
	total := new(big.Rat)
	for s != "" {
		number, rest := cutNumber(s)
		unit, rest := cutUnit(rest)
		if number == "" {
			return 0, fmt.Errorf("%q is not a duration: write a number with a unit, as 500ms, 2s or 1m30s", text)
		}
		if unit == "" {
			return 0, noUnit(text, number, rest)
		}
		size, ok := units[unit]
		if !ok {
			return 0, unknownUnit(text, number, unit)
		}
		value, ok := new(big.Rat).SetString(number)
		if !ok {
			return 0, fmt.Errorf("%q is not a duration: %q is not a number", text, number)
		}
		total.Add(total, value.Mul(value, new(big.Rat).SetInt64(int64(size))))
		s = rest
	}
	switch {
	case !total.IsInt():
		return 0, fmt.Errorf("%q is not a whole number of nanoseconds: write fewer digits", text)
	case !total.Num().IsInt64():
		return 0, fmt.Errorf("%q is longer than 292 years: write a shorter time, or none for no limit", text)
	}
	return time.Duration(total.Num().Int64()), nil
}

// CalendarUnit returns the first month or year unit in the text of a duration, as
// written, or "" if there is none. The length of these units varies.
func CalendarUnit(text string) string {
	for s := strings.TrimSpace(text); s != ""; {
		number, rest := cutNumber(s)
		unit, rest := cutUnit(rest)
		if number == "" || unit == "" {
			return ""
		}
		if size := units[unit]; size == month || size == year {
			return unit
		}
		s = rest
	}
	return ""
}

// cutNumber cuts digits with at most one point off the front. As in humantime,
// there may be spaces between the digits.
func cutNumber(s string) (number, rest string) {
	var b strings.Builder
	point := false
	for i, r := range s {
		switch {
		case '0' <= r && r <= '9':
			b.WriteRune(r)
		case r == '.' && !point && b.Len() > 0:
			point = true
			b.WriteRune(r)
		case unicode.IsSpace(r) && b.Len() > 0:
		default:
			return checkedNumber(b.String(), s, s[i:])
		}
	}
	return checkedNumber(b.String(), s, "")
}

// checkedNumber rejects a number that ends in a point or has more than 40 digits:
// it returns "" for it.
func checkedNumber(number, all, rest string) (string, string) {
	if strings.HasSuffix(number, ".") || len(number) > 40 {
		return "", all
	}
	return number, rest
}

// cutUnit cuts letters, and the spaces after them, off the front.
func cutUnit(s string) (unit, rest string) {
	for i, r := range s {
		if !unicode.IsLetter(r) {
			return s[:i], strings.TrimLeftFunc(s[i:], unicode.IsSpace)
		}
	}
	return s, ""
}

var (
	iso8601  = regexp.MustCompile(`^P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9.]+)S)?)?$`)
	negative = regexp.MustCompile(`^[+-]\s*[0-9]`)
	comma    = regexp.MustCompile(`^([0-9]+),([0-9]+\s*\pL+)$`)
)

// checkForeign returns an error for spellings of other languages, with the
// equivalent one here.
func checkForeign(s string) error {
	if s == "" {
		return errors.New("a duration is missing: write a number with a unit, as 500ms, 2s or 1m30s")
	}
	if m := iso8601.FindStringSubmatch(s); m != nil && len(s) > 2 {
		var b strings.Builder
		for i, unit := range []string{"d", "h", "m", "s"} {
			if m[i+1] != "" {
				b.WriteString(m[i+1] + unit)
			}
		}
		return fmt.Errorf("%s is ISO 8601: write %s", s, b.String())
	}
	if negative.MatchString(s) {
		return fmt.Errorf("%s has a sign, and a duration has none: write %s", s, strings.TrimLeft(s, "+- "))
	}
	if m := comma.FindStringSubmatch(s); m != nil {
		return fmt.Errorf("%s has a comma: write %s.%s", s, m[1], m[2])
	}
	return nil
}

func noUnit(text, number, rest string) error {
	if rest != "" {
		return fmt.Errorf("%q is not a duration: %q is not a unit", text, rest)
	}
	ms, err := strconv.ParseInt(number, 10, 64)
	if err == nil && ms >= 10_000 && ms%1000 == 0 && ms <= math.MaxInt64/int64(time.Millisecond) {
		return fmt.Errorf("%s has no unit: write %s if these are milliseconds", number,
			Format(time.Duration(ms)*time.Millisecond))
	}
	return fmt.Errorf("%s has no unit: write %sms or %ss", number, number, number)
}

func unknownUnit(text, number, unit string) error {
	if _, ok := units[strings.ToLower(unit)]; ok {
		return fmt.Errorf("%s has a unit in capitals: write %s%s", strings.TrimSpace(text), number, strings.ToLower(unit))
	}
	return fmt.Errorf("%q has the unknown unit %q: the units are ns, us, ms, s, m, h, d and w", text, unit)
}

// Format formats d in the syntax of policy files, such as 1h30m, 1.5s or 250ms.
func Format(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
