package main

import (
	"fmt"
	"time"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/term"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// styles are the colors of statuses: red for what has failed, yellow for what needs a
// person, green for what is done.
var styles = map[storage.Status]term.Style{
	storage.StatusInDoubt:   term.Yellow,
	storage.StatusPaused:    term.Yellow,
	storage.StatusSucceeded: term.Green,
	storage.StatusFailed:    term.Red,
	storage.StatusDead:      term.Red,
	storage.StatusTimedOut:  term.Red,
	storage.StatusExecuting: term.Blue,
	storage.StatusExpired:   term.Faint,
	storage.StatusDiscarded: term.Faint,
}

func status(s storage.Status) term.Cell { return term.Cell{Text: s.String(), Style: styles[s]} }

// stamp returns a time of the local zone to the second, "" for the zero time.
func stamp(t time.Time) term.Cell {
	if t.IsZero() {
		return term.Cell{}
	}
	return term.Text(t.Local().Format(time.DateTime))
}

// distance returns a time relative to now, as "in 5m" or "3d ago".
func (s *session) distance(t time.Time) string {
	switch d := t.Sub(s.now); {
	case t.IsZero():
		return ""
	case d >= 0:
		return "in " + short(d)
	default:
		return short(-d) + " ago"
	}
}

// short returns a duration in its two greatest units.
func short(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return pair(d, time.Minute, time.Second, "m", "s")
	case d < day:
		return pair(d, time.Hour, time.Minute, "h", "m")
	}
	return pair(d, day, time.Hour, "d", "h")
}

// pair returns a duration in two units, without the smaller one if it is 0.
func pair(d, unit, rest time.Duration, unitName, restName string) string {
	d = d.Round(rest)
	text := fmt.Sprint(int64(d/unit)) + unitName
	if n := int64(d % unit / rest); n > 0 {
		text += fmt.Sprint(n) + restName
	}
	return text
}

// duration returns a duration in its two greatest units, "" for 0.
func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return short(d)
}

// milliseconds returns a number of milliseconds as a duration.
func milliseconds(n int64) term.Cell { return term.Text(short(time.Duration(n) * time.Millisecond)) }
