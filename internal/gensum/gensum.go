// Package gensum tells generated files from edited ones.
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

// Of returns the sum of the Go tokens of src, so that neither white space nor
// line ends nor comments count.
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
			lit = "" // a line end or not
		}
		fmt.Fprintf(h, "%s %s\n", tok, lit)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}

// Edited reports whether a file has a sum that is not its own.
func Edited(src []byte) bool {
	i := bytes.LastIndex(src, []byte("\n"+Prefix))
	if i < 0 {
		return false
	}
	sum, _, _ := strings.Cut(string(src[i+1+len(Prefix):]), "\n")
	return strings.TrimSpace(sum) != Of(src)
}
