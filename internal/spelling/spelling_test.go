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

func TestSuggested(t *testing.T) {
	for message, want := range map[string]string{
		"unknown key \"x\": " + Question("max_attempts"): "max_attempts",
		"package p has no Fecth: did you mean Fetch?":    "Fetch",
		"did you mean failures of a breaker? Write it":   "",
		"write 3": "",
	} {
		if got := Suggested(message); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}
