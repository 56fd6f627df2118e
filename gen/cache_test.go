package gen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A module is one in a folder of a test.
type module struct {
	testing.TB
	dir   string
	files map[string]string
}

// long is a time of which no file system leaves doubt.
var long = time.Now().Add(-time.Hour)

// write makes the file, last written long ago; an empty text removes it.
func (m module) write(name, text string) {
	m.Helper()
	name = filepath.Join(m.dir, name)
	if text == "" {
		if err := os.Remove(name); err != nil {
			m.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		m.Fatal(err)
	}
	if err := os.Chtimes(name, long, long); err != nil {
		m.Fatal(err)
	}
}

func newModule(t testing.TB, files map[string]string) module {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	// Runs of this test do not depend on settings of whoever runs it.
	for _, name := range []string{"GOENV", "GOWORK"} {
		t.Setenv(name, "off")
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	m := module{t, filepath.Join(t.TempDir(), "shop"), files}
	m.write("go.mod", fmt.Sprintf(`module example.com/shop

go 1.26.0

require (
	example.com/api v0.0.0
	github.com/retrygen/retrygen v0.0.0
)

replace (
	example.com/api => ../api
	github.com/retrygen/retrygen => %s
)
`, root))
	m.write("../api/go.mod", "module example.com/api\n\ngo 1.26.0\n")
	m.write("../api/api.go", "package api\n\ntype T = string\n")
	for name, text := range files {
		m.write(name, text)
	}
	return m
}

// run generates, commits, and reports whether packages were loaded.
func (m module) run(config Config) (result *Result, loaded bool) {
	m.Helper()
	config.Dir, config.Cache = m.dir, filepath.Join(m.dir, "..", "cache")
	config.Progress = func(string) { loaded = true }
	result, err := Generate(m.Context(), config)
	if err != nil {
		m.Fatal(err)
	}
	if err := result.Commit(); err != nil {
		m.Fatal(err)
	}
	return result, loaded
}

var shop = map[string]string{
	"go.sum":     "\n",
	"retry.yaml": "version: 1\npolicies: {read: {max_attempts: 2}}\nbind: {Get: read}\n",
	"shop.go": "package shop\n\nimport (\n\t\"example.com/api\"\n\t\"example.com/shop/user\"\n)\n\n" +
		"// Get gets.\nfunc Get(user.ID) (api.T, error) { return \"\", nil }\n",
	"user/user.go": "package user\n\nimport \"example.com/shop/name\"\n\ntype ID = name.Name\n",
	"name/name.go": "package name\n\ntype Name = int\n",
	"other/o.go":   "package other\n",
}

// TestUnchanged changes one thing after another, so that neither times nor
// sizes show it.
func TestUnchanged(t *testing.T) {
	m := newModule(t, shop)
	settle := func(t *testing.T) {
		t.Helper()
		m.run(Config{})
		m.run(Config{}) // the first may have had something to remove
		if r, loaded := m.run(Config{}); loaded || len(r.Changed()) > 0 || len(r.Files) != 1 {
			t.Errorf("packages were loaded though nothing had changed; %d files of %d changed", len(r.Changed()), len(r.Files))
		}
	}
	settle(t)
	output, err := os.ReadFile(filepath.Join(m.dir, OutputName))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, file, old, new string }{
		{"policy", "retry.yaml", "max_attempts: 2", "max_attempts: 3"},
		{"code", "shop.go", "Get gets", "Get dogs"},
		{"import", "user/user.go", "name.Name", "int32\nvar _ name.Name"},
		{"import of an import", "name/name.go", "int", "int8"},
		{"replaced module", "../api/api.go", "string", "[]byte"},
		{"new file", "new.go", "", "package shop\n"},
		{"test", "shop_test.go", "", "package shop\n"},
		{"module", "go.mod", "go 1.26.0", "go 1.26"},
		{"sums", "go.sum", "\n", "\n\n"},
		{"module above", "../go.mod", "", "module above\n"},
		{"replacing module", "../api/go.mod", "go 1.26.0", "go 1.26"},
		{"sums of a replacing module", "../api/go.sum", "", "\n"},
		{"nested module", "user/go.sum", "", "\n"},
		{"another policy file", "other/retry.yaml", "", "version: 1\npolicies: {}\n"},
		{"output", OutputName, "policyRead", "policyReed"},
		{"output removed", OutputName, string(output), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			m.TB = t
			before, err := os.ReadFile(filepath.Join(m.dir, test.file))
			if err != nil && test.old != "" {
				t.Fatal(err)
			}
			m.write(test.file, strings.Replace(string(before), test.old, test.new, 1))
			if _, loaded := m.run(Config{}); !loaded {
				t.Errorf("packages were not loaded")
			}
			m.write(test.file, string(before))
			if test.file != OutputName {
				settle(t)
			}
		})
	}
}

