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
