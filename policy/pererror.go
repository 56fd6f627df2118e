package policy

import (
	"slices"

	retry "github.com/retrygen/retrygen/runtime"
)

// A classSchedule is the entry of per_error for one class.
type classSchedule struct {
	class  retry.Class
	at     span // of the class
	lifted bool // null: the class has no schedule of its own
	alone  bool // nothing is inherited
	settings
}

// perError reads the schedules of classes.
func (d decoder) perError(n *node) (list []classSchedule) {
	e := n.get("per_error")
	if e == nil || e.value.isNull() || !d.isMap(e.value, "per_error") {
		return nil
	}
	for _, e := range e.value.entries {
		c := classSchedule{class: retry.Class(e.key), at: e.at, lifted: e.value.isNull(), alone: e.value.isNull()}
		if !d.isClass(e.at, e.key) || !c.lifted && !d.isMap(e.value, "an entry of per_error") {
			continue
		}
		if !c.lifted {
			d.unknownKeys(e.value, "per_error", perErrorKeys...)
			c.values = d.values(e.value, true)
		}
		list = append(list, c)
	}
	return list
}

// layClasses lays the schedules of classes over those below, class by class.
func layClasses(above, below []classSchedule) []classSchedule {
	list := slices.Clone(above)
	for _, b := range below {
		i := slices.IndexFunc(list, func(a classSchedule) bool { return a.class == b.class })
		switch {
		case i < 0:
			list = append(list, b)
		case !list[i].alone:
			list[i].settings, list[i].alone = list[i].settings.over(b.settings), b.alone
		}
	}
	return list
}

// ofClasses returns the schedules of classes without those that are lifted.
func (s settings) ofClasses() []classSchedule {
	return slices.DeleteFunc(slices.Clone(s.perError), func(c classSchedule) bool { return c.lifted })
}

// inOrder returns the schedules of classes in the order in which classes are
// asked: the file's own first, as it defines them, then the built-in ones.
func (s settings) inOrder(f *File) []classSchedule {
	list := s.ofClasses()
	rank := func(c classSchedule) int {
		if i, ok := f.classes.order[c.class]; ok {
			return i
		}
		return len(f.Errors) + slices.Index(builtinClasses, string(c.class))
	}
	slices.SortStableFunc(list, func(a, b classSchedule) int { return rank(a) - rank(b) })
	return list
}

// overrides resolves the schedules of classes over that of the policy.
func (s settings) overrides(f *File) (list []retry.Override) {
	for _, c := range s.inOrder(f) {
		var p Policy
		for i := range table {
			if row := &table[i]; row.perError {
				row.resolve(&p, c.settings, s)
			}
		}
		list = append(list, retry.Override{Class: c.class, Schedule: p.Effective()})
	}
	return list
}
