package docpages

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/internal/cli"
)

// TestCommands tests the commands of a program on the pages below dir. Each
// command and flag must exist. A command in a console block must print the output
// of the block, with the last policy file above it on the page as retry.yaml, and
// with the blocks that name another file, in their first line or for JSON after the
// language. The flag -update of the test rewrites the output.
func TestCommands(t *testing.T, dir string, program *cli.Program) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := Blocks(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	file, tested := "", 0
	for i, b := range blocks {
		if i > 0 && b.Page != blocks[i-1].Page {
			file = ""
		}
		switch name := b.dataFile(); {
		case name != "":
			if err := os.WriteFile(name, []byte(b.Text), 0o666); err != nil {
				t.Fatal(err)
			}
		case b.Lang == "yaml" && !b.Fragment():
			file = b.Text
		}
		for _, args := range commands(b, program.Name) {
			tested++
			err := program.Verify(args)
			if err == nil && b.Lang == "console" {
				err = testOutput(dir, b, file, args, program)
			}
			if err != nil {
				t.Errorf("%s: %s %q: %v", b.Place(), program.Name, args, err)
			}
		}
	}
	if tested == 0 {
		t.Errorf("no page shows a command of %s", program.Name)
	}
}

// dataFile returns the name of a file of another system that a block is, or "".
func (b Block) dataFile() string {
	if b.Lang == "json" && len(b.Marks) == 1 && filepath.Ext(b.Marks[0]) == ".json" {
		return b.Marks[0]
	}
	if name := b.File(); b.Lang == "yaml" && name != "" && filepath.Base(name) != "retry.yaml" {
		return filepath.Base(name)
	}
	return ""
}

// prompts maps the language of a block to the text before a command: shell code, a
// console with output, and the steps of a workflow.
var prompts = map[string]string{"sh": "", "console": "$ ", "yaml": "- run: "}

// commands returns the arguments of each command line in a block that runs a
// program.
func commands(b Block, program string) (lines [][]string) {
	prompt, known := prompts[b.Lang]
	for line := range strings.Lines(b.Text) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), prompt)
		if !ok || !known {
			continue
		}
		line, _, _ = strings.Cut(line, " #")
		for command := range strings.SplitSeq(line, "&&") {
			command, _, _ = strings.Cut(command, ">")
			words := split(strings.TrimPrefix(strings.TrimSpace(command), "go tool "))
			if len(words) > 0 && words[0] == program {
				lines = append(lines, words[1:])
			}
		}
	}
	return lines
}

// split divides a command line into words, as a shell does with quotes and without
// backslashes.
func split(line string) (words []string) {
	var word strings.Builder
	quote, inside := rune(0), false
	for _, r := range line + " " {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote, inside = r, true
		case r == quote:
			quote = 0
		case quote == 0 && r == ' ':
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	return words
}

// testOutput runs the command of a console block, and compares or rewrites the
// output on the page.
func testOutput(dir string, b Block, file string, args []string, program *cli.Program) error {
	if err := os.WriteFile("retry.yaml", []byte(file), 0o666); err != nil {
		return err
	}
	var out strings.Builder
	program.Run(args, &out, &out)
	prompt, _, _ := strings.Cut(b.Text, "\n")
	want := prompt + "\n" + out.String()
	if flag.Lookup("update").Value.String() == "true" {
		return replace(filepath.Join(dir, filepath.FromSlash(b.Page)), b.Text, want)
	}
	if diff := cmp.Diff(want, b.Text); diff != "" {
		return fmt.Errorf("the output is stale: run this test with -update (-want +got):\n%s", diff)
	}
	return nil
}

// replace replaces a text that must be in a file exactly once.
func replace(name, old, text string) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if strings.Count(string(page), old) != 1 {
		return errors.New("the same block is on the page more than once")
	}
	return os.WriteFile(name, []byte(strings.Replace(string(page), old, text, 1)), 0o666)
}
