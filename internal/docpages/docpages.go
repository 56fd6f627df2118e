// Package docpages reads the pages of docs for the tests of their code blocks.
//
// A fenced code block is a file if its first line is a comment with a file name,
// such as "// client.go" or "# retry.yaml". The files of a page form a package, or
// several if the names have folders. The package must compile after the code of its
// policies is generated. The word "fragment" in the info string excludes a block.
package docpages

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/docs"
)

// A Block is a fenced code block of a page.
type Block struct {
	Page  string   // slash-separated path of the page below the folder of the pages
	Line  int      // of the opening fence
	Lang  string   // the first word of the info string
	Marks []string // the other words
	Text  string   // without the fences
}

// Place returns the page and the line of the block, for messages.
func (b Block) Place() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Fragment reports whether the block is marked as a fragment, which is not tested.
func (b Block) Fragment() bool { return slices.Contains(b.Marks, "fragment") }

// fileComment matches the first line of a block that is a file.
var fileComment = regexp.MustCompile(`\A(?://|#) ([\w./-]+\.(?:go|yaml|yml|mod))\b`)

// File returns the file that the block is, relative to the folder of its page,
// or "" if its first line does not name one.
func (b Block) File() string {
	if m := fileComment.FindStringSubmatch(b.Text); m != nil && !b.Fragment() {
		return m[1]
	}
	return ""
}

// Path returns the path of File below the folder to which Write writes all pages.
func (b Block) Path() string { return strings.TrimSuffix(b.Page, ".md") + "/" + b.File() }

// Pages returns the pages below dir, sorted, with their text.
func Pages(dir string) (names []string, texts map[string]string, err error) {
	texts = map[string]string{}
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		rel, relErr := filepath.Rel(dir, name)
		page := filepath.ToSlash(rel)
		names = append(names, page)
		texts[page] = string(text)
		return errors.Join(err, relErr)
	})
	return names, texts, err
}

// Blocks returns the code blocks of all pages below dir.
func Blocks(dir string) ([]Block, error) {
	names, texts, err := Pages(dir)
	if err != nil {
		return nil, err
	}
	var blocks []Block
	for _, name := range names {
		var open *Block
		for i, line := range strings.SplitAfter(texts[name], "\n") {
			info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case fence && open == nil:
				open = &Block{Page: name, Line: i + 1}
				if words := strings.Fields(info); len(words) > 0 {
					open.Lang, open.Marks = words[0], words[1:]
				}
			case fence:
				blocks = append(blocks, *open)
				open = nil
			case open != nil:
				open.Text += line
			}
		}
		if open != nil {
			return nil, fmt.Errorf("%s: the code block is not closed", open.Place())
		}
	}
	return blocks, nil
}

// Code returns the code block of a section of a rule's page, as Example or Fixed.
func Code(page docs.Page, section string) string {
	_, block, _ := strings.Cut(string(page), "\n## "+section+"\n\n```")
	_, code, _ := strings.Cut(block, "\n")
	code, _, _ = strings.Cut(code, "```")
	return code
}

// Module is the path of the module that contains the packages of the pages.
const Module = "example.com/docs"

const self = "github.com/retrygen/retrygen"

// Foreign returns the folders of blocks whose Go files import another module than
// this one.
func Foreign(blocks []Block) (map[string]bool, error) {
	folders := map[string]bool{}
	for _, b := range blocks {
		if filepath.Ext(b.File()) != ".go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), b.Place(), b.Text, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			first, _, _ := strings.Cut(path, "/")
			own := strings.HasPrefix(path, self+"/") || strings.HasPrefix(path, Module+"/")
			if strings.Contains(first, ".") && !own {
				folders[filepath.Dir(b.Path())] = true
			}
		}
	}
	return folders, nil
}

// Write writes the files of the blocks below dir.
func Write(dir string, blocks []Block) error {
	for _, b := range blocks {
		if b.File() == "" {
			continue
		}
		name := filepath.Join(dir, filepath.FromSlash(b.Path()))
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(b.Text), 0o666); err != nil {
			return err
		}
	}
	return nil
}
