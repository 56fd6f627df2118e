package policy_test

import (
	"testing"

	"github.com/retrygen/retrygen/policy"
)

// TestMethodFor: the entry with the name of the method wins, then the pattern
// with the most characters other than *.
func TestMethodFor(t *testing.T) {
	binding := func(names ...string) *policy.Binding {
		b := new(policy.Binding)
		for _, name := range names {
			b.Methods = append(b.Methods, policy.Method{Name: name})
		}
		return b
	}
	for _, test := range []struct {
		binding         *policy.Binding
		name, best, tie string
	}{
		{binding("*", "Get*", "GetAll"), "GetAll", "GetAll", ""},
		{binding("GetAll", "Get*", "*"), "GetAll", "GetAll", ""},
		{binding("*", "Get*", "GetAll"), "GetOne", "Get*", ""},
		{binding("*", "Get*", "GetAll"), "Get", "Get*", ""},
		{binding("*", "Get*", "GetAll"), "Put", "*", ""},
		{binding("Get*", "Put"), "Delete", "", ""},
		{binding("Get*", "*Range"), "GetRange", "*Range", ""},
		{binding("Get*", "*All"), "GetAll", "Get*", "*All"},
		{binding("*All", "Get*"), "GetAll", "*All", "Get*"},
		{binding("Get*", "*All", "GetA*"), "GetAll", "GetA*", ""},
		{binding("Get*", "*All", "GetAll"), "GetAll", "GetAll", ""},
		{binding("G*t*A*"), "GetTheAll", "G*t*A*", ""},
		{binding("*Get*"), "MustGetAll", "*Get*", ""},
		{binding("Get*Get"), "Get", "", ""},
		{binding("get*"), "GetAll", "", ""},
		{binding("Get**"), "GetAll", "Get**", ""},
	} {
		nameOf := func(m *policy.Method) string {
			if m == nil {
				return ""
			}
			return m.Name
		}
		best, tie := test.binding.MethodFor(test.name)
		if nameOf(best) != test.best || nameOf(tie) != test.tie {
			t.Errorf("%s of %v: got %q, tie %q, want %q, tie %q", test.name, test.binding.Methods, nameOf(best), nameOf(tie),
				test.best, test.tie)
		}
	}
}
