package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/policy"
)

// An editor is the other end of a connection.
type editor struct {
	testing.TB
	conn       *jsonrpc2.Conn
	published  chan publishDiagnosticsParams
	registered chan registration
	ended      chan error // the result of Serve
	version    int
	hangUp     func()
}

// newEditor starts a server and initializes it.
func newEditor(t testing.TB, encodings ...string) *editor {
	t.Helper()
	e := startServer(t)
	var result initializeResult
	var p initializeParams
	p.Capabilities.General.PositionEncodings = encodings
	p.Capabilities.Workspace.DidChangeWatchedFiles.DynamicRegistration = true
	e.call("initialize", p, &result)
	if result.ServerInfo.Name != "retrygen" {
		t.Fatalf("got %+v", result)
	}
	e.notify("initialized", struct{}{})
	return e
}

func startServer(t testing.TB) *editor {
	fromServer, toEditor := io.Pipe()
	fromEditor, toServer := io.Pipe()
	e := &editor{TB: t, published: make(chan publishDiagnosticsParams, 100_000), ended: make(chan error, 1),
		registered: make(chan registration, 1)}
	config := Config{
		IsOwn: func(name string, text []byte) bool { return name == gen.SourceName || policy.Recognize(text) },
		Foreign: func(name string, text []byte) []policy.Problem {
			_, problems := foreign.Check(name, text, foreign.Options{})
			return problems
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { e.ended <- Serve(ctx, config, fromEditor, toEditor) }()
	e.hangUp = func() { toServer.Close() }
	e.conn = jsonrpc2.NewConn(ctx, jsonrpc2.NewBufferedStream(pipe{fromServer, toServer}, jsonrpc2.VSCodeObjectCodec{}),
		jsonrpc2.HandlerWithError(e.handle), jsonrpc2.SetLogger(silent{}))
	t.Cleanup(func() {
		e.conn.Close()
		toServer.Close()
		toEditor.Close()
		cancel()
	})
	return e
}

func (e *editor) handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	switch req.Method {
	case "textDocument/publishDiagnostics":
		p, err := decode[publishDiagnosticsParams](req.Params)
		if err != nil {
			return nil, err
		}
		e.published <- p
	case "client/registerCapability":
		r, err := decode[registration](req.Params)
		e.registered <- r
		return nil, err
	default:
		e.Errorf("the server sends %s %s", req.Method, *req.Params)
	}
	return nil, nil
}

func (e *editor) call(method string, params, result any) {
	e.Helper()
	if err := e.conn.Call(context.Background(), method, params, result); err != nil {
		e.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) notify(method string, params any) {
	e.Helper()
	if err := e.conn.Notify(context.Background(), method, params); err != nil {
		e.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) open(uri, text string) {
	var p didOpenParams
	e.version++
	p.TextDocument.URI, p.TextDocument.Version, p.TextDocument.Text = uri, e.version, text
	e.notify("textDocument/didOpen", p)
}

func (e *editor) change(uri string, changes ...contentChange) {
	var p didChangeParams
	e.version++
	p.TextDocument.URI, p.TextDocument.Version, p.ContentChanges = uri, e.version, changes
	e.notify("textDocument/didChange", p)
}

// problems returns the problems of the newest version, which is published at last.
func (e *editor) problems() []diagnostic {
	e.Helper()
	for {
		select {
		case p := <-e.published:
			if p.Version == e.version {
				return p.Diagnostics
			}
		case <-time.After(time.Minute):
			e.Fatal("no diagnostics")
		}
	}
}

// lines formats problems as line:start-end rule text.
func lines(list []diagnostic) (lines []string) {
	for _, d := range list {
		lines = append(lines, fmt.Sprintf("%d:%d-%d %d %s %s",
			d.Range.Start.Line, d.Range.Start.Character, d.Range.End.Character, d.Severity, d.Code, d.Message))
	}
	return lines
}

func equal(t testing.TB, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func span(line, start, end int) *textRange {
	return &textRange{position{line, start}, position{line, end}}
}

const uri = "file:///shop/retry.yaml"

func TestEdits(t *testing.T) {
	e := newEditor(t)
	e.open(uri, "version: 1\npolicies:\n  read: {max_atempts: 3}\n")
	misspelled := []string{`2:9-20 1 P101 unknown key "max_atempts": did you mean max_attempts?`}
	equal(t, lines(e.problems()), misspelled)

	var actions []codeAction
	id := documentID{uri}
	e.call("textDocument/codeAction", codeActionParams{TextDocument: id, Range: *span(2, 10, 10)}, &actions)
	if len(actions) != 1 || len(actions[0].Diagnostics) != 1 {
		t.Fatalf("got %+v", actions)
	}
	edit := actions[0].Edit.Changes[uri][0]
	equal(t, edit, textEdit{*span(2, 9, 20), "max_attempts"})
	e.change(uri, contentChange{&edit.Range, edit.NewText})
	equal(t, lines(e.problems()), []string(nil))

	// Two changes of one message: the second has the places after the first. Columns
	// count UTF-16 code units.
	e.change(uri,
		contentChange{span(2, 2, 2), "ä𝄞: {}\n  "},
		contentChange{span(2, 3, 5), "𝄞𝄞"},
		contentChange{span(3, 2, 6), "slow"})
	equal(t, lines(e.problems()), []string{
		`2:2-7 1 P102 the name "ä𝄞𝄞" is not valid: use lower-case letters, digits and _, and begin with a letter`,
	})
}

func TestQuestions(t *testing.T) {
	for _, encoding := range []string{"utf-8", "utf-16"} {
		e := newEditor(t, encoding)
		text := "version: 1\npolicies:\n  read: {attempts: 3, timeout: 5s} # ü\n" +
			"  slow: {extends: read, description: ä, jit}\n"
		e.open(uri, text)
		at := func(line, column int) positionParams { return positionParams{documentID{uri}, position{line, column}} }
		after := strings.Index(strings.Split(text, "\n")[3], "jit") + 3 // in bytes
		if encoding == "utf-16" {
			after--
		}
		var items []completionItem
		e.call("textDocument/completion", at(3, after), &items)
		found := false
		for _, item := range items {
			if item.Label == "jitter" {
				found = true
				equal(t, item.TextEdit, textEdit{*span(3, after-3, after), "jitter: "})
			}
		}
		if !found {
			t.Errorf("%s: jitter is not among %+v", encoding, items)
		}

		var h hoverResult
		e.call("textDocument/hover", at(3, 19), &h)
		if !strings.Contains(h.Contents.Value, "at worst: 3 calls, 5s") {
			t.Errorf("got %+v", h)
		}
		var to location
		e.call("textDocument/definition", at(3, 19), &to)
		equal(t, to, location{uri, *span(2, 2, 6)})

		var lenses []codeLens
		e.call("textDocument/codeLens", documentParams{documentID{uri}}, &lenses)
		equal(t, lenses, []codeLens{{*span(2, 2, 6), command{Title: "at worst: 3 calls, 5s"}}})

		e.change(uri, contentChange{nil, strings.Replace(text, ", jit}", "}", 1)})
		var edits []textEdit
		e.call("textDocument/formatting", documentParams{documentID{uri}}, &edits)
		equal(t, edits, []textEdit{{
			textRange{position{2, 0}, position{3, 0}}, "  read: {max_attempts: 3, timeout: 5s} # ü\n",
		}})
	}
}

// A file of another system has its problems, and no completions of ours.
func TestForeign(t *testing.T) {
	e := newEditor(t)
	text, err := os.ReadFile("../../../../foreign/testdata/resilience4j/backends.yaml")
	if err != nil {
		t.Fatal(err)
	}
	other := "file:///shop/application.yaml"
	e.open(other, string(text))
	if got := e.problems(); len(got) == 0 || got[0].Source != "retrygen" {
		t.Errorf("got %v", lines(got))
	}
	var items []completionItem
	e.call("textDocument/completion", positionParams{documentID{other}, position{0, 3}}, &items)
	if len(items) > 0 {
		t.Errorf("got %v", items)
	}
	e.notify("textDocument/didClose", documentParams{documentID{other}})
	equal(t, (<-e.published).Diagnostics, []diagnostic{})
}

// TestGoCode: the problems that the Go code shows come after a save, follow the edits and
// go when the code is corrected.
func TestGoCode(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write("go.sum", string(sum))
	write("go.mod", "module example.com/shop\n\ngo 1.26.0\n\nrequire github.com/retrygen/retrygen v0.0.0\n\n"+
		"replace github.com/retrygen/retrygen => "+root+"\n")
	code := "package shop\n\nimport \"context\"\n\n" +
		"// Fetch fetches a user.\nfunc Fetch(ctx context.Context) error { return nil }\n"
	write("shop.go", code)
	text := "version: 1\npolicies:\n  read: {max_attempts: 3, attempt_timeout: 1s, jitter: full}\nbind:\n  Fetsh: read\n"
	write(gen.SourceName, text)
	shop := uriOf(filepath.Join(dir, gen.SourceName))

	e := newEditor(t)
	e.open(shop, text)
	want := "4:2-7 1 P904 Fetsh cannot be bound: package shop has no Fetsh: did you mean Fetch?"
	var got []string
	for len(got) == 0 { // the file alone has none
		got = lines(e.problems())
	}
	equal(t, got, []string{want})
	var actions []codeAction
	e.call("textDocument/codeAction", codeActionParams{TextDocument: documentID{shop}, Range: *span(4, 3, 3)}, &actions)
	if len(actions) != 1 || actions[0].Edit.Changes[shop][0].NewText != "Fetch" {
		t.Errorf("got %+v", actions)
	}

	e.change(shop, contentChange{span(1, 0, 0), "# Policies.\n"})
	equal(t, lines(e.problems()), []string{strings.Replace(want, "4:", "5:", 1)})
	e.change(shop, contentChange{span(5, 5, 6), "c"})
	equal(t, lines(e.problems()), []string(nil))

	at := positionParams{documentID{shop}, position{5, 4}}
	var items []completionItem
	e.call("textDocument/completion", at, &items)
	if len(items) != 1 || items[0].Label != "Fetch" || items[0].Detail != "func Fetch(ctx context.Context) error" {
		t.Errorf("got %+v", items)
	}
	var to location
	e.call("textDocument/definition", at, &to)
	equal(t, to, location{uriOf(filepath.Join(dir, "shop.go")), *span(5, 5, 5)})
	var h hoverResult
	e.call("textDocument/hover", at, &h)
	equal(t, h.Contents.Value, "```go\nfunc Fetch(ctx context.Context) error\n```\n\nFetch fetches a user.")

	// The function goes while the editor is open.
	saved := strings.NewReplacer("\npolicies", "\n# Policies.\npolicies", "Fetsh", "Fetch").Replace(text)
	write(gen.SourceName, saved)
	write("shop.go", strings.ReplaceAll(code, "Fetch", "Load"))
	e.notify("workspace/didChangeWatchedFiles", watchedFilesParams{[]documentID{{uriOf(filepath.Join(dir, "shop.go"))}}})
	for got = nil; len(got) == 0; {
		got = lines(e.problems())
	}
	equal(t, got, []string{"5:2-7 1 P904 Fetch cannot be bound: package shop has no Fetch"})

	// The editor has lines that are not saved when the Go code is checked.
	e.change(shop, contentChange{span(0, 0, 0), "# One.\n# Two.\n"})
	write("shop.go", strings.ReplaceAll(code, "Fetch", "Fetched"))
	e.notify("workspace/didChangeWatchedFiles", watchedFilesParams{[]documentID{{uriOf(filepath.Join(dir, "shop.go"))}}})
	for got = nil; len(got) == 0 || !strings.Contains(got[0], "Fetched"); {
		got = lines(e.problems())
	}
	equal(t, got, []string{"7:2-7 1 P904 Fetch cannot be bound: package shop has no Fetch: did you mean Fetched?"})
}

func TestLifecycle(t *testing.T) {
	e := startServer(t)
	var rpc *jsonrpc2.Error
	err := e.conn.Call(t.Context(), "textDocument/hover", positionParams{}, nil)
	if !errors.As(err, &rpc) || rpc.Code != -32002 {
		t.Errorf("before initialize: %v", err)
	}
	e.call("initialize", initializeParams{}, nil)
	if err := e.conn.Call(t.Context(), "textDocument/rename", nil, nil); !errors.As(err, &rpc) ||
		rpc.Code != jsonrpc2.CodeMethodNotFound {
		t.Errorf("an unknown method: %v", err)
	}
	e.notify("$/unknown", nil)
	if err := e.conn.Call(t.Context(), "textDocument/hover", "x", nil); !errors.As(err, &rpc) ||
		rpc.Code != jsonrpc2.CodeInvalidParams {
		t.Errorf("parameters of another type: %v", err)
	}
	if err := e.conn.Call(t.Context(), "textDocument/hover", positionParams{}, nil); !errors.As(err, &rpc) {
		t.Errorf("a file that is not open: %v", err)
	}
	e.call("shutdown", nil, nil)
	if err := e.conn.Call(t.Context(), "textDocument/hover", positionParams{}, nil); !errors.As(err, &rpc) {
		t.Errorf("after shutdown: %v", err)
	}
	e.notify("exit", nil)
	if err := <-e.ended; err != nil {
		t.Error(err)
	}

	e = startServer(t)
	e.call("initialize", initializeParams{}, nil)
	e.hangUp()
	if err := <-e.ended; !errors.Is(err, ErrNoShutdown) {
		t.Errorf("without shutdown: %v", err)
	}
}

// TestTenThousandEdits makes random edits, asks questions between them, and compares the
// problems at the end with the problems of the same text in a new editor.
func TestTenThousandEdits(t *testing.T) {
	edits := 10_000
	if testing.Short() {
		edits = 500
	}
	e := newEditor(t)
	text := "version: 1\npolicies:\n  read: {max_attempts: 3}\n"
	e.open(uri, text)
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"\n", "  ", ": ", "{", "}", "[", "]", ",", "#", "'", "\"", "|", "- ", "&a ", "*a", "<<: ", "\r\n",
		"read", "policies", "bind", "backoff", "max_attempts", "timeout", "5s", "3", "Client.Fetch", "ü", "𝄞", "\x00",
		"version: 1\n",
		"  slow: {extends: read}\n", "per_error", "\t"}
	for i := range edits {
		if random.IntN(200) == 0 {
			text = "version: 1\npolicies:\n  read:\n    max_attempts: 3\n    jitter: full\nbind:\n  Get: read\n"
			e.change(uri, contentChange{nil, text})
			continue
		}
		// Places may be after the end of a line and of the text.
		start := position{random.IntN(strings.Count(text, "\n") + 2), random.IntN(30)}
		end := position{start.Line + random.IntN(2), random.IntN(30)}
		if random.IntN(3) > 0 {
			end = start
		}
		change := contentChange{&textRange{start, end}, pieces[random.IntN(len(pieces))]}
		if i%2 == 0 {
			change.Text += pieces[random.IntN(len(pieces))]
		}
		e.change(uri, change)
		at := positionParams{documentID{uri}, start}
		var any json.RawMessage
		switch i % 8 {
		case 0:
			e.call("textDocument/completion", at, &any)
		case 1:
			e.call("textDocument/hover", at, &any)
		case 2:
			e.call("textDocument/definition", at, &any)
		case 3:
			e.call("textDocument/codeLens", documentParams{at.TextDocument}, &any)
		case 4:
			e.call("textDocument/codeAction",
				codeActionParams{TextDocument: at.TextDocument, Range: textRange{start, end}}, &any)
		}
	}
	e.change(uri, contentChange{nil, text})
	want := lines(e.problems())
	fresh := newEditor(t)
	fresh.open(uri, text)
	equal(t, lines(fresh.problems()), want)
}

// BenchmarkEdit edits a file of 1,000 policies and waits for its problems.
func BenchmarkEdit(b *testing.B) {
	var text strings.Builder
	text.WriteString("version: 1\npolicies:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  read%d:\n    max_attempts: 4\n    initial_delay: 100ms\n    max_delay: 2s\n    jitter: full\n"+
			"    timeout: 30s\n    attempt_timeout: 5s\n", i)
	}
	e := newEditor(b)
	e.open(uri, text.String())
	e.problems()
	for b.Loop() {
		e.change(uri, contentChange{span(3, 18, 19), "5"})
		e.problems()
	}
}
