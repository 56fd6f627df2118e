package duration

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseRate parses a rate, which is a whole number of events per period, such as 100/s,
// 60/m or 5/10s. The error describes what to write instead.
func ParseRate(text string) (events int, per time.Duration, err error) {
	number, period, ok := cutRate(text)
	if !ok {
		if n, err := strconv.Atoi(number); err == nil && n > 0 {
			return 0, 0, fmt.Errorf("%d has no period: write %[1]d/s or %[1]d/m", n)
		}
		return 0, 0, fmt.Errorf("%q is not a rate: write events for each period, as 100/s, 60/m or 5/10s", text)
	}
	events, err = strconv.Atoi(number)
	if err != nil || events < 1 || events > 1<<30 {
		return 0, 0, fmt.Errorf("%s is not a number of events from 1: write a rate, as 100/s, 60/m or 5/10s", number)
	}
	switch CalendarUnit(period) {
	case "":
	case "M":
		return 0, 0, fmt.Errorf("the M of %s is months, which are not always of the same length: write m for minutes", text)
	default:
		return 0, 0, fmt.Errorf("the period of %s is not always of the same length: write d or w", text)
	}
	per, err = Parse(period)
	switch {
	case err != nil:
		return 0, 0, err
	case per == 0:
		return 0, 0, fmt.Errorf("the period of %s is 0: write a rate, as 100/s, 60/m or 5/10s", text)
	case int64(events) > int64(per):
		return 0, 0, fmt.Errorf("%s is more than one event in a nanosecond: write fewer events, or a longer period", text)
	}
	return events, per, nil
}

// cutRate splits a rate. A period without a number is one unit: the s of 100/s is 1s.
func cutRate(text string) (events, period string, ok bool) {
	events, period, _ = strings.Cut(text, "/")
	events, period = strings.TrimSpace(events), strings.TrimSpace(period)
	if unit, rest := cutUnit(period); unit != "" && rest == "" {
		period = "1" + unit
	}
	return events, period, period != ""
}

// CanonicalRate returns the canonical spelling of a rate, which has no spaces and short
// units. If the period is one unit, the spelling has no number before the unit. If text
// is not a rate, CanonicalRate returns it unchanged.
func CanonicalRate(text string) string {
	events, _, err := ParseRate(text)
	if err != nil {
		return text
	}
	_, period, _ := cutRate(text)
	return strconv.Itoa(events) + "/" + unitOf(Canonical(period))
}

// FormatRate formats a rate in the syntax of policy files, such as 100/s, 60/m or 5/10s.
func FormatRate(events int, per time.Duration) string {
	period := Format(per)
	if per == day {
		period = "d"
	}
	return strconv.Itoa(events) + "/" + unitOf(period)
}

// unitOf returns the unit of a period that is one unit long, and other periods unchanged.
func unitOf(period string) string {
	if unit := strings.TrimPrefix(period, "1"); units[unit] > 0 {
		return unit
	}
	return period
}
