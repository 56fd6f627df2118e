package main

import (
	"cmp"
	"fmt"
	"go/format"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/internal/atomicfile"
)

// An edit replaces the bytes of a file from start to end.
type edit struct {
	file       string
	start, end int
	text       string
}

// editsOf returns the edits of the first fix of a diagnostic.
func editsOf(d analysis.Diagnostic, offset func(analysis.TextEdit) (file string, start, end int)) (edits []edit) {
	if len(d.SuggestedFixes) == 0 {
		return nil
	}
	for _, e := range d.SuggestedFixes[0].TextEdits {
		file, start, end := offset(e)
		edits = append(edits, edit{file, start, end, string(e.NewText)})
	}
	return edits
}

// fix applies the fixes of findings to their files, or, if dry, only shows what
// would change. It returns the findings that have no fix, or are left when dry.
func fix(findings []finding, dry bool, stdout io.Writer, dir string) ([]finding, error) {
	byFile := map[string][]edit{}
	var left []finding
	for _, f := range findings {
		if len(f.edits) == 0 || dry {
			left = append(left, f)
		}
		for _, e := range f.edits {
			byFile[e.file] = append(byFile[e.file], e)
		}
	}
	files := make([]string, 0, len(byFile))
	for file := range byFile {
		files = append(files, file)
	}
	slices.Sort(files)
	for _, file := range files {
		before, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		after, err := format.Source(apply(before, byFile[file]))
		if err != nil {
			return nil, fmt.Errorf("%s: fixed, it would not parse: %w", file, err)
		}
		if !dry {
			if err := atomicfile.Write(file, after); err != nil {
				return nil, err
			}
			continue
		}
		name := file
		if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
		if _, err := stdout.Write(diff.Diff(name, before, name, after)); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// apply returns a text with edits, of those that overlap the first.
func apply(text []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.start, b.start), strings.Compare(a.text, b.text)) })
	var out []byte
	last := 0
	for _, e := range edits {
		if e.start < last {
			continue // the same fix again, from the test variant, or one that it excludes
		}
		out = append(append(out, text[last:e.start]...), e.text...)
		last = e.end
	}
	return append(out, text[last:]...)
}
