package foreign

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/format"
	"github.com/retrygen/retrygen/policy/rules"
)

var update = flag.Bool("update", false, "rewrite the .want files")

// samples returns the files of testdata, one folder for each kind.
func samples(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, format := range []string{"json", "yaml", "properties", "tf", "conf", "cfg"} {
		found, err := filepath.Glob("testdata/*/*." + format)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatal("no files in testdata")
	}
	slices.Sort(files)
	return files
}

// TestKindsAreDocumented: each kind has samples, and a row in the table of systems.
func TestKindsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "systems", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range Kinds() {
		if found, _ := filepath.Glob(filepath.Join("testdata", kind.Name, "*")); len(found) == 0 {
			t.Errorf("no samples of %s: put documents into testdata/%[1]s, and run go test ./foreign -update", kind.Name)
		}
		if !strings.Contains(string(text), "`"+kind.Name+"`") {
			t.Errorf("`%s` is not in the table of docs/systems/README.md: add a row", kind.Name)
		}
	}
}

// TestSamples compares the problems of each file in testdata, its policy file and
// the document that this policy file results in with its .want file.
func TestSamples(t *testing.T) {
	for _, name := range samples(t) {
		t.Run(filepath.ToSlash(strings.TrimPrefix(name, "testdata"+string(filepath.Separator))), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := result(t, filepath.Base(name), text)
			if !MayHavePolicies(text) {
				t.Error("MayHavePolicies returns false, so that check of a folder skips the file: add a word to hints")
			}
			want, err := os.ReadFile(name + ".want")
			if *update {
				if err := os.WriteFile(name+".want", got, 0o666); err != nil {
					t.Fatal(err)
				}
			} else if err != nil {
				t.Fatalf("%v: run go test ./foreign -update, and read what it writes", err)
			} else if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestLanguageOfKind: a file without the usual name is read in the language of its kind.
func TestLanguageOfKind(t *testing.T) {
	const site = "server { location / { proxy_pass http://10.0.0.1; proxy_next_upstream error; } }\n"
	for _, tt := range []struct{ kind, text, want string }{
		{"nginx", site, "finds no other server"},
		{"nginx", "a: [1\n", "this is no nginx configuration"},
		{"haproxy", "backend a\n  retry-on 5xx\n", "HAProxy refuses \"5xx\""},
	} {
		_, problems := Check("default", []byte(tt.text), Options{From: ByName(tt.kind)})
		if len(problems) != 1 || !strings.Contains(problems[0].Text, tt.want) {
			t.Errorf("%s: got %v, want %s", tt.kind, problems, tt.want)
		}
	}
}

// result returns the problems of a file, its policies and its export.
func result(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	var out txtar.Archive
	section := func(title string, data []byte) {
		if len(data) > 0 {
			out.Files = append(out.Files, txtar.File{Name: title, Data: data})
		}
	}
	var found bytes.Buffer
	f, problems := Check(name, text, Options{})
	for _, p := range append(problems, f.Unread...) {
		if len(p.Text) > 200 {
			t.Errorf("this message is longer than 200 characters: %s", p.Text)
		}
		fmt.Fprintln(&found, p)
	}
	section("check", found.Bytes())
	if len(f.Kinds) == 0 {
		return txtar.Format(&out)
	}
	own := PolicyFile(f)
	section("import", own)
	sameFormat(t, own)
	if k := f.Kinds[0]; len(f.Kinds) == 1 && k.Exports() {
		exported, losses, problems := Export(k, "retry.yaml", own)
		if problems == nil {
			var lost bytes.Buffer
			for _, l := range losses {
				fmt.Fprintln(&lost, l)
			}
			section("export", exported)
			section("export losses", lost.Bytes())
			sameAgain(t, k, own, exported, len(losses) == 0)
		}
	}
	return txtar.Format(&out)
}

// sameFormat checks that retrygen fmt does not change a text.
func sameFormat(t *testing.T, own []byte) {
	t.Helper()
	formatted, problems := format.Source("retry.yaml", own)
	if problems != nil {
		t.Errorf("retrygen fmt refuses the policy file: %v", problems)
	} else if d := cmp.Diff(string(own), string(formatted)); d != "" {
		t.Errorf("retrygen fmt changes the policy file: %s", d)
	}
}

// comments matches the lines of comments, except what policies apply to.
var comments = regexp.MustCompile(`(?m)^ *# (Imported|lost).*\n`)

// sameAgain checks that an exported document has the same policies again. If the
// document lost a part of them, only a further export must be the same.
func sameAgain(t *testing.T, k *Kind, own, exported []byte, lossless bool) {
	t.Helper()
	again, problems := Read("again", exported, Options{})
	if len(again.Kinds) == 0 {
		t.Fatalf("the exported document cannot be read: %v", problems)
	}
	for _, p := range problems {
		t.Errorf("exported document: %v", p)
	}
	strip := func(text []byte) string { return comments.ReplaceAllString(string(text), "") }
	imported := PolicyFile(again)
	if d := cmp.Diff(strip(own), strip(imported)); d != "" && lossless {
		t.Errorf("import, export and import changes the policies: %s", d)
	}
	twice, _, problems := Export(k, "retry.yaml", imported)
	for _, p := range problems {
		t.Errorf("policies of the exported document: %v", p)
	}
	if d := cmp.Diff(string(exported), string(twice)); d != "" {
		t.Errorf("a second export differs: %s", d)
	}
}

// FuzzCheck checks that no text causes a panic, and that positions are within the
// text.
func FuzzCheck(f *testing.F) {
	for _, name := range samples(f) {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(filepath.Ext(name), text)
	}
	f.Fuzz(func(t *testing.T, format string, text []byte) {
		lines := bytes.Split(text, []byte("\n"))
		file, problems := Check("fuzz"+format, text, Options{})
		for _, p := range append(problems, file.Unread...) {
			if p.Line < 1 || p.Line > len(lines) || p.Col < 1 || p.Col > len(lines[p.Line-1])+1 {
				t.Errorf("the position of %v is not in the text", p)
			}
		}
		if len(file.Kinds) == 0 {
			return
		}
		own := PolicyFile(file)
		_, problems = policy.Check("retry.yaml", own)
		for _, p := range problems {
			if p.Severity == rules.Error && slices.Contains(textRules, p.Rule) {
				t.Errorf("import writes a policy file with a mistake in its language: %v\n%s", p, own)
			}
		}
	})
}

// textRules are the rules that only a mistake of this package can break.
var textRules = []string{"P100", "P101", "P103", "P104", "P105", "P107", "P109", "P901", "P903", "P907"}
