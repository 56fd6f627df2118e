// Package assist answers an editor's questions about a policy file that is being written:
// what is wrong, what can be written here, what something means, where it is defined, and
// how to correct it. Both the language server and the playground use it.
//
// Positions are as in package policy: lines and columns start at 1, and columns count
// bytes.
package assist

import (
	"bytes"
	"sync"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/format"
)

// A Document is one version of the text of a policy file. It never changes, and its
// methods may be called concurrently.
type Document struct {
	Name string
	Text []byte

	lines []int // where each line begins

	// Computed on first use.
	read      func() reading
	outline   func() *item
	canonical func() []Edit
}

// A reading is what package policy reads of a text.
type reading struct {
	file     *policy.File // nil: the text is not YAML
	problems []policy.Problem
}

// New returns a document with a copy of text. The first method call that has to parse the
// policy file takes longer than later calls, which reuse the result.
func New(name string, text []byte) *Document {
	d := &Document{Name: name, Text: bytes.Clone(text), lines: []int{0}}
	for i, c := range d.Text {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	d.read = sync.OnceValue(func() reading {
		file, problems, _ := policy.Read(name, d.Text)
		return reading{file, problems}
	})
	d.outline = sync.OnceValue(func() *item { return scan(d.Text).root })
	d.canonical = sync.OnceValue(func() []Edit {
		canonical, problems := format.Source(name, d.Text)
		if problems != nil {
			return nil
		}
		return d.Changes(canonical)
	})
	return d
}

// Problems returns the problems of the file, sorted.
func (d *Document) Problems() []policy.Problem { return d.read().problems }

// File returns the parts of the file that could be read, or nil if it is not YAML.
func (d *Document) File() *policy.File { return d.read().file }

// A Range is a part of the text.
type Range struct{ Start, End policy.Pos }

// Underlined returns the part of the text to which a problem refers.
func (d *Document) Underlined(p policy.Problem) Range {
	start := d.Offset(p.Pos)
	end := start + p.Width
	if p.Width == 0 {
		for end < len(d.Text) && !bytes.ContainsRune([]byte(" \t:,{}[]\r\n"), rune(d.Text[end])) {
			end++
		}
	}
	return Range{d.Place(start), d.Place(min(end, d.lineEnd(start)))}
}

// Offset returns the offset of a position, or the nearest offset if the position is not
// in the text.
func (d *Document) Offset(at policy.Pos) int {
	line := min(max(at.Line, 1), len(d.lines))
	start := d.lines[line-1]
	return min(start+max(at.Col-1, 0), d.lineEnd(start))
}

// lineEnd returns the end of the line that contains an offset, before its newline.
func (d *Document) lineEnd(i int) int {
	if n := bytes.IndexByte(d.Text[i:], '\n'); n > 0 && d.Text[i+n-1] == '\r' {
		return i + n - 1
	} else if n >= 0 {
		return i + n
	}
	return len(d.Text)
}

// Place returns the position at an offset.
func (d *Document) Place(i int) policy.Pos {
	low, high := 0, len(d.lines)
	for high-low > 1 {
		if middle := (low + high) / 2; d.lines[middle] <= i {
			low = middle
		} else {
			high = middle
		}
	}
	return policy.Pos{Line: low + 1, Col: i - d.lines[low] + 1}
}

func (d *Document) span(start, end int) Range { return Range{d.Place(start), d.Place(end)} }

// A Lens is a fact about a policy that an editor shows above it.
type Lens struct {
	Policy string
	At     Range // range of the policy's name
	Text   string
}

// Lenses returns the worst case of each policy without errors, in the order of the file.
func (d *Document) Lenses() (list []Lens) {
	file := d.File()
	if file == nil {
		return nil
	}
	for _, p := range file.Policies {
		if p.Broken || p.Pos.Line < 1 || p.Pos.Line > len(d.lines) {
			continue
		}
		start := d.Offset(p.Pos)
		list = append(list, Lens{p.Name, d.span(start, start+len(p.Name)), "at worst: " + p.Worst().String()})
	}
	return list
}
