package duration

import (
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	for _, tt := range []struct {
		text      string
		events    int
		per       time.Duration
		canonical string
		formatted string
	}{
		{"100/s", 100, time.Second, "100/s", "100/s"},
		{" 60 / minute ", 60, time.Minute, "60/m", "60/m"},
		{"7/1h", 7, time.Hour, "7/h", "7/h"},
		{"10000/day", 10000, 24 * time.Hour, "10000/d", "10000/d"},
		{"1/w", 1, 7 * 24 * time.Hour, "1/w", "1/168h"},
		{"005/10s", 5, 10 * time.Second, "5/10s", "5/10s"},
		{"5/60s", 5, time.Minute, "5/60s", "5/m"},
		{"3/1m 30s", 3, 90 * time.Second, "3/1m30s", "3/1m30s"},
		{"1/ns", 1, 1, "1/ns", "1/ns"},
	} {
		events, per, err := ParseRate(tt.text)
		if err != nil || events != tt.events || per != tt.per {
			t.Errorf("%q: got %d for each %v, %v, want %d for each %v", tt.text, events, per, err, tt.events, tt.per)
		}
		if got := CanonicalRate(tt.text); got != tt.canonical {
			t.Errorf("CanonicalRate(%q) = %q, want %q", tt.text, got, tt.canonical)
		}
		if got := FormatRate(events, per); got != tt.formatted {
			t.Errorf("FormatRate(%d, %v) = %q, want %q", events, per, got, tt.formatted)
		}
	}
	for text, want := range map[string]string{
		"":                     `"" is not a rate: write events for each period, as 100/s, 60/m or 5/10s`,
		"100":                  "100 has no period: write 100/s or 100/m",
		"100/":                 "100 has no period: write 100/s or 100/m",
		"0/s":                  "0 is not a number of events from 1: write a rate, as 100/s, 60/m or 5/10s",
		"1.5/s":                "1.5 is not a number of events from 1: write a rate, as 100/s, 60/m or 5/10s",
		"99999999999999999999": `"99999999999999999999" is not a rate: write events for each period, as 100/s, 60/m or 5/10s`,
		"1/S":                  "1S has a unit in capitals: write 1s",
		"1/10":                 "10 has no unit: write 10ms or 10s",
		"1/M":                  "the M of 1/M is months, which are not always of the same length: write m for minutes",
		"1/year":               "the period of 1/year is not always of the same length: write d or w",
		"1/0s":                 "the period of 1/0s is 0: write a rate, as 100/s, 60/m or 5/10s",
		"2/ns":                 "2/ns is more than one event in a nanosecond: write fewer events, or a longer period",
	} {
		if _, _, err := ParseRate(text); err == nil || err.Error() != want {
			t.Errorf("ParseRate(%q): got %v, want %s", text, err, want)
		}
		if got := CanonicalRate(text); got != text {
			t.Errorf("CanonicalRate(%q) = %q, want it unchanged", text, got)
		}
	}
}

// FuzzRate: the canonical spelling has the same meaning, and is its own. So has the
// formatted one.
func FuzzRate(f *testing.F) {
	for _, text := range []string{"100/s", "60 / min", "5/10s", "1/1w", "3/1m 30s", "1/M", "007/0.5s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		events, per, err := ParseRate(text)
		if err != nil {
			return
		}
		canonical := CanonicalRate(text)
		for _, other := range []string{canonical, FormatRate(events, per)} {
			if e, p, err := ParseRate(other); err != nil || e != events || p != per {
				t.Errorf("%q is %d for each %v, but %q is %d for each %v, %v", text, events, per, other, e, p, err)
			}
		}
		if again := CanonicalRate(canonical); again != canonical {
			t.Errorf("%q becomes %q, then %q", text, canonical, again)
		}
	})
}
