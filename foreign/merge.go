package foreign

import (
	retry "github.com/retrygen/retrygen/runtime"
)

// merge returns the contents of several files. Each name is unique among them.
func merge(files []*File) *File {
	if len(files) == 1 {
		return files[0]
	}
	return mergeAll(files)
}

// mergeAll returns one File with the policies of all files. A number is added to names that are
// already used. Classes with the same tests become one class.
func mergeAll(files []*File) *File {
	d := &decoder{reader: newReader(new(File))}
	seen := map[*circuit]bool{}
	for _, f := range files {
		d.file.matchText = d.file.matchText || f.matchText
		renamed := map[retry.Class]retry.Class{}
		for _, c := range f.classes {
			renamed[retry.Class(c.name)] = d.class(c)
		}
		scopes := map[string]string{}
		for _, s := range f.scopes {
			scopes[s.name] = d.scopeNames.unique(s.name)
			s.rename(scopes[s.name], scopes)
		}
		for _, s := range f.groups {
			s.name = d.groupNames.unique(s.name)
		}
		d.file.scopes = append(d.file.scopes, f.scopes...)
		d.file.groups = append(d.file.groups, f.groups...)
		for _, p := range f.Policies {
			p.Scope = scopes[p.Scope]
			d.merge(p, renamed)
			if b := p.breaker; b != nil && !seen[b] {
				seen[b] = true
				b.Name = d.breakerNames.unique(b.Name)
			}
		}
	}
	return d.file
}

// merge adds a policy of another file. It changes the names in the policy and in its classes,
// which that file shares.
func (d *decoder) merge(p *Policy, renamed map[retry.Class]retry.Class) {
	p.Name = d.policyNames.unique(p.Name)
	for _, list := range [][]retry.Class{p.RetryOn, p.AbortOn} {
		for i, c := range list {
			if to, ok := renamed[c]; ok {
				list[i] = to
			}
		}
	}
	for i := range p.PerError {
		if to, ok := renamed[p.PerError[i].Class]; ok {
			p.PerError[i].Class = to
		}
	}
	d.file.Policies = append(d.file.Policies, p)
}
