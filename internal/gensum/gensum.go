// Package gensum detects generated files that have been edited, by a checksum at
// their end.
package gensum

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"go/scanner"
	"go/token"
	"strings"
)

// Prefix begins the last line of a generated file.
const Prefix = "// retrygen:sum "

// Of returns the checksum of the Go tokens of src. White space, line ends and
// comments do not change it.
func Of(src []byte) string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(src)), src, func(token.Position, string) {}, 0)
	h := sha256.New()
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON {
			lit = "" // whether it is written or inserted at a line end
		}
		fmt.Fprintf(h, "%s %s\n", tok, lit)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}

// Edited reports whether src ends with a checksum that differs from that of its
// tokens.
func Edited(src []byte) bool {
	i := bytes.LastIndex(src, []byte("\n"+Prefix))
	if i < 0 {
		return false
	}
	sum, _, _ := strings.Cut(string(src[i+1+len(Prefix):]), "\n")
	return strings.TrimSpace(sum) != Of(src)
}
