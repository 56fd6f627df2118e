package duration

import (
	"testing"
	"time"
)

func TestFormat(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 90 * time.Minute: "1h30m", time.Hour: "1h", 2 * time.Minute: "2m", 1500 * time.Millisecond: "1.5s",
		250 * time.Millisecond: "250ms", time.Hour + time.Second: "1h0m1s",
	} {
		if got := Format(d); got != want {
			t.Errorf("Format(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"2s": "2s", "1h30m": "1h30m", "90s": "90s", "1.5s": "1.5s", "1500ms": "1500ms", "1w": "1w", "36h": "36h",
		"2 minutes": "2m", "1 second": "1s", " 1h 30 min ": "1h30m", "90 mins": "90m", "2 weeks 1day": "2w1d",
		"10 0s": "100s", "1µs": "1us",
		"007s": "7s", "1.50s": "1.5s", "2.0h": "2h", "0.500s": "0.5s", "1h0m": "1h", "0m": "0s", "00.0h 0s": "0s",
		"90000ms": "1m30s", "1000ms": "1s", "2000us": "2ms", "1s1s": "2s", "30m1h": "1h30m", "1 month": "1 month",
		"1y 1d": "1y 1d", "1y0s": "1y0s",
		"5": "5", "PT5S": "PT5S", "": "",
	} {
		if got := Canonical(text); got != want {
			t.Errorf("Canonical(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCalendarUnit(t *testing.T) {
	for text, want := range map[string]string{
		"1M": "M", "1 month": "month", "2yrs": "yrs", "1y0s": "y", "1d 1M": "M", "1\u00a0year": "year",
		"1m": "", "1h30m": "", "365d": "", "": "", "M": "", "1 parsec": "",
	} {
		if got := CalendarUnit(text); got != want {
			t.Errorf("CalendarUnit(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"1s", "1h 30m", "1.5 s", "30m 1h", "0.0s", "9223372036854775807ns", "1µs", "1M", "1y0s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Canonical(s)
		want, err := Parse(s)
		if err != nil {
			if once != s {
				t.Errorf("%q is no duration and became %q", s, once)
			}
			return
		}
		if got, err := Parse(once); err != nil || got != want || Canonical(once) != once {
			t.Errorf("%q is %v and became %q, %v, %v, and then %q", s, want, once, got, err, Canonical(once))
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1s", "1h 30m", "1.5 s", "500", "PT5S", "1,5s", "9223372036854775807ns", "1µs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse(s)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if again, err := Parse(Format(d)); d < 0 || err != nil || again != d {
			t.Errorf("%q is %v, which is read as %v, %v", s, d, again, err)
		}
	})
}
