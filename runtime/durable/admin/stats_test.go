package admin

import "testing"

func TestNormalize(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		"connection refused":               "connection refused",
		"dial tcp 10.0.0.7:5432: refused":  "dial tcp #: refused",
		"order o-17 failed after 3 tries.": "order # failed after # tries.",
		"id 5f2b8c1e-0d4a-4c3b-9a51-1f0e2d3c4b5a!": "id #!",
		"status 503":        "status #",
		"v1.2.3 is too old": "# is too old",
		"größe 7 übrig":     "größe # übrig",
	} {
		if got := normalize(text); got != want {
			t.Errorf("normalize(%q) = %q, want %q", text, got, want)
		}
	}
}