// TestUnchangedWorkspace changes modules that are not read, but whose
// requirements decide on the versions of those that are.
func TestUnchangedWorkspace(t *testing.T) {
	m := newModule(t, shop)
	for _, name := range []string{"GOWORK", "GOFLAGS"} {
		t.Setenv(name, "")
	}
	m.write("../go.work", "go 1.26.0\n\nuse (\n\t./shop\n\t./api\n\t./b\n)\n\nreplace example.com/c => ./c\n")
	for _, name := range []string{"b", "c"} {
		m.write("../"+name+"/go.mod", "module example.com/"+name+"\n\ngo 1.26.0\n")
	}
	m.run(Config{})
	if _, loaded := m.run(Config{}); loaded {
		t.Errorf("packages were loaded though nothing had changed")
	}
	for _, name := range []string{"../b/go.mod", "../b/go.sum", "../c/go.mod"} {
		text, _ := os.ReadFile(filepath.Join(m.dir, name))
		m.write(name, string(text)+"\n")
		if _, loaded := m.run(Config{}); !loaded {
			t.Errorf("%s: packages were not loaded", name)
		}
	}
}

// TestUnchangedSettings changes what is no file of the packages.
func TestUnchangedSettings(t *testing.T) {
	m := newModule(t, shop)
	m.run(Config{})
	for _, test := range []struct {
		name, variable, value string
		config                Config
		want                  bool
	}{
		{name: "nothing", want: true},
		{name: "tags", config: Config{Tags: "special"}},
		{name: "another pattern", config: Config{Patterns: []string{"."}}},
		{name: "an import path", config: Config{Patterns: []string{"example.com/shop"}}},
		{"flags", "GOFLAGS", "-mod=mod -trimpath", Config{}, false},
		{"system", "GOOS", "plan9", Config{}, false},
		{"architecture", "GOARCH", "s390x", Config{}, false},
		{"cgo", "CGO_ENABLED", "maybe", Config{}, false},
		{"another file of the module", "GOFLAGS", "-modfile=go.mod", Config{}, false},
		{"a workspace elsewhere", "GOWORK", "/go.work", Config{}, false},
		{"a driver", "GOPACKAGESDRIVER", "driver", Config{}, false},
		{"no go command", "PATH", "", Config{}, false},
		{"not a language", "LANG", "tlh", Config{}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.variable != "" {
				t.Setenv(test.variable, test.value)
			}
			c := test.config
			c.Dir, c.Cache = m.dir, filepath.Join(m.dir, "../cache")
			_, got := openCache(c, found{sources: []string{filepath.Join(m.dir, SourceName)}}).unchanged()
			if got != test.want {
				t.Errorf("unchanged: %v, want %v", got, test.want)
			}
		})
	}
	if _, loaded := m.run(Config{List: true}); !loaded {
		t.Errorf("a list was answered from the cache")
	}
}

// TestUnchangedWarning does not forget what an earlier run warned of.
func TestUnchangedWarning(t *testing.T) {
	m := newModule(t, shop)
	m.write("retry.yaml", "version: 1\npolicies: {flat: {backoff: {exponential: {base: 1}}}}\n")
	first, _ := m.run(Config{})
	second, loaded := m.run(Config{})
	if loaded || len(first.Problems) != 1 || len(second.Sources) != 1 ||
		fmt.Sprint(first.Problems) != fmt.Sprint(second.Problems) {
		t.Errorf("loaded %v, got %v, want %v", loaded, second.Problems, first.Problems)
	}
	if strict, _ := m.run(Config{Strict: true}); len(strict.Failed) != 1 || len(strict.Files) > 0 {
		t.Errorf("a warning passed -strict: %v", strict.Problems)
	}
}

