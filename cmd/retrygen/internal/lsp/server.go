// Package lsp is a server of the Language Server Protocol for policy files. It reads a
// file at each edit, and the Go code to which it is bound when a file is saved.
package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/policy"
)

// A Config says how the server reads files.
type Config struct {
	Version string // of the program, which the editor shows in its log

	// IsOwn reports whether a text is a policy file of retrygen.
	IsOwn func(name string, text []byte) bool
	// Foreign returns the problems of a file of another system.
	Foreign func(name string, text []byte) []policy.Problem
}

// ErrNoShutdown reports that the editor ended the server, or closed its input, without the
// request shutdown.
var ErrNoShutdown = errors.New("the editor has ended without shutdown")

// A server holds the state of a connection. One goroutine reads messages, so that an editor
// that writes before it reads does not wait; another one handles them in their order; checks
// of files run in others.
type server struct {
	config Config
	conn   *jsonrpc2.Conn
	ctx    context.Context // ends with the connection
	exit   chan struct{}   // closed by the notification exit

	initialized, shutdown  bool
	utf8, watches, formats bool // what the editor can do: formats registers it for some files only
	symbols                symbolCache
	checks                 checks

	publishing sync.Mutex // held while problems are sent, so that none follow the end of a file

	mu        sync.Mutex
	documents map[string]*document // by URI: the newest version of each open file
	declared  map[string]map[string]string
}

// Serve serves an editor until it ends the connection or ctx is done. It returns
// ErrNoShutdown if the editor did not send the request shutdown before.
func Serve(ctx context.Context, config Config, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{
		config: config, ctx: ctx, exit: make(chan struct{}), documents: map[string]*document{},
		declared: map[string]map[string]string{},
	}
	s.checks = checks{newQueue(ctx, s.publish), newQueue(ctx, s.readCode)}
	answer := jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		return s.handle(req)
	}).SuppressErrClosed()
	handled := make(chan struct{}) // all messages are
	messages := newQueue(ctx, func(req *jsonrpc2.Request) {
		if req == nil {
			close(handled)
			return
		}
		answer.Handle(ctx, s.conn, req)
	})
	ready := make(chan struct{}) // s.conn is set
	stream := input{jsonrpc2.NewBufferedStream(pipe{in, out}, jsonrpc2.VSCodeObjectCodec{}), func() {
		messages.add(nil)
		select {
		case <-handled:
		case <-ctx.Done():
		case <-time.After(maxWait):
		}
	}}
	s.conn = jsonrpc2.NewConn(ctx, stream, handler(func(req *jsonrpc2.Request) {
		<-ready
		messages.add(req)
	}), jsonrpc2.SetLogger(silent{}))
	close(ready)
	select {
	case <-ctx.Done():
		s.conn.Close()
		return nil
	case <-s.exit:
		s.conn.Close()
	case <-s.conn.DisconnectNotify():
	}
	if !s.shutdown {
		return ErrNoShutdown
	}
	return nil
}

// A handler handles messages as the connection reads them.
type handler func(*jsonrpc2.Request)

func (h handler) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) { h(req) }

// maxWait limits the time for the last answers to an editor that has closed its output
// and may not read any more.
const maxWait = 10 * time.Second

// An input is a stream whose end is read when the messages before it are handled: the
// connection is closed then, and answers are not sent.
type input struct {
	jsonrpc2.ObjectStream
	wait func()
}

func (i input) ReadObject(v any) error {
	err := i.ObjectStream.ReadObject(v)
	if err != nil {
		i.wait()
	}
	return err
}

// A pipe is a connection of standard input and standard output.
type pipe struct {
	io.Reader
	io.Writer
}

func (pipe) Close() error { return nil }

// silent does not log: standard output belongs to the protocol, and editors show what is
// written to standard error as errors.
type silent struct{}

func (silent) Printf(string, ...any) {}

// A method handles one kind of message.
type method func(s *server, params *json.RawMessage) (any, error)

// methods has the messages that the server knows.
var methods = map[string]method{
	"initialize":                      with((*server).initialize),
	"initialized":                     with((*server).register),
	"shutdown":                        with((*server).end),
	"textDocument/didOpen":            with((*server).didOpen),
	"textDocument/didChange":          with((*server).didChange),
	"textDocument/didSave":            with((*server).didSave),
	"textDocument/didClose":           with((*server).didClose),
	"workspace/didChangeWatchedFiles": with((*server).didChangeFiles),
	"textDocument/completion":         with((*server).completion),
	"textDocument/hover":              with((*server).hover),
	"textDocument/definition":         with((*server).definition),
	"textDocument/codeAction":         with((*server).codeActions),
	"textDocument/codeLens":           with((*server).codeLenses),
	"textDocument/formatting":         with((*server).formatting),
}

// with returns the method that decodes the parameters of a message and calls f.
func with[P, R any](f func(*server, P) (R, error)) method {
	return func(s *server, params *json.RawMessage) (any, error) {
		p, err := decode[P](params)
		if err != nil {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
		}
		return f(s, p)
	}
}

