package lsp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/policy"
)

// Messages that are read before the end of the input are answered.
func TestEndOfInput(t *testing.T) {
	message := func(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) }
	initialize := message(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	shutdown := message(`{"jsonrpc":"2.0","id":"two","method":"shutdown"}`)
	for _, test := range []struct {
		in   string
		want error
	}{
		{initialize + shutdown, nil},
		{initialize, ErrNoShutdown},
		{"", ErrNoShutdown},
	} {
		var out bytes.Buffer
		if err := Serve(context.Background(), Config{}, strings.NewReader(test.in), &out); !errors.Is(err, test.want) {
			t.Errorf("got error %v, want %v", err, test.want)
		}
		got, want := strings.Count(out.String(), `"result"`), strings.Count(test.in, `"id"`)
		if got != want {
			t.Errorf("got %d results, want %d: %s", got, want, &out)
		}
	}
}

// The last diagnostics of a closed file are none, even if it was being checked.
func TestCloseDuringCheck(t *testing.T) {
	e := newEditor(t)
	for range 300 {
		e.open(uri, "version: 2\n")
		e.notify("textDocument/didClose", documentParams{documentID{uri}})
	}
	other := "file:///shop/other/retry.yaml"
	e.open(other, "version: 1\n")
	last := []diagnostic{{}}
	for p := range e.published {
		if p.URI == other {
			break
		}
		last = p.Diagnostics
	}
	equal(t, last, []diagnostic{})
}

func TestMoved(t *testing.T) {
	edit := func(line, col, toLine, toCol int) [2]policy.Pos {
		return [2]policy.Pos{{Line: line, Col: col}, {Line: toLine, Col: toCol}}
	}
	for _, test := range []struct {
		what  string
		edit  [2]policy.Pos
		text  string
		lines []int // of problems in lines 2, 4 and 6, column 3
	}{
		{"a line before", edit(1, 1, 1, 1), "#\n", []int{3, 5, 7}},
		{"a line before the line of a problem", edit(4, 1, 4, 1), "#\n", []int{2, 5, 7}},
		{"the line before removed", edit(3, 1, 4, 1), "", []int{2, 3, 5}},
		{"its line removed", edit(4, 1, 5, 1), "", []int{2, 5}},
		{"its line replaced", edit(4, 1, 5, 1), "a\nb\n", []int{2, 7}},
		{"its line joined with the one before", edit(3, 9, 4, 1), "", []int{2, 5}},
		{"its line changed", edit(4, 8, 4, 9), "x", []int{2, 6}},
		{"a line after it", edit(4, 9, 4, 9), "\n  ", []int{2, 4, 7}},
		{"a line after it, with CRLF", edit(4, 9, 4, 9), "\r\n  ", []int{2, 4, 7}},
		{"the line after it removed", edit(4, 9, 5, 9), "", []int{2, 4, 5}},
		{"all replaced", edit(1, 1, 7, 1), "a\n", nil},
	} {
		var problems []policy.Problem
		for line := 2; line <= 6; line += 2 {
			problems = append(problems, policy.Problem{Pos: policy.Pos{Line: line, Col: 3}})
		}
		var got []int
		for _, p := range moved(problems, test.edit[0], test.edit[1], test.text) {
			got = append(got, p.Line)
		}
		t.Log(test.what)
		equal(t, got, test.lines)
	}
}

// The lines of a completion are inserted as they are. Editors compare the quote before a
// word with the filter text.
func TestCompletionText(t *testing.T) {
	e := newEditor(t)
	text := "version: 1\npolicies:\n  read:\n    backoff: \"exp\"\n    "
	e.open(uri, text)
	items := map[string]completionItem{}
	complete := func(line, character int) {
		var list []completionItem
		e.call("textDocument/completion", positionParams{documentID{uri}, position{line, character}}, &list)
		for _, item := range list {
			items[item.Label] = item
		}
	}
	complete(4, 4)
	complete(3, 16)
	for label, want := range map[string]completionItem{
		"per_error":   {InsertTextMode: 1, TextEdit: textEdit{*span(4, 4, 4), "per_error:\n      "}},
		"exponential": {InsertTextMode: 1, TextEdit: textEdit{*span(3, 13, 18), "exponential"}, FilterText: `"exponential`},
	} {
		got := items[label]
		equal(t, completionItem{InsertTextMode: got.InsertTextMode, TextEdit: got.TextEdit, FilterText: got.FilterText}, want)
	}
}

func TestKindsOfActions(t *testing.T) {
	e := newEditor(t)
	e.open(uri, "version: 1\npolicies:\n  read: {max_atempts: 3}\n")
	for only, want := range map[string]int{"": 1, "quickfix": 1, "source.fixAll": 0, "refactor": 0} {
		p := codeActionParams{TextDocument: documentID{uri}, Range: *span(2, 10, 10)}
		p.Context.Only = []string{only}
		var actions []codeAction
		e.call("textDocument/codeAction", p, &actions)
		if len(actions) != want {
			t.Errorf("%q: got %d actions, want %d", only, len(actions), want)
		}
	}
}

