package policy

import (
	"slices"

	"github.com/retrygen/retrygen/internal/syntax"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// A classSchedule is the entry of per_error for one class.
type classSchedule struct {
	class    retry.Class
	at       syntax.Span // of the class
	removed  bool        // null: the class has no schedule of its own
	complete bool        // nothing is inherited
	settings
}

// perError reads the schedules of classes.
func (d decoder) perError(n *syntax.Node) (list []classSchedule) {
	e := n.Get("per_error")
	if e == nil || e.Value.IsNull() || !d.isMap(e.Value, "per_error") {
		return nil
	}
	for _, e := range e.Value.Entries {
		c := classSchedule{class: retry.Class(e.Key), at: e.At, removed: e.Value.IsNull(), complete: e.Value.IsNull()}
		if !d.isClass(e.At, e.Key) || !c.removed && !d.isMap(e.Value, "an entry of per_error") {
			continue
		}
		if !c.removed {
			d.unknownKeys(e.Value, "per_error", perErrorKeys...)
			c.values = d.values(e.Value, func(s *setting) bool { return s.perError })
			d.combine(e.Value, c.values)
			d.classExhausted(c.values["on_exhausted"])
		}
		list = append(list, c)
	}
	return list
}

// classExhausted reports an on_exhausted that only a whole policy may have.
func (d decoder) classExhausted(w written) {
	if v, _ := w.value.(genapi.OnExhausted); v >= genapi.ExhaustedDeadLetter {
		d.problem(w.at, "P102", "on_exhausted under per_error is fail or escalate: write %s under the policy", v)
	}
}

// mergeClasses returns the schedules of above, completed class by class with the
// schedules of below.
func mergeClasses(above, below []classSchedule) []classSchedule {
	list := slices.Clone(above)
	for _, b := range below {
		i := slices.IndexFunc(list, func(a classSchedule) bool { return a.class == b.class })
		switch {
		case i < 0:
			list = append(list, b)
		case !list[i].complete:
			list[i].settings, list[i].complete = list[i].settings.over(b.settings), b.complete
		}
	}
	return list
}

// classSchedules returns the schedules of classes without those that are removed.
func (s settings) classSchedules() []classSchedule {
	return slices.DeleteFunc(slices.Clone(s.perError), func(c classSchedule) bool { return c.removed })
}

// inOrder returns the schedules of classes in the order in which the runtime tests
// classes: the classes of the file first, in its order, then the built-in ones.
func (s settings) inOrder(f *File) []classSchedule {
	list := s.classSchedules()
	rank := func(c classSchedule) int {
		if i, ok := f.classes.order[c.class]; ok {
			return i
		}
		return len(f.Errors) + slices.Index(builtinClasses, string(c.class))
	}
	slices.SortStableFunc(list, func(a, b classSchedule) int { return rank(a) - rank(b) })
	return list
}

// overrides resolves the schedules of classes. A class has the settings of the
// policy unless it has its own.
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
