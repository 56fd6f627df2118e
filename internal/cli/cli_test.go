package cli

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain is the small program if the test binary has its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "greet" {
		os.Exit(program().Run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// program is a small program with a flag of each kind.
func program() *Program {
	echo := func(flags *flag.FlagSet) Run {
		loud := flags.Bool("loud", false, "write it in capitals")
		name := flags.String("name", "", "the `name` to greet")
		ColorFlag(flags)
		return func(args []string, stdout, _ io.Writer) int {
			text := strings.Join(append([]string{*name}, args...), " ")
			if *loud {
				text = strings.ToUpper(text)
			}
			fmt.Fprintln(stdout, text)
			return OK
		}
	}
	return &Program{
		Name: "greet", Short: "Greet greets.",
		Main: &Command{Args: "[names]", Short: "greet names", Setup: echo},
		Commands: []*Command{{Name: "farewell", Args: "[names]", Short: "it's time: say goodbye", Setup: echo,
			Words: func() []string { return []string{"ann", "bob"} }},
			{Name: "list add", Args: "names", Short: "add names", Setup: echo,
				Complete: func(flags *flag.FlagSet, args []string, _ string) []string {
					return []string{"x:" + flags.Lookup("name").Value.String(), fmt.Sprint("x:n", len(args)), "y"}
				}},
			{Name: "list clear", Short: "remove all names", Setup: echo}},
		Hints: map[string]string{"weep": "there is no reason to"},
	}
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		args   string
		status int
		stdout string // a part of it
		stderr string
	}{
		{"-name ann bob", OK, "ann bob\n", ""},
		{"farewell -loud -name ann", OK, "ANN\n", ""},
		{"help", OK, "  farewell    it's time: say goodbye\n", ""},
		{"-h", OK, "Usage:\n  greet [flags] [names]\n  greet COMMAND", ""},
		{"help farewell", OK, "  -name name   the name to greet\n", ""},
		{"farewell -help", OK, "Usage:\n  greet farewell [flags] [names]\n", ""},
		{"help farwell", Failed, "", "greet: there is no command farwell: did you mean farewell?\n"},
		{"help weep", Failed, "", "greet: there is no command weep: there is no reason to\n"},
		{"help completion", OK, "  bash: source <(greet completion bash)\n", ""},
		{"help help", OK, "Usage:\n  greet help [command]\n", ""},
		{"help a b", Failed, "", "greet: help takes one command: greet help a\n"},
		{"weep", Failed, "", "greet: there is no command weep: there is no reason to\n"},
		{"farewell -lod", Failed, "",
			"greet: flag provided but not defined: -lod; see greet help farewell: did you mean -loud?\n"},
		{"ann -loud", Failed, "", "greet: flag -loud after argument ann: put flags first\n"},
		{"farewell -- -loud", OK, "-loud\n", ""},
		{"list add -loud x", OK, "X\n", ""},
		{"list", Failed, "", "greet: write list followed by add or clear, as in greet list add\n"},
		{"list -loud", Failed, "", "greet: write list followed by add or clear, as in greet list add\n"},
		{"list clera", Failed, "", "greet: there is no command list clera: did you mean list clear?\n"},
		{"list undo", Failed, "", "greet: there is no command list undo: write list followed by add or clear\n"},
		{"help list", OK, "Commands:\n  list add    add names\n  list clear  remove all names\n", ""},
		{"help list add", OK, "Add names.\n\nUsage:\n  greet list add [flags] names\n", ""},
		{"help list undo", Failed, "", "greet: there is no command list undo: write list followed by add or clear\n"},
		{"completion -- words list add -name n1 a x", OK, "x:n1\nx:n1\n", ""},
		{"completion -- words list add -nam n1 x", OK, "", ""},
		{"completion -- words farewell x", OK, "", ""},
		{"completion ksh", Failed, "", "greet: completion takes bash, zsh or fish: greet completion bash\n"},
	} {
		var stdout, stderr bytes.Buffer
		status := program().Run(strings.Fields(tt.args), &stdout, &stderr)
		if status != tt.status || !strings.Contains(stdout.String(), tt.stdout) || stderr.String() != tt.stderr {
			t.Errorf("greet %s: status %d, stdout %q, stderr %q", tt.args, status, &stdout, &stderr)
		}
	}
}

func TestVerify(t *testing.T) {
	for args, want := range map[string]string{
		"":                       "",
		"-loud -name ann ./...":  "",
		"farewell -name ann bob": "",
		"help farewell":          "",
		"completion bash":        "",
		"farwell":                "farwell is neither a command nor a path",
		"farewell -lod":          "flag provided but not defined: -lod",
		"farewell -name":         "flag needs an argument: -name",
		"farewell ann -loud":     "-loud is neither a command nor a path",
	} {
		got := ""
		if err := program().Verify(strings.Fields(args)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("greet %s: got %q, want %q", args, got, want)
		}
	}
}

// Each shell that is installed reads its script, and completes.
func TestCompletion(t *testing.T) {
	complete := map[string]string{
		"bash": `source "$1"; COMP_WORDS=(greet farewell b); COMP_CWORD=2; _greet; echo "${COMPREPLY[@]}"
			COMP_WORDS=(greet farewell -color al); COMP_CWORD=3; _greet; echo "${COMPREPLY[@]}"
			COMP_WORDS=(greet li); COMP_CWORD=1; _greet; echo "${COMPREPLY[@]}"
			COMP_WORDS=(greet list c); COMP_CWORD=2; _greet; echo "${COMPREPLY[@]}"
			COMP_WORDS=(greet list add -name n7 x : n); COMP_CWORD=7
			COMP_LINE="greet list add -name n7 x:n"; COMP_POINT=${#COMP_LINE}; _greet; echo "${COMPREPLY[@]}"`,
		"zsh": `autoload -Uz compinit && compinit -D; source "$1"; whence -w _greet`,
		"fish": `source $argv[1]; complete -C "greet farewell b"; complete -C "greet farewell -color al" | cut -f1
			complete -C "greet li" | cut -f1; complete -C "greet list c" | cut -f1
			complete -C "greet list add -name n7 x:n" | cut -f1`,
	}
	want := map[string]string{
		"bash": "bob\nalways\nlist\nclear\nn7 n0", "zsh": "_greet: function",
		"fish": "bob\nalways\nlist\nclear\nx:n0\nx:n7",
	}
	// The scripts call the program.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "greet")); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	tested := 0
	for shell, text := range complete {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		tested++
		var script bytes.Buffer
		program().Run([]string{"completion", shell}, &script, io.Discard)
		file := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(file, script.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		args := []string{"-c", text, shell, file}
		if shell == "fish" {
			args = []string{"-c", text, file}
		}
		cmd := exec.Command(path, args...)
		cmd.Dir = t.TempDir() // without files to complete
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want[shell] {
			t.Errorf("%s completes %q, %v; want %q", shell, got, err, want[shell])
		}
	}
	if tested == 0 {
		t.Log("no shell is installed")
	}
}
