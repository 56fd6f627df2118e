package bind

import (
	"fmt"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A Type is the text of a type in Go, divided into names of other packages and the text between
// them.
type Type []Piece

// A Piece is a part of the text of a type: a name from another package or, if Pkg is empty, any
// other text.
type Piece struct{ Pkg, PkgName, Text string }

// ContextType is the type context.Context.
var ContextType = Type{{Pkg: "context", PkgName: "context", Text: "Context"}}

// TypeText returns the type with the given text, which contains no names of other packages.
func TypeText(text string) Type { return Type{{Text: text}} }

// Join returns the type whose text is the concatenation of the parts.
func Join(parts ...Type) (t Type) {
	for _, piece := range slices.Concat(parts...) {
		if last := len(t) - 1; last >= 0 && t[last].Pkg == "" && piece.Pkg == "" {
			t[last].Text += piece.Text
		} else {
			t = append(t, piece)
		}
	}
	return t
}

// Equal reports whether two types have the same text.
func (t Type) Equal(other Type) bool { return slices.Equal(t, other) }

// String returns the text with package names, for messages.
func (t Type) String() string {
	var text strings.Builder
	for _, piece := range t {
		if piece.Pkg != "" {
			text.WriteString(piece.PkgName + ".")
		}
		text.WriteString(piece.Text)
	}
	return text.String()
}

// Pointer returns the type of pointers to t.
func (t Type) Pointer() Type { return Join(TypeText("*"), t) }

// Elem returns the type to which the pointer t points, and false for another type.
func (t Type) Elem() (Type, bool) {
	if len(t) == 0 || t[0].Pkg != "" || !strings.HasPrefix(t[0].Text, "*") {
		return t, false
	}
	if rest := t[0].Text[1:]; rest != "" {
		return Join(TypeText(rest), t[1:]), true
	}
	return t[1:], true
}

// Base returns the name of t without its package and without pointers, such as User for
// *api.User. It returns "" if t is not a name.
func (t Type) Base() string {
	for isPointer := true; isPointer; {
		t, isPointer = t.Elem()
	}
	if len(t) != 1 || !token.IsIdentifier(t[0].Text) {
		return ""
	}
	return t[0].Text
}

// text formats t for use in the home package.
func (b binder) text(t types.Type) Type {
	packages := map[string]*types.Package{}
	text := types.TypeString(t, func(p *types.Package) string {
		if p.Path() == b.home.Path {
			return ""
		}
		name := fmt.Sprintf("p%d", len(packages))
		packages[name] = p
		return name
	})
	return pieces(text, packages)
}

// pieces splits the text of a type in which the given names denote packages. In a type, only a
// package name can precede a dot and a name.
func pieces(text string, packages map[string]*types.Package) (t Type) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, 0)
	add := func(text string) {
		if text != "" {
			t = append(t, Piece{Text: text})
		}
	}
	done := 0 // the end of the text that t contains
	var last, dotted struct {
		at   int
		name string
	}
	for {
		pos, tok, lit := s.Scan()
		at := file.Offset(pos)
		switch {
		case tok == token.EOF:
			add(text[done:])
			return t
		case tok == token.PERIOD:
			dotted = last
		case tok == token.IDENT && dotted.name != "":
			add(text[done:dotted.at])
			p := packages[dotted.name]
			t = append(t, Piece{p.Path(), p.Name(), lit})
			done, dotted.name = at+len(lit), ""
		}
		last.at, last.name = at, lit
	}
}
