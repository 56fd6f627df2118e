package lsp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/assist"
)

// own returns an open policy file of retrygen, or nil for another file.
func (s *server) own(uri string) (*document, error) {
	d, err := s.document(uri)
	if err != nil || !d.isOwn() {
		return nil, err
	}
	return d, nil
}

// Kinds of completions of the protocol: Field, Value, Reference, Function.
var itemKinds = map[assist.Kind]int{assist.Key: 5, assist.Value: 12, assist.Name: 18, assist.GoName: 3}

func (s *server) completion(p positionParams) ([]completionItem, error) {
	d, err := s.own(p.TextDocument.URI)
	if d == nil {
		return nil, err
	}
	const asIs = 1 // the lines of a text have their indentation
	items := []completionItem{}
	for i, c := range d.Complete(d.pos(p.Position), s.symbols.of(d.path)) {
		item := completionItem{
			Label: c.Label, Kind: itemKinds[c.Kind], Detail: c.Detail, SortText: fmt.Sprintf("%04d", i),
			InsertTextMode: asIs, TextEdit: textEdit{d.textRange(c.Range), c.Insert},
		}
		if c.Doc != "" {
			item.Documentation = &markup{"markdown", c.Doc}
		}
		// Editors compare what is written with the label, or with this text.
		if start := d.Offset(c.Range.Start); start < d.Offset(c.Range.End) && strings.IndexByte(`"'`, d.Text[start]) >= 0 {
			item.FilterText = string(d.Text[start]) + c.Label
		}
		items = append(items, item)
	}
	return items, nil
}

func (s *server) hover(p positionParams) (*hoverResult, error) {
	d, err := s.own(p.TextDocument.URI)
	if d == nil {
		return nil, err
	}
	h, ok := d.Hover(d.pos(p.Position), s.symbols.of(d.path))
	if !ok {
		return nil, nil
	}
	return &hoverResult{markup{"markdown", h.Text}, d.textRange(h.Range)}, nil
}

func (s *server) definition(p positionParams) (*location, error) {
	d, err := s.own(p.TextDocument.URI)
	if d == nil {
		return nil, err
	}
	symbols := s.symbols.of(d.path)
	to, ok := d.Definition(d.pos(p.Position), symbols)
	switch {
	case !ok:
		return nil, nil
	case to.Symbol == "":
		return &location{d.uri, d.textRange(to.At)}, nil
	}
	for _, symbol := range symbols {
		if symbol.Name == to.Symbol {
			return inGo(symbol.File, symbol.At), nil
		}
	}
	s.mu.Lock() // a symbol of another package, as the last check has found it
	at := s.declared[d.path][to.Symbol]
	s.mu.Unlock()
	return parseLocation(filepath.Dir(d.path), at), nil
}

// inGo returns a position in a Go file. Its column counts bytes: what comes before a name
// in a declaration is hardly ever outside ASCII.
func inGo(file string, at policy.Pos) *location {
	p := position{max(at.Line-1, 0), max(at.Col-1, 0)}
	return &location{uriOf(file), textRange{p, p}}
}

// parseLocation parses file:line:col, or returns nil for "". The file may be relative to
// a folder.
func parseLocation(dir, text string) *location {
	file, line, col := text, 0, 0
	for _, to := range []*int{&col, &line} {
		i := strings.LastIndexByte(file, ':')
		if i < 0 {
			return nil
		}
		if _, err := fmt.Sscan(file[i+1:], to); err != nil {
			return nil
		}
		file = file[:i]
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, filepath.FromSlash(file))
	}
	return inGo(file, policy.Pos{Line: line, Col: col})
}

const quickFix = "quickfix"

func (s *server) codeActions(p codeActionParams) ([]codeAction, error) {
	d, err := s.own(p.TextDocument.URI)
	if d == nil {
		return nil, err
	}
	r := d.within(p.Range)
	actions := []codeAction{}
	if only := p.Context.Only; only != nil && !slices.Contains(only, "") && !slices.Contains(only, quickFix) {
		return actions, nil
	}
	add := func(f assist.Fix, problems ...diagnostic) {
		a := codeAction{Title: f.Title, Kind: quickFix, Diagnostics: problems}
		var edits []textEdit
		for _, e := range f.Edits {
			edits = append(edits, textEdit{d.textRange(e.Range), e.Text})
		}
		a.Edit.Changes = map[string][]textEdit{d.uri: edits}
		actions = append(actions, a)
	}
	for _, problem := range s.problems(d) {
		if problem.Line < r.Start.Line || problem.Line > r.End.Line {
			continue
		}
		if f, ok := d.Fix(problem); ok {
			add(f, s.diagnostic(d, problem))
		}
	}
	if f, ok := d.Respell(r); ok {
		add(f)
	}
	return actions, nil
}

func (s *server) codeLenses(p documentParams) ([]codeLens, error) {
	d, err := s.own(p.TextDocument.URI)
	if d == nil {
		return nil, err
	}
	lenses := []codeLens{}
	for _, l := range d.Lenses() {
		lenses = append(lenses, codeLens{d.textRange(l.At), command{Title: l.Text}})
	}
	return lenses, nil
}

// formatting returns the edit that writes the file in its canonical spelling.
func (s *server) formatting(p documentParams) ([]textEdit, error) {
	d, err := s.own(p.TextDocument.URI)
	if d == nil {
		return nil, err
	}
	edits := []textEdit{}
	for _, e := range d.Canonical() {
		edits = append(edits, textEdit{d.textRange(e.Range), e.Text})
	}
	return edits, nil
}
