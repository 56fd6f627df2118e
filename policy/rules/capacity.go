package rules

import "slices"

// unusedCapacity reports the limits, rates and throttles that no policy names (P902).
func (f *File) unusedCapacity(warn func(section, name, what string, used bool)) {
	names := slices.Clone(f.CapacityInGo)
	for _, l := range f.Limiters {
		names = append(names, Place{Section: "concurrency", Name: l.Name})
	}
	for _, r := range f.Rates {
		names = append(names, Place{Section: "rates", Name: r.Name})
	}
	for _, t := range f.Throttles {
		names = append(names, Place{Section: "throttles", Name: t.Name})
	}
	kinds := map[string]struct {
		what string
		name func(*Policy) string
	}{
		"concurrency": {"concurrency limit", func(p *Policy) string { return p.Concurrency }},
		"rates":       {"rate", func(p *Policy) string { return p.Rate }},
		"throttles":   {"throttle", func(p *Policy) string { return p.Throttle }},
	}
	for _, n := range names {
		kind := kinds[n.Section]
		used := slices.ContainsFunc(f.Policies, func(p Policy) bool { return kind.name(&p) == n.Name })
		warn(n.Section, n.Name, kind.what, used)
	}
}
