package docpages

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retrygen/retrygen/internal/cli"
)

// TestCommands tests the commands of a program on the pages of the repository in
// root. Each command and flag must exist. A command in a console block must print the
// output of the block in a folder with the files that the page shows above it. A file
// is named in the first line of a block, or for JSON after the language; a policy file
// without a name is retry.yaml. The flag -update of the test rewrites the output. The
// program must be in PATH.
func TestCommands(t *testing.T, root string, program *cli.Program) {
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := Blocks(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := WriteModule(dir, root); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	tested := 0
	for _, b := range blocks {
		folder := filepath.Join(dir, filepath.FromSlash(b.Folder()))
		if name := b.name(); name != "" {
			if err := writeFile(filepath.Join(folder, filepath.FromSlash(name)), b.Text); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range commands(b, program.Name) {
			tested++
			err := program.Verify(args)
			if err == nil && b.Lang == "console" {
				err = testOutput(root, folder, b, args, program.Name)
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

// name returns the name of the file that the commands of the page find, or "" if the
// block is none.
func (b Block) name() string {
	switch {
	case b.Lang == "json" && len(b.Marks) == 1 && filepath.Ext(b.Marks[0]) == ".json":
		return b.Marks[0]
	case b.Lang == "yaml" && b.File() == "" && !b.Fragment():
		return "retry.yaml"
	}
	return b.File()
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

// Command returns the words of the command of a console block, without "go tool", and
// the output. There is no command if the block does not begin with one, or has
// another one.
func (b Block) Command() (words []string, output string) {
	line, output, _ := strings.Cut(b.Text, "\n")
	line, ok := strings.CutPrefix(line, prompts["console"])
	if b.Lang != "console" || !ok || strings.Contains(output, "\n"+prompts["console"]) {
		return nil, ""
	}
	return split(strings.TrimPrefix(line, "go tool ")), output
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

// testOutput runs the command of a console block in a folder, and compares or
// rewrites the output on the page.
func testOutput(root, folder string, b Block, args []string, program string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = folder
	output, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return err
	}
	return compare(root, b, string(output))
}

// varying are the parts of an output that differ between two executions of a program.
var varying = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\d{4}/\d\d/\d\d \d\d:\d\d:\d\d`), "TIME"},
	{regexp.MustCompile(`\b(?:\d+(?:\.\d+)?(?:h|ms|µs|ns|m|s))+\b`), "WAIT"},
	{regexp.MustCompile(`\bcall=\d+`), "call=ID"},
	{regexp.MustCompile(`\bbudget_left=[\d.]+`), "budget_left=LEFT"},
}

// normalize replaces the parts of an output that differ between two executions of a
// program: times, durations and the ids of calls.
func normalize(output string) string {
	for _, v := range varying {
		output = v.pattern.ReplaceAllString(output, v.name)
	}
	return output
}

// compare returns an error if a program does not print what a console block shows. If
// the test has the flag -update, it rewrites the block instead.
func compare(root string, b Block, output string) error {
	prompt, _, _ := strings.Cut(b.Text, "\n")
	want := prompt + "\n" + output
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		return replace(filepath.Join(root, filepath.FromSlash(b.Page)), b.Text, want)
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

// VerifyGo returns an error if a block is marked as generated and is not a part of the
// code that is generated for its page, or if it shows a go command and not its output.
// dir has the files of all pages: see [Write]. The flag -update of the test rewrites
// the output if more than times, durations and ids have changed.
func VerifyGo(root, dir string, b Block) error {
	folder := filepath.Join(dir, filepath.FromSlash(b.Folder()))
	words, output := b.Command()
	switch {
	case b.Generated():
		text, err := os.ReadFile(filepath.Join(folder, "retry_gen.go"))
		if err == nil && !strings.Contains(string(text), strings.TrimSpace(b.Text)) {
			err = fmt.Errorf("the code is stale: it must be a part of\n%s", text)
		}
		return err
	case len(words) > 0 && words[0] == "go":
		cmd := exec.Command("go", words[1:]...)
		cmd.Dir = folder
		printed, err := cmd.CombinedOutput()
		if err == nil && normalize(string(printed)) != normalize(output) {
			err = compare(root, b, string(printed))
		}
		return err
	}
	return nil
}
