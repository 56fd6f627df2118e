package foreign

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
)

// A durationFormat parses a duration as another system writes it.
type durationFormat func(text string) (time.Duration, error)

// withUnit parses numbers with units, such as 1m30s. Durations are not negative.
func withUnit(text string) (time.Duration, error) { return duration.Parse(text) }

// ofGo parses durations as package time does, which accepts fewer units than withUnit, and no spaces.
// Durations are not negative.
func ofGo(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	if _, err := withUnit(text); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("%s is no duration here: write numbers with h, m, s or ms, as 1m30s", syntax.Quote(text))
}

// withOneUnit returns the format of a whole number with one of several units.
func withOneUnit(system string, units ...string) durationFormat {
	pattern := regexp.MustCompile(`^\d+(?:` + strings.Join(units, "|") + `)$`)
	return func(text string) (time.Duration, error) {
		if !pattern.MatchString(text) {
			return 0, fmt.Errorf("%s is no duration of %s: write a whole number with one of the units %s", syntax.Quote(text),
				system, strings.Join(units, ", "))
		}
		return withUnit(text)
	}
}

// parsed returns the duration that a text means in another format. It is valid unless it is too long.
func parsed(text, withUnits string) (time.Duration, error) {
	d, err := duration.Parse(withUnits)
	if err != nil {
		return 0, tooLong(text)
	}
	return d, nil
}

func tooLong(text string) error { return fmt.Errorf("%s is longer than 292 years", syntax.Quote(text)) }

// protobuf parses the JSON form of google.protobuf.Duration, which is in seconds, such as 0.1s.
// Go programs need digits on only one side of the point, so .1s is valid, too.
func protobuf(text string) (time.Duration, error) {
	m := protobufDuration.FindStringSubmatch(text)
	if m == nil || m[1]+m[2] == "" {
		return 0, fmt.Errorf("%s is no duration of protobuf: write seconds, as 0.5s", syntax.Quote(text))
	}
	return parsed(text, "0"+m[1]+"."+m[2]+"0s")
}

var protobufDuration = regexp.MustCompile(`^(\d*)(?:\.(\d{0,9}))?s$`)

var (
	isoDuration = regexp.MustCompile(
		`^P(?:(\d{1,6}D))?(?:T(?:(\d{1,9}H))?(?:(\d{1,9}M))?(?:(\d{1,12}(?:\.\d{1,9})?S))?)?$`)
	timeSpanText = regexp.MustCompile(`^(?:(\d{1,6})\.)?(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d{1,7})?))?$`)
)

// iso8601 parses ISO 8601 durations without months and years, such as PT1M30S.
func iso8601(text string) (time.Duration, error) {
	m := isoDuration.FindStringSubmatch(strings.ToUpper(text))
	if m == nil || strings.Join(m[1:], "") == "" {
		return 0, fmt.Errorf("%s is no duration of ISO 8601: write PT30S or PT1M30S", syntax.Quote(text))
	}
	return parsed(text, strings.ToLower(strings.Join(m[1:], "")))
}

// timeSpan parses a .NET TimeSpan: d.hh:mm:ss, with an optional fraction of seconds.
func timeSpan(text string) (time.Duration, error) {
	m := timeSpanText.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%s is no TimeSpan: write hh:mm:ss, as 00:00:30", syntax.Quote(text))
	}
	for i, unit := range []string{"d", "h", "m", "s"} {
		if m[i+1] == "" {
			m[i+1] = "0"
		}
		m[i+1] += unit
	}
	return parsed(text, strings.Join(m[1:], ""))
}

// in returns the format of numbers without a unit that count the given unit.
func in(unit time.Duration) durationFormat {
	return func(text string) (time.Duration, error) {
		f, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil || math.IsNaN(f) || f < 0:
			return 0, fmt.Errorf("%s is no number of %s", syntax.Quote(text), unitNames[unit])
		case f*float64(unit) >= math.MaxInt64:
			return 0, tooLong(text)
		}
		return time.Duration(math.Round(f * float64(unit))), nil
	}
}

// either returns a format that accepts any of several formats. If none matches, the error is
// that of the first.
func either(formats ...durationFormat) durationFormat {
	return func(text string) (d time.Duration, err error) {
		for i, format := range formats {
			var again error
			if d, again = format(text); again == nil {
				return d, nil
			}
			if i == 0 {
				err = again
			}
		}
		return 0, err
	}
}

var unitNames = map[time.Duration]string{
	time.Nanosecond: "nanoseconds", time.Millisecond: "milliseconds", time.Second: "seconds", time.Minute: "minutes",
	time.Hour: "hours",
}
