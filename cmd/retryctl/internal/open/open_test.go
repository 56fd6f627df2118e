package open

import "testing"

// TestRedacted: what the console shows of a store has no password.
func TestRedacted(t *testing.T) {
	for name, want := range map[string]string{
		"sqlite:/var/lib/retry.db":                         "sqlite:/var/lib/retry.db",
		"postgres://user:secret@host:5432/db?schema=retry": "postgres://host:5432/db",
		"postgresql://host/db?password=secret":             "postgresql://host/db",
		"postgres://user:sec%ret@host/db":                  "postgres",
	} {
		if got := Redacted(name); got != want {
			t.Errorf("Redacted(%q) = %q, want %q", name, got, want)
		}
	}
}
