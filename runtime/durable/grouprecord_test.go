package durable

import (
	"context"
	"strings"
	"testing"
)

// The ids of the records of groups are different for different scopes, names and
// units, and the unit that encloses a step is found again.
func FuzzGroupIDs(f *testing.F) {
	f.Add("a", "import", "unit", "load")
	f.Add("", "%", "a/b:c", "load/1")
	f.Add("a:/b", "g/", "\x00\xff", "é%41")
	f.Fuzz(func(t *testing.T, scope, group, unit, step string) {
		if group == "" || step == "" {
			t.Skip()
		}
		outer := newGroupIDs(scopes(Scope(context.Background(), scope)), group)
		id := outer.unit(unit)
		if got := outer.name(id); got != unit {
			t.Errorf("the name of unit %q is %q after its id %q", unit, got, id)
		}
		if got := groupOf(id); got != outer.group {
			t.Errorf("the group of %q is %q, want %q", id, got, outer.group)
		}
		within := outer.steps(unit)
		inner := newGroupIDs(within, group)
		for of, isUnit := range map[string]bool{
			within + escape(step): false, within + escape(step) + "/" + escape(unit): false, inner.unit(unit): true,
		} {
			if got := unitsOf(of, isUnit); len(got) != 1 || got[0] != id {
				t.Errorf("%q is a step of units %q, want %q", of, got, id)
			}
		}
		got := unitsOf(inner.steps(unit)+escape(step), false)
		if len(got) != 2 || got[0] != inner.unit(unit) || got[1] != id {
			t.Errorf("the units of a nested step are %q", got)
		}
		if got := unitsOf(id, true); len(got) > 0 {
			t.Errorf("%q is within the units %q", id, got)
		}
		for _, all := range []string{id, within, inner.unit(unit)} {
			if all < inGroups || all >= afterGroups || strings.HasPrefix(escape(step), inGroups) {
				t.Errorf("%q is not in the range of groups, or %q is", all, step)
			}
		}
	})
}
