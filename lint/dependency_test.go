package lint

import (
	"go/types"
	"testing"

	"golang.org/x/tools/go/analysis"
)

func TestDependency(t *testing.T) {
	folder, fork := &analysis.Module{Path: "../shop"}, &analysis.Module{Path: "example.com/fork", Version: "v1.0.0"}
	for _, test := range []struct {
		name, path string
		module     *analysis.Module
		want       bool
	}{
		{"main module", "example.com/shop", &analysis.Module{Path: "example.com/shop", Main: true}, false},
		{"workspace", "example.com/shop", &analysis.Module{Path: "example.com/shop"}, false},
		{"required", "example.com/shop", &analysis.Module{Path: "example.com/shop", Version: "v1.0.0"}, true},
		{"replaced by a folder", "example.com/shop",
			&analysis.Module{Path: "example.com/shop", Version: "v1.0.0", Replace: folder}, false},
		{"replaced by a module", "example.com/shop",
			&analysis.Module{Path: "example.com/shop", Version: "v1.0.0", Replace: fork}, true},
		{"standard library", "net/http", new(analysis.Module), true},
		{"standard library", "net/http", nil, true},
		{"no module", "shop", new(analysis.Module), false},
	} {
		pass := &analysis.Pass{Pkg: types.NewPackage(test.path, ""), Module: test.module}
		if got := isDependency(pass); got != test.want {
			t.Errorf("%s: isDependency is %t, want %t", test.name, got, test.want)
		}
	}
}