// The server does not offer to format all YAML files if the editor can be asked for less.
func TestFormattingIsForPolicyFiles(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		e := startServer(t)
		var p initializeParams
		var result initializeResult
		p.Capabilities.TextDocument.Formatting.DynamicRegistration = dynamic
		e.call("initialize", p, &result)
		equal(t, result.Capabilities.DocumentFormattingProvider, !dynamic)
		e.notify("initialized", struct{}{})
		if dynamic {
			r := (<-e.registered).Registrations
			if len(r) != 1 || r[0].Method != "textDocument/formatting" {
				t.Fatalf("got %+v", r)
			}
			equal(t, fmt.Sprint(r[0].RegisterOptions),
				"map[documentSelector:[map[pattern:**/retry.yaml] map[pattern:**/retry.yml]]]")
		}
	}
}

// A policy file whose name is not read has a warning; one that is not saved has a name.
func TestNamesOfFiles(t *testing.T) {
	e := newEditor(t)
	text := "version: 1\npolicies:\n  read: {max_attempts: 3}\n"
	e.open("file:///shop/retry.yml", text)
	equal(t, lines(e.problems()), []string{"0:0-7 2  retry.yml generates nothing: rename it to retry.yaml"})
	for _, uri := range []string{"file:///shop/retry.yaml", "untitled:retry.yaml", "vscode-vfs://github/shop/retry.yaml"} {
		e.open(uri, text)
		equal(t, lines(e.problems()), []string(nil))
		var h hoverResult
		e.call("textDocument/hover", positionParams{documentID{uri}, position{2, 3}}, &h)
		if !strings.Contains(h.Contents.Value, "(retry.yaml:3)") {
			t.Errorf("%s: got %s", uri, h.Contents.Value)
		}
	}
}

func TestPaths(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///shop/retry.yaml":            "/shop/retry.yaml",
		"file://localhost/shop/retry.yaml":   "/shop/retry.yaml",
		"file:///a%20b/100%25/%C3%A4.yaml":   "/a b/100%/ä.yaml",
		"file:///c%3A/shop/retry.yaml":       "c:/shop/retry.yaml",
		"file:///C:/shop/retry.yaml":         "C:/shop/retry.yaml",
		"file://server/shared/x/retry.yaml":  "//server/shared/x/retry.yaml",
		"untitled:retry.yaml":                "",
		"git:/shop/retry.yaml?%7B%22a%22%7D": "",
	} {
		equal(t, pathOf(uri), filepath.FromSlash(want))
	}
	for path, want := range map[string]string{
		"/shop/a b/100%/ä.go": "file:///shop/a%20b/100%25/%C3%A4.go",
		"C:/shop/x.go":        "file:///C:/shop/x.go",
		"//server/shared/x":   "file://server/shared/x",
	} {
		equal(t, uriOf(path), want)
	}
	if runtime.GOOS != "windows" {
		equal(t, parseLocation("/shop", "pay/pay.go:3:6").URI, "file:///shop/pay/pay.go")
		equal(t, parseLocation("/shop", "/go/src/io/io.go:3:6"), &location{"file:///go/src/io/io.go", *span(2, 5, 5)})
	}
	if got := parseLocation("/shop", ""); got != nil {
		t.Errorf("got %v", got)
	}
}

// A fallback, a check and a release are offered if their types fit the bound method.
func TestHelpers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(`package shop

type Client struct{}

func (c *Client) Find(ctx context.Context, id string, tags ...string) (a, b *Item, err error)
func (c *Client) cached(ctx context.Context, id string, tags []string, err error) (a, b *Item, _ error)
func (c *Store) other(ctx context.Context, id string, tags []string, err error) (a, b *Item, _ error)
func compare(a, b *Item) error
func compareAll(a, b *Item, err error) error
func free(*Item, *Item)
func start()
`), 0o666); err != nil {
		t.Fatal(err)
	}
	e := newEditor(t)
	file := uriOf(filepath.Join(dir, "retry.yaml"))
	for helper, want := range map[string][]string{
		"fallback": {"cached"}, "check": {"compare", "compareAll"}, "release": {"free"}, "policy": {"read"},
	} {
		line := "  Client.Find: {policy: read, " + helper + ": "
		if helper == "policy" {
			line = "  Client.Find: {policy: "
		}
		e.open(file, "version: 1\npolicies: {read: {}}\nbind:\n"+line+"}\n")
		var items []completionItem
		e.call("textDocument/completion", positionParams{documentID{file}, position{3, len(line)}}, &items)
		var labels []string
		for _, item := range items {
			labels = append(labels, item.Label)
		}
		equal(t, labels, want)
	}
}