// TestUnchangedTouched changes only times.
func TestUnchangedTouched(t *testing.T) {
	m := newModule(t, shop)
	m.run(Config{})
	now := time.Now()
	for _, name := range []string{"go.mod", "retry.yaml", "shop.go", OutputName} {
		if err := os.Chtimes(filepath.Join(m.dir, name), now, now); err != nil {
			t.Fatal(err)
		}
	}
	m.write("README.md", "no Go")
	if _, loaded := m.run(Config{}); loaded {
		t.Errorf("packages were loaded")
	}
}

// TestUnchangedLink replaces an output by a link to a file that has the same text in
// another folder.
func TestUnchangedLink(t *testing.T) {
	for _, name := range []string{OutputName, TestsName} {
		t.Run(name, func(t *testing.T) {
			m := newModule(t, shop)
			config := Config{Tests: name == TestsName}
			m.run(config)
			output, target := filepath.Join(m.dir, name), filepath.Join(t.TempDir(), "output")
			past := time.Now().Add(-time.Minute) // a run does not trust a newer file
			if err := os.Chtimes(output, past, past); err != nil {
				t.Fatal(err)
			}
			m.run(config)
			if _, loaded := m.run(config); loaded {
				t.Fatal("packages were loaded though nothing had changed")
			}
			if err := os.Rename(output, target); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, output); err != nil {
				t.Fatal(err)
			}
			r, loaded := m.run(config)
			if !loaded || len(r.Failed) != 1 || !strings.Contains(r.Problems[0].Text, "link") {
				t.Errorf("packages were loaded: %v; got problems %v, want one about the link", loaded, r.Problems)
			}
		})
	}
}

// TestLineEnds finds its output checked out with other line ends.
func TestLineEnds(t *testing.T) {
	m := newModule(t, shop)
	m.run(Config{})
	text, err := os.ReadFile(filepath.Join(m.dir, OutputName))
	if err != nil {
		t.Fatal(err)
	}
	m.write(OutputName, strings.ReplaceAll(string(text), "\n", "\r\n"))
	for _, config := range []Config{{}, {List: true}} {
		if r, loaded := m.run(config); len(r.Changed()) > 0 || loaded != config.List {
			t.Errorf("packages were loaded: %v; diff:\n%s", loaded, r.Diff())
		}
	}
	if r, _ := m.run(Config{Tags: "other"}); len(r.Changed()) > 0 {
		t.Errorf("diff:\n%s", r.Diff())
	}
}

// TestRacy runs just after a save: the run may have read what was there before.
func TestRacy(t *testing.T) {
	m := newModule(t, shop)
	now := time.Now()
	if err := os.Chtimes(filepath.Join(m.dir, "shop.go"), now, now); err != nil {
		t.Fatal(err)
	}
	m.run(Config{})
	if _, loaded := m.run(Config{}); !loaded {
		t.Errorf("a run just after a save was remembered")
	}
}

// TestSpoiledCache has no trust in what is no record.
func TestSpoiledCache(t *testing.T) {
	m := newModule(t, shop)
	m.run(Config{})
	all, err := filepath.Glob(filepath.Join(m.dir, "../cache/*.json"))
	if err != nil || len(all) != 1 {
		t.Fatalf("records %q, error %v", all, err)
	}
	for _, text := range []string{"", "{}", "null", `{"Dirs":["/nowhere"]}`} {
		if err := os.WriteFile(all[0], []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, loaded := m.run(Config{}); !loaded {
			t.Errorf("%q was trusted", text)
		}
	}
}

// TestNoGoCommand says what is missing.
func TestNoGoCommand(t *testing.T) {
	m := newModule(t, shop)
	t.Setenv("PATH", "")
	_, err := Generate(t.Context(), Config{Dir: m.dir})
	if err == nil || !strings.HasPrefix(err.Error(), "go command required") {
		t.Errorf("got error %v", err)
	}
}
