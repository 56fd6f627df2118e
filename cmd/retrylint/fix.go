package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"io"
	"os"
	"slices"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/retrygen/retrygen/internal/atomicfile"
)

// An edit replaces the bytes of a file from start to end.
type edit struct {
	file       string
	start, end int
	text       string
}

// fix applies the fixes of findings to their files. If dry is set, it only prints a
// diff to stdout. It returns the files that have a fix. If fixes overlap, it
// applies the first one.
func fix(findings []finding, dry bool, stdout io.Writer, dir string) (fixed []string, err error) {
	byFile := map[string][]edit{}
	for _, f := range findings {
		if slices.ContainsFunc(f.edits, func(e edit) bool { return slices.ContainsFunc(byFile[e.file], e.overlaps) }) {
			continue
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
		after, err := layOut(before, apply(before, byFile[file]))
		if err != nil {
			return nil, fmt.Errorf("%s: fixed, it would not parse: %w", file, err)
		}
		if !dry {
			if err := atomicfile.Write(file, after); err != nil {
				return nil, err
			}
			continue
		}
		name := relative(file, dir)
		if _, err := stdout.Write(diff.Diff(name, before, name, after)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (e edit) overlaps(other edit) bool {
	return e.start < other.end && other.start < e.end || e.start == other.start
}

// layOut formats edited text in the style of the text before: with gofmt if that
// was formatted, and with the same line endings. It does not format a text with
// mixed line endings.
func layOut(before, edited []byte) ([]byte, error) {
	carriage := bytes.Contains(before, []byte("\r\n"))
	if carriage && bytes.Count(before, []byte("\r\n")) != bytes.Count(before, []byte("\n")) {
		_, err := format.Source(edited)
		return edited, err
	}
	if carriage {
		before, edited = bytes.ReplaceAll(before, []byte("\r\n"), []byte("\n")), bytes.ReplaceAll(edited, []byte("\r\n"),
			[]byte("\n"))
	}
	after, err := format.Source(edited)
	if err != nil {
		return nil, err
	}
	if was, err := format.Source(before); err != nil || !bytes.Equal(was, before) {
		after = edited
	}
	if carriage {
		after = bytes.ReplaceAll(after, []byte("\n"), []byte("\r\n"))
	}
	return after, nil
}

// apply returns the text with edits applied, which must not overlap.
func apply(text []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(append(out, text[last:e.start]...), e.text...)
		last = e.end
	}
	return append(out, text[last:]...)
}
