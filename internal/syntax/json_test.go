package syntax

import "testing"

// roots returns the roots of the documents of a text, which has no problems.
func roots(t *testing.T, text string) (list []*Node) {
	t.Helper()
	for _, doc := range File([]byte(text)).Documents() {
		for _, p := range doc.Problems {
			t.Errorf("%v: %s", p.Span, p.Text)
		}
		if doc.Place(); doc.Root != nil {
			list = append(list, doc.Root)
		}
	}
	return list
}

// TestDocumentsReadJSON: JSON that is not YAML has the values and the positions of
// its text.
func TestDocumentsReadJSON(t *testing.T) {
	text := "{\n\t\"é\": \"\\ud83d\\ude00 \\ud83d\", \"a\\/b\": [1e2,\n\ttrue, null, 12345678901234567890, {}]}\n"
	docs := roots(t, text)
	if len(docs) != 1 || len(docs[0].Entries) != 2 {
		t.Fatalf("got %d documents: %+v", len(docs), docs)
	}
	first, second := docs[0].Entries[0], docs[0].Entries[1]
	if first.Key != "é" || first.Value.Value != "\U0001f600 \ufffd" || first.At.Line != 2 || first.At.Col != 2 {
		t.Errorf("got %q: %q at %v", first.Key, first.Value.Value, first.At)
	}
	if second.Key != "a/b" || second.At.Col != 31 {
		t.Errorf("got %q at %v", second.Key, second.At)
	}
	for i, want := range []any{100.0, true, nil, "12345678901234567890"} {
		if got := second.Value.Items[i].Value; got != want {
			t.Errorf("item %d is %v; want %v", i, got, want)
		}
	}
	if at := second.Value.Items[1].Span; at.Line != 3 || at.Col != 2 {
		t.Errorf("true is at %v", at)
	}
}

// TestDocumentsKeepsText: what JSON has no value for is text in the files of other
// systems, of which there may be several in one file.
func TestDocumentsKeepsText(t *testing.T) {
	text := "# nothing\n---\n1: 2024-01-15\nb: !Ref x\nc: .inf\n---\nd: 0x10\n"
	docs := roots(t, text)
	if len(docs) != 2 {
		t.Fatalf("got %d documents", len(docs))
	}
	for i, want := range []any{"2024-01-15", "x", ".inf"} {
		if got := docs[0].Entries[i].Value.Value; got != want {
			t.Errorf("%s is %v; want %v", docs[0].Entries[i].Key, got, want)
		}
	}
	if got := docs[1].Get("d").Value.Value; got != int64(16) {
		t.Errorf("d is %v", got)
	}
}
