package spelling

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"max_attempts", "timeout", "Fetch", "Store"}
	for word, want := range map[string]string{
		"max_atempts": "max_attempts", "max-attempts": "max_attempts", "tiemout": "timeout", "fetch": "Fetch",
		"Stoer": "Store", "": "", "backoff": "", "世界": "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
