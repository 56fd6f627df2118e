package lsp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// checks are the checks of open files, in the background. A version that a newer one has
// replaced before its turn is not checked.
type checks struct {
	texts *queue[string] // files by URI, whose problems are published
	codes *queue[string] // policy files, whose Go packages are read
}

// text has the newest version of a file checked.
func (c checks) text(uri string) { c.texts.add(uri) }

// code has the Go package of a file checked, if it is a policy file.
func (c checks) code(uri string) {
	if filepath.Base(pathOf(uri)) == gen.SourceName {
		c.codes.add(uri)
	}
}

// problems returns the problems of a file, those that its Go code shows included.
func (s *server) problems(d *document) []policy.Problem {
	if !d.isOwn() {
		return s.config.Foreign(d.Name, d.Text)
	}
	problems := slices.Concat(d.Problems(), d.fromGo)
	policy.Sort(problems)
	return problems
}

// publish publishes the problems of the newest version of a file.
func (s *server) publish(uri string) {
	d, err := s.document(uri)
	if err != nil {
		return // closed meanwhile
	}
	list := misnamed(d)
	for _, p := range s.problems(d) {
		list = append(list, s.diagnostic(d, p))
	}
	s.publishing.Lock()
	defer s.publishing.Unlock()
	if now, err := s.document(uri); err != nil || now != d {
		return // closed, or the turn of the newer one comes
	}
	_ = s.conn.Notify(s.ctx, "textDocument/publishDiagnostics", publishDiagnosticsParams{uri, d.version, list})
}

// misnamed returns the problem of a policy file whose name is not read, or an empty list.
func misnamed(d *document) []diagnostic {
	if d.Name != gen.Misnamed || !d.isOwn() {
		return []diagnostic{}
	}
	return []diagnostic{{
		Range:    d.textRange(d.Underlined(policy.Problem{Pos: policy.Pos{Line: 1, Col: 1}})),
		Severity: severities[rules.Warning], Source: "retrygen",
		Message: gen.Misnamed + " generates nothing: rename it to " + gen.SourceName,
	}}
}

// severities maps our severities to the protocol. Findings that are information only are hints.
var severities = [...]int{rules.Info: 4, rules.Warning: 2, rules.Error: 1}

// diagnostic returns a problem in the form of the protocol.
func (s *server) diagnostic(d *document, p policy.Problem) diagnostic {
	text := p.Text
	if p.Paste != "" {
		text += "\n" + strings.TrimSuffix(p.Paste, "\n")
	}
	return diagnostic{
		Range: d.textRange(d.Underlined(p)), Severity: severities[p.Severity], Code: p.Rule, Source: "retrygen",
		CodeDescription: &codeDescription{"https://github.com/retrygen/retrygen/blob/main/docs/rules/" + p.Rule + ".md"},
		Message:         text,
	}
}

// readCode finds the problems that the Go package of a policy file shows, and where its
// bound symbols are declared. Nothing is written.
func (s *server) readCode(uri string) {
	d, err := s.document(uri)
	if err != nil {
		return
	}
	text, err := os.ReadFile(d.path)
	if err != nil {
		return // not saved yet
	}
	saved := s.newDocument(uri, d.version, text) // the editor may have a newer text
	dir := filepath.Dir(d.path)
	result, err := gen.Generate(s.ctx, gen.Config{Dir: dir, Patterns: []string{"."}, List: true})
	if err != nil {
		if s.ctx.Err() == nil {
			s.log(d.path + ": the Go package cannot be read: " + err.Error())
		}
		return
	}
	declared := map[string]string{}
	for _, b := range result.Bound {
		if b.Symbol != "" && b.Declared != "" {
			declared[b.Symbol] = b.Declared
		}
	}
	known := map[string]bool{}
	for _, p := range saved.Problems() {
		known[p.String()] = true
	}
	var found []policy.Problem
	for _, p := range result.Problems {
		isShown := p.Severity > rules.Info || policy.IsNote(p.Rule)
		if p.File == gen.SourceName && isShown && !known[p.String()] {
			found = append(found, p)
		}
	}
	s.mu.Lock()
	if now := s.documents[uri]; now != nil {
		next := *now
		next.fromGo = found
		for _, e := range slices.Backward(saved.Changes(now.Text)) {
			next.fromGo = moved(next.fromGo, e.Range.Start, e.Range.End, e.Text)
		}
		s.documents[uri], s.declared[d.path] = &next, declared
	}
	s.mu.Unlock()
	s.checks.text(uri)
}
