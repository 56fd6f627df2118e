package bind

import "testing"

func TestImportable(t *testing.T) {
	for _, test := range []struct {
		from, imported string
		want           bool
	}{
		{"example.com/a", "example.com/b", true},
		{"example.com/a", "example.com/a/internal", true},
		{"example.com/a", "example.com/a/internal/b", true},
		{"example.com/a/c/d", "example.com/a/internal/b", true},
		{"example.com/ab", "example.com/a/internal/b", false},
		{"example.com", "example.com/a/internal/b", false},
		{"example.com/a", "example.com/a/internal/b/internal/c", false},
		{"example.com/a/internal/b/d", "example.com/a/internal/b/internal/c", true},
		{"example.com/a", "example.com/internals/b", true},
		{"example.com/a", "internal/abi", false},
		{"shop", "internal/abi", false},
		{"shop", "net/http/internal", false},
		{"example.com/a", "vendor/golang.org/x/net/idna", false},
	} {
		if got := importable(test.from, test.imported); got != test.want {
			t.Errorf("importable(%q, %q) = %v, want %v", test.from, test.imported, got, test.want)
		}
	}
}