// handle handles a message.
func (s *server) handle(req *jsonrpc2.Request) (any, error) {
	const notInitialized = -32002
	if req.Method == "exit" {
		close(s.exit)
		<-s.ctx.Done() // no message follows
		return nil, nil
	}
	m, known := methods[req.Method]
	switch {
	case !known && req.Notif:
		return nil, nil
	case !known:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "unknown method " + req.Method}
	case !s.initialized && req.Method != "initialize":
		return nil, &jsonrpc2.Error{Code: notInitialized, Message: "the first request is initialize"}
	case s.shutdown:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "the server is shut down"}
	}
	return m(s, req.Params)
}

func (s *server) initialize(p initializeParams) (initializeResult, error) {
	s.initialized = true
	s.utf8 = slices.Contains(p.Capabilities.General.PositionEncodings, "utf-8")
	s.watches = p.Capabilities.Workspace.DidChangeWatchedFiles.DynamicRegistration
	s.formats = p.Capabilities.TextDocument.Formatting.DynamicRegistration
	encoding := "utf-16"
	if s.utf8 {
		encoding = "utf-8"
	}
	const incremental = 2
	return initializeResult{
		ServerInfo: serverInfo{"retrygen", s.config.Version},
		Capabilities: serverCapabilities{
			PositionEncoding:   encoding,
			TextDocumentSync:   syncOptions{OpenClose: true, Change: incremental},
			CompletionProvider: completionOptions{TriggerCharacters: []string{" ", ":", "{", "[", ",", "."}},
			HoverProvider:      true, DefinitionProvider: true, DocumentFormattingProvider: !s.formats,
			CodeActionProvider: codeActionOptions{[]string{quickFix}},
		},
	}, nil
}

// register asks the editor to report when Go files are saved, also by others, and to
// offer formatting for policy files only: other YAML files have their own formatter.
func (s *server) register(struct{}) (any, error) {
	var r registration
	add := func(id, method string, options any) {
		r.Registrations = append(r.Registrations, registered{id, method, options})
	}
	if s.watches {
		add("files", "workspace/didChangeWatchedFiles", watchedPatterns{[]watched{{"**/*.go"}, {"**/go.mod"}}})
	}
	if s.formats {
		add("format", "textDocument/formatting", documentOptions{
			[]documentFilter{{"**/" + gen.SourceName}, {"**/" + gen.Misnamed}},
		})
	}
	if len(r.Registrations) == 0 {
		return nil, nil
	}
	go func() { // the editor may take its time
		if err := s.conn.Call(s.ctx, "client/registerCapability", r, nil); err != nil && s.ctx.Err() == nil {
			s.log(fmt.Sprintf("the editor does not report changes of Go files, or does not offer formatting: %v", err))
		}
	}()
	return nil, nil
}

func (s *server) end(struct{}) (any, error) {
	s.shutdown = true
	return nil, nil
}

// log writes a line to the log of the editor.
func (s *server) log(text string) {
	const warning = 2
	_ = s.conn.Notify(s.ctx, "window/logMessage", logMessageParams{warning, text})
}

// document returns the newest version of an open file, or an error.
func (s *server) document(uri string) (*document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.documents[uri]; d != nil {
		return d, nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: uri + " is not open"}
}

// set stores a version of a file, and has it checked.
func (s *server) set(d *document) {
	s.mu.Lock()
	s.documents[d.uri] = d
	s.mu.Unlock()
	s.checks.text(d.uri)
}

func (s *server) didOpen(p didOpenParams) (any, error) {
	t := p.TextDocument
	s.set(s.newDocument(t.URI, t.Version, []byte(t.Text)))
	s.checks.code(t.URI)
	return nil, nil
}

func (s *server) didChange(p didChangeParams) (any, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	s.set(s.changed(d, p.TextDocument.Version, p.ContentChanges))
	return nil, nil
}

func (s *server) didSave(p documentParams) (any, error) {
	s.checks.code(p.TextDocument.URI)
	return nil, nil
}

func (s *server) didClose(p documentParams) (any, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	s.mu.Lock()
	delete(s.documents, p.TextDocument.URI)
	delete(s.declared, pathOf(p.TextDocument.URI))
	s.mu.Unlock()
	return nil, s.conn.Notify(s.ctx, "textDocument/publishDiagnostics",
		publishDiagnosticsParams{URI: p.TextDocument.URI, Diagnostics: []diagnostic{}})
}

// didChangeFiles checks the policy files whose Go code may have changed: all that are
// open, since packages import each other.
func (s *server) didChangeFiles(p watchedFilesParams) (any, error) {
	isOutput := func(d documentID) bool { return filepath.Base(pathOf(d.URI)) == gen.OutputName }
	if !slices.ContainsFunc(p.Changes, func(d documentID) bool { return !isOutput(d) }) {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri := range s.documents {
		s.checks.code(uri)
	}
	return nil, nil
}
