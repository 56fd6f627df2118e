// Package docpages reads the README and the pages of docs for the tests of their
// code blocks.
//
// A fenced code block is a file if its first line is a comment with a file name,
// such as "// client.go" or "# retry.yaml". The files of a page form a package, or
// several if the names have folders. The package must compile after the code of its
// policies is generated. A Go block with the word "generated" in its info string is
// a part of that code.
//
// A block in the language console is a command and its output: see [TestCommands]
// for the programs of this module. A go command runs a package of the page.
//
// The word "fragment" in the info string excludes a block.
package docpages

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/docs"
)

// A Block is a fenced code block of a page.
type Block struct {
	Page  string   // slash-separated path of the page in the repository
	Line  int      // of the opening fence
	Lang  string   // the first word of the info string
	Marks []string // the other words
	Text  string   // without the fences
}

// Place returns the page and the line of the block, for messages.
func (b Block) Place() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Fragment reports whether the block is marked as a fragment, which is not tested.
func (b Block) Fragment() bool { return slices.Contains(b.Marks, "fragment") }

// Generated reports whether the block is marked as a part of the code that is
// generated for the page.
func (b Block) Generated() bool { return slices.Contains(b.Marks, "generated") }

// fileComment matches the first line of a block that is a file.
var fileComment = regexp.MustCompile(`\A(?://|#) ([\w./-]+\.(?:go|yaml|yml|mod|conf|cfg))\b`)

// File returns the file that the block is, relative to the folder of its page,
// or "" if its first line does not name one.
func (b Block) File() string {
	if m := fileComment.FindStringSubmatch(b.Text); m != nil && !b.Fragment() {
		return m[1]
	}
	return ""
}

// Folder returns the folder of the files of the block's page, below the folder to
// which [Write] writes all pages.
func (b Block) Folder() string { return strings.TrimSuffix(b.Page, ".md") }

// Path returns the path of File below the folder to which [Write] writes all pages.
func (b Block) Path() string { return b.Folder() + "/" + b.File() }

// Pages returns the README of the repository in root and the pages of its docs,
// sorted, with their text.
func Pages(root string) (names []string, texts map[string]string, err error) {
	texts = map[string]string{}
	visit := func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		rel, relErr := filepath.Rel(root, name)
		page := filepath.ToSlash(rel)
		names = append(names, page)
		texts[page] = string(text)
		return errors.Join(err, relErr)
	}
	for _, name := range []string{"README.md", "docs"} {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(root, name), visit))
	}
	return names, texts, err
}

// Blocks returns the code blocks of the README and of all pages of docs.
func Blocks(root string) ([]Block, error) {
	names, texts, err := Pages(root)
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

// module is the path of the module that contains the packages of the pages, and self
// that of this one.
const (
	module = "example.com"
	self   = "github.com/retrygen/retrygen"
)

// Foreign returns the folders of blocks whose Go files import a module other than this
// one. root is the folder of this one; the modules that are nested in it are others, too.
func Foreign(root string, blocks []Block) (map[string]bool, error) {
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
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			first, _, _ := strings.Cut(imported, "/")
			folder, ours := strings.CutPrefix(imported, self+"/")
			own := strings.HasPrefix(imported, module+"/") || ours && !isNested(root, folder)
			if strings.Contains(first, ".") && !own {
				folders[filepath.Dir(b.Path())] = true
			}
		}
	}
	return folders, nil
}

// isNested reports whether a folder below root belongs to a module that is nested in the
// one of root.
func isNested(root, folder string) bool {
	for ; folder != "."; folder = path.Dir(folder) {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(folder), "go.mod")); err == nil {
			return true
		}
	}
	return false
}

// WriteModule writes the go.mod of a module in dir that depends on this one, which is
// in root. The module needs -mod=mod in GOFLAGS.
func WriteModule(dir, root string) error {
	text := fmt.Sprintf("module %s\n\ngo 1.26.0\n\nrequire %s v0.0.0\n\nreplace %[2]s => %s\n", module, self, root)
	return os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666)
}

// Write writes the files of the blocks below dir.
func Write(dir string, blocks []Block) error {
	for _, b := range blocks {
		if b.File() == "" {
			continue
		}
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(b.Path())), b.Text); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file in a folder that need not exist.
func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o666)
}
