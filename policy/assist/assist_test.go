package assist

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/format"
	"github.com/retrygen/retrygen/schema"
)

var update = flag.Bool("update", false, "write the answers of testdata")

// mark is where the question is asked.
const mark = "‸"

// TestAnswers asks each question of testdata. In the archive, the answer follows a
// question, and its name ends with ".want".
func TestAnswers(t *testing.T) {
	for kind, ask := range map[string]func(*Document, policy.Pos) string{
		"complete": complete, "hover": hover, "definition": definition, "fix": fix,
	} {
		name := "testdata/" + kind + ".txtar"
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, f := range archive.Files {
			if question, ok := strings.CutSuffix(f.Name, ".want"); ok {
				want[question] = string(f.Data)
			}
		}
		answers := txtar.Archive{Comment: archive.Comment}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".want") {
				continue
			}
			text := string(f.Data)
			before, after, found := strings.Cut(text, mark)
			if !found {
				t.Fatalf("%s: %s has no %s", name, f.Name, mark)
			}
			d := New("retry.yaml", []byte(before+after))
			got := ask(d, d.Place(len(before)))
			answers.Files = append(answers.Files, f, txtar.File{Name: f.Name + ".want", Data: []byte(got)})
			if diff := cmp.Diff(want[f.Name], got); diff != "" && !*update {
				t.Errorf("%s: %s (-want +got):\n%s", kind, f.Name, diff)
			}
		}
		if *update {
			if err := os.WriteFile(name, txtar.Format(&answers), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// symbols stand for a Go package.
var symbols = []Symbol{
	{
		Name: "Client.Fetch", Signature: "func (c *Client) Fetch(ctx context.Context, id string) (*User, error)",
		Params: []string{"context.Context", "string"}, Results: []string{"*User", "error"}, Doc: "Fetch reads.",
	},
	{
		Name: "Client.cached", Signature: "func (c *Client) cached(ctx context.Context, id string, err error) (*User, error)",
		Params: []string{"context.Context", "string", "error"}, Results: []string{"*User", "error"},
	},
	{Name: "Store", Signature: "type Store interface", IsWhole: true},
	{
		Name: "Store.Get", Signature: "Get(ctx context.Context, keys ...string) error",
		Params: []string{"context.Context", "...string"}, Results: []string{"error"},
	},
	{
		Name: "checkUser", Signature: "func checkUser(u *User) error",
		Params: []string{"*User"}, Results: []string{"error"},
	},
	{Name: "closeUser", Signature: "func closeUser(u *User)", Params: []string{"*User"}},
	{
		Name: "guest", Signature: "func guest(ctx context.Context, id string, err error) (*User, error)",
		Params: []string{"context.Context", "string", "error"}, Results: []string{"*User", "error"},
	},
	{
		Name: "nothing", Signature: "func nothing(ctx context.Context, keys []string, err error) error",
		Params: []string{"context.Context", "[]string", "error"}, Results: []string{"error"},
	},
}

func complete(d *Document, at policy.Pos) string {
	var b strings.Builder
	for i, c := range d.Complete(at, symbols) {
		if i == 0 {
			fmt.Fprintf(&b, "replace %q\n", d.Text[d.Offset(c.Range.Start):d.Offset(c.Range.End)])
		}
		fmt.Fprintf(&b, "%-16s %-34q %s\n", c.Label, c.Insert, c.Detail)
	}
	return b.String()
}

func hover(d *Document, at policy.Pos) string {
	h, ok := d.Hover(at, symbols)
	if !ok {
		return "nothing\n"
	}
	return fmt.Sprintf("%q\n%s\n", d.Text[d.Offset(h.Range.Start):d.Offset(h.Range.End)], h.Text)
}

func definition(d *Document, at policy.Pos) string {
	to, ok := d.Definition(at, symbols)
	switch {
	case !ok:
		return "nothing\n"
	case to.Symbol != "":
		return "the Go symbol " + to.Symbol + "\n"
	}
	return fmt.Sprintf("line %d, column %d\n", to.At.Start.Line, to.At.Start.Col)
}

// fix prints the fixes at a position, and the lines that they change.
func fix(d *Document, at policy.Pos) string {
	var fixes []Fix
	for _, p := range d.Problems() {
		if f, ok := d.Fix(p); ok && p.Line == at.Line {
			fixes = append(fixes, f)
		}
	}
	if f, ok := d.Respell(Range{at, at}); ok {
		fixes = append(fixes, f)
	}
	var b strings.Builder
	for _, f := range fixes {
		fmt.Fprintln(&b, f.Title)
		for _, e := range f.Edits {
			start, end := d.Offset(e.Range.Start), d.Offset(e.Range.End)
			fmt.Fprintf(&b, "  %q for %q\n", e.Text, d.Text[start:end])
		}
	}
	return b.String()
}

// FuzzQuestions asks every question at every place of a text.
func FuzzQuestions(f *testing.F) {
	for _, kind := range []string{"complete", "hover", "definition", "fix"} {
		archive, err := txtar.ParseFile("testdata/" + kind + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1000 {
			return
		}
		d := New("retry.yaml", text)
		for i := range len(text) + 1 {
			at := d.Place(i)
			for _, c := range d.Complete(at, symbols) {
				if start, end := d.Offset(c.Range.Start), d.Offset(c.Range.End); start > i || i > end || c.Insert == "" {
					t.Fatalf("offset %d: %q replaces %d to %d", i, c.Insert, start, end)
				}
			}
			d.Hover(at, symbols)
			d.Definition(at, symbols)
			d.Respell(Range{at, at})
		}
		d.Lenses()
		for _, p := range d.Problems() {
			d.Fix(p)
		}
		if canonical, problems := format.Source(d.Name, text); problems == nil {
			if got := d.apply(d.Canonical()); got != string(canonical) {
				t.Errorf("the edits of the canonical spelling make\n%s\nwant\n%s", got, canonical)
			}
		}
	})
}

// apply returns the text with edits, which are in its order.
func (d *Document) apply(edits []Edit) string {
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.Write(d.Text[at:d.Offset(e.Range.Start)])
		b.WriteString(e.Text)
		at = d.Offset(e.Range.End)
	}
	b.Write(d.Text[at:])
	return b.String()
}

// TestTyping types the policy files of the examples: before each letter of a key and of a
// word of the language, it must be offered, whether the rest of the file follows or not.
func TestTyping(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/retry.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		crlf := bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
		for _, text := range [][]byte{text, crlf} {
			typed(t, name, text, New(name, text).outline())
		}
	}
}

func typed(t *testing.T, name string, text []byte, in *item) {
	t.Helper()
	at, ok := schema.At(in.path()...)
	if in.value != "" && ok && slices.Contains(at.Words, in.value) {
		offered(t, name, text, in.from, in.to, in.value)
	}
	for _, it := range in.items {
		if it.colon && slices.Contains(at.Keys, it.key) {
			offered(t, name, text, it.start, it.end, it.key)
		}
		typed(t, name, text, it)
	}
}

func offered(t *testing.T, name string, text []byte, start, end int, word string) {
	t.Helper()
	for i := start; i < end; i++ {
		rest := text[i:]
		rest = rest[max(0, bytes.IndexByte(rest, '\n')):]
		for _, rest := range [][]byte{nil, rest, text[i:]} {
			d := New(name, slices.Concat(text[:i], rest))
			isWord := func(c Completion) bool { return c.Label == word }
			if list := d.Complete(d.Place(i), nil); !slices.ContainsFunc(list, isWord) {
				t.Errorf("%s:%d: %s is not offered after %q; the rest is %.10q", name, d.Place(i).Line, word,
					text[max(0, i-20):i], rest)
				return
			}
		}
	}
}
