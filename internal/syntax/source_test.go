package syntax

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSourceLocatesNodes: every key and every scalar of the policies in testdata
// is found in the text, at the place that its node has.
func TestSourceLocatesNodes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "policies", "ok", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		root := Parse(text, func(f Problem) { t.Errorf("%s:%d:%d: %s", name, f.Span.Line, f.Span.Col, f.Text) })
		if root == nil {
			t.Fatalf("%s: no document", name)
		}
		locate(t, NewSource(text), root)
	}
}

// locate looks for the keys and the scalars of a node.
func locate(t *testing.T, s *Source, n *Node) {
	t.Helper()
	for i := range n.Entries {
		e := &n.Entries[i]
		start, end, ok := s.Key(e)
		if !ok || string(s.Text[start:end]) != e.Key || s.Line(start) != e.At.Line {
			t.Errorf("key %q of line %d is not found: %d, %d, %v", e.Key, e.At.Line, start, end, ok)
		}
		if !e.Value.Form.Alias {
			locate(t, s, e.Value)
		}
	}
	for _, item := range n.Items {
		locate(t, s, item)
	}
	if n.IsMap() || n.IsList() || n.Text == "" || n.Form.Block {
		return
	}
	start, end, ok := s.Word(n)
	if !ok || string(s.Text[start:end]) != n.Text || s.Line(start) != n.Line {
		t.Errorf("%q of line %d is not found: %d, %d, %v", n.Text, n.Line, start, end, ok)
	}
	if nodeEnd, ok := s.End(n); !ok || nodeEnd < end {
		t.Errorf("the end of %q on line %d is %d, %v", n.Text, n.Line, nodeEnd, ok)
	}
}

// TestComments: a # in quotes, in plain text or in a block of text begins no
// comment.
func TestComments(t *testing.T) {
	text := []byte("a: b#c # one\nd: 'e # f'\ng: |\n  # h\ni: {j: k} # two\n")
	root := Parse(text, func(f Problem) { t.Error(f.Text) })
	got := NewSource(text).CommentsByLine(root)
	if len(got) != 2 || got[1].Text != "# one" || got[5].Text != "# two" {
		t.Errorf("comments are %v, want # one on line 1 and # two on line 5", got)
	}
}
