package record

import (
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
		outer := NewGroupIDs(ScopeIn("", scope), group)
		id := outer.Unit(unit)
		if got := outer.Name(id); got != unit {
			t.Errorf("the name of unit %q is %q after its id %q", unit, got, id)
		}
		if got := GroupOf(id); got != outer.Group {
			t.Errorf("the group of %q is %q, want %q", id, got, outer.Group)
		}
		within := outer.Steps(unit)
		inner := NewGroupIDs(within, group)
		for of, isUnit := range map[string]bool{
			within + Escape(step): false, within + Escape(step) + "/" + Escape(unit): false, inner.Unit(unit): true,
		} {
			if got := UnitsOf(of, isUnit); len(got) != 1 || got[0] != id {
				t.Errorf("%q is a step of units %q, want %q", of, got, id)
			}
		}
		got := UnitsOf(inner.Steps(unit)+Escape(step), false)
		if len(got) != 2 || got[0] != inner.Unit(unit) || got[1] != id {
			t.Errorf("the units of a nested step are %q", got)
		}
		if got := UnitsOf(id, true); len(got) > 0 {
			t.Errorf("%q is within the units %q", id, got)
		}
		for _, all := range []string{id, within, inner.Unit(unit)} {
			if all < InGroups || all >= AfterGroups || strings.HasPrefix(Escape(step), InGroups) {
				t.Errorf("%q is not in the range of groups, or %q is", all, step)
			}
		}
	})
}
