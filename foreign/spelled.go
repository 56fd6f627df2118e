package foreign

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// spelled returns words as the document spells them. A system may accept several spellings, such as
// start_to_close_timeout for startToCloseTimeout. A field that the document does not have is spelled like a
// field that it has.
func (p *Policy) spelled(w words) words {
	if p == nil {
		return w
	}
	own, like := maps.Clone(w), ""
	for _, field := range slices.Sorted(maps.Keys(w)) {
		place := field
		if field == countsRetries {
			place = "max_attempts"
		}
		if v := p.places[place]; v != nil && v.key != w[field] && folded(v.key) == folded(w[field]) {
			own[field], like = v.key, cmp.Or(like, v.key)
		}
	}
	if like == "" {
		return own
	}
	for field, name := range own {
		if name == w[field] && !strings.HasPrefix(name, fixed) {
			own[field] = spelledLike(like, name)
		}
	}
	return own
}

// spelledLike returns the name of a field in the spelling of a key. What follows the name, such as a value,
// stays the same.
func spelledLike(key, name string) string {
	end := strings.IndexFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_' || r == '-')
	})
	if end < 0 {
		end = len(name)
	}
	if end == 0 {
		return name
	}
	if strings.ContainsAny(key, "_-") || 'A' <= key[0] && key[0] <= 'Z' {
		return spelledAs(key, []string{name[:end]})[0] + name[end:]
	}
	parts := strings.FieldsFunc(name[:end], func(r rune) bool { return r == '_' || r == '-' })
	for i, part := range parts[min(1, len(parts)):] {
		parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
	}
	return strings.Join(parts, "") + name[end:]
}
