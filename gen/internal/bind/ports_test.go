package bind

import (
	"strings"
	"testing"
)

func TestOr(t *testing.T) {
	for _, test := range []struct{ constraints, want string }{
		{"linux", "linux"},
		{"linux, !linux", ""},
		{"linux, windows", "linux || windows"},
		{"unix, windows", "!(js || plan9 || wasip1)"},
		{"linux && amd64, linux && arm64", "(android && (amd64 || arm64)) || (linux && !android && (amd64 || arm64))"},
		{"!plan9, plan9 && (386 || amd64)", "!(plan9 && arm)"},
		{"fast, !fast", ""},
		{"fast, unix && !fast", "fast || (unix && !fast)"},
		{"fast && unix, !fast, !unix", ""},
		{"darwin && !ios, ios", "darwin"},
		{"", ""},
	} {
		if got := Or(strings.Split(test.constraints, ", ")...); got != test.want {
			t.Errorf("Or(%s) = %s, want %s", test.constraints, got, test.want)
		}
	}
}
