package durablerun

import "slices"

// LacksRun reports whether a step is called with a context that never belongs to a run.
func (p *Package) LacksRun(s *Step) bool {
	return s.Needs && s.Always && slices.Contains(s.Call.Common().Args, s.Context) && p.RunOf(s.Context) == Outside
}
