package foreign

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/spelling"
	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// lose adds a loss. The assign method determines the policy to which it belongs. A value that
// several policies share is reported as lost only once.
func (d *decoder) lose(v *value, misspelled bool, why string) {
	if slices.Contains(v.lost, why) {
		return
	}
	v.lost = append(v.lost, why)
	d.file.Losses = append(d.file.Losses, Loss{
		File: d.file.Name, Pos: policy.Pos{Line: v.at.Line, Col: v.at.Col}, Width: v.at.Width,
		Path: v.path, Why: why, misspelled: misspelled, key: v.key, open: isOpen(v.n),
	})
}

// repeated reports fields that were read but are written more than once. This includes fields
// in parts of a value that has another mistake.
func (d *decoder) repeated(v *value) {
	for _, e := range v.n.Repeated {
		if f := v.fields[e.Key]; f != nil && !f.skipped {
			d.problem(e.At, "P102", rules.Error,
				fmt.Sprintf("%s is a duplicate key, first on line %d: remove one", e.Key, f.at.Line))
		}
	}
	for _, e := range v.n.Entries {
		if f := v.fields[e.Key]; f != nil {
			d.repeated(f)
		}
	}
	for _, item := range v.list {
		d.repeated(item)
	}
}

// unread adds a loss for each part of a value that has not been read.
func (d *decoder) unread(v *value) {
	switch {
	case v.done, (v.n.IsMap() || v.n.IsList()) && len(v.n.Entries)+len(v.n.Items) == 0:
		return
	case !v.n.IsMap() && v.list == nil, v.n.IsMap() && v.asked == nil && v.absent == nil:
		if _, known := v.scalar("text"); known || v.n.IsMap() || v.n.IsList() { // or else its value is the reason
			d.lose(v, false, "nothing reads it here")
		}
		return
	}
	for _, e := range v.n.Entries {
		if f, read := v.fields[e.Key]; f != nil {
			d.unread(f)
		} else if !read && !e.Value.IsNull() {
			d.unknown(v, e)
		}
	}
	for _, item := range v.list {
		d.unread(item)
	}
}

// unknown adds a loss for an entry that is not a field of its map. If it resembles a field, a
// warning is reported.
func (d *decoder) unknown(v *value, e syntax.Entry) {
	why := d.kind.Title + " has no such field here"
	near := spelling.Nearest(e.Key, slices.AppendSeq(spelledAs(e.Key, v.absent), maps.Keys(v.asked)))
	if near != "" {
		why = fmt.Sprintf("%s has no field %s here: did you mean %s?", d.kind.Title, syntax.Quote(e.Key), near)
	}
	d.lose(v.child(e), near != "", why)
}

// spelledAs returns names in the style in which a key is spelled: maximum_attempts,
// maximum-attempts, MaximumAttempts or maximumAttempts.
func spelledAs(key string, names []string) (spelled []string) {
	for _, name := range names {
		i := strings.IndexAny(key, "_-")
		switch {
		case i >= 0:
			name = strings.ReplaceAll(nameOf(name), "_", key[i:i+1])
		case key != "" && 'A' <= key[0] && key[0] <= 'Z':
			name = strings.ToUpper(name[:1]) + name[1:]
		}
		spelled = append(spelled, name)
	}
	return spelled
}

// child returns the value of an entry that has not been read.
func (v *value) child(e syntax.Entry) *value {
	path := e.Key
	if v.path != "" {
		path = v.path + "." + path
	}
	return &value{d: v.d, n: e.Value, key: e.Key, path: path, at: e.At}
}
