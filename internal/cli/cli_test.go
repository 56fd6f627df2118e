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
	wait := func(flags *flag.FlagSet) Run {
		flags.Duration("every", 0, "wait")
		flags.Int("most", 0, "how often")
		FolderFlag(flags)
		return echo(flags)
	}
	return &Program{
		Name: "greet", Short: "Greet greets.",
		Main: &Command{Args: "[names]", Short: "greet names", Setup: echo, Files: true},
		Commands: []*Command{{Name: "farewell", Args: "[names]", Short: "it's time: say goodbye", Setup: echo,
			Words: func() []string { return []string{"ann", "bob"} }},
			{Name: "list add", Args: "names", Short: "add names", Setup: echo,
				Complete: func(flags *flag.FlagSet, args []string, _ string) []string {
					return []string{"x:" + flags.Lookup("name").Value.String(), fmt.Sprint("x:n", len(args)), "y"}
				}},
			{Name: "list clear", Short: "remove all names", Setup: echo},
			{Name: "part", Short: "say goodbye", Setup: wait},
			{Name: "part all", Short: "say goodbye to all", Setup: wait}},
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
		{"weeep", OK, "weeep\n", ""}, // the main command calls Misspelled if it has no other names
		// Flags may be anywhere.
		{"ann -loud", OK, "ANN\n", ""},
		{"farewell bob -name ann -loud", OK, "ANN BOB\n", ""},
		{"-name farewell farewell bob", OK, "farewell bob\n", ""},
		{"-loud list -name ann add x", OK, "ANN X\n", ""},
		{"--loud --name=ann bob", OK, "ANN BOB\n", ""},
		{"-loud -loud=false bob", OK, " bob\n", ""},
		{"bob - -loud", OK, "BOB -\n", ""},
		{"-- farewell -loud", OK, "farewell -loud\n", ""},
		// Help is printed wherever it is asked for.
		{"list --help", OK, "Usage:\n  greet list COMMAND", ""},
		{"list -h add", OK, "Usage:\n  greet list add", ""},
		{"farewell bob -loud -h", OK, "Usage:\n  greet farewell", ""},
		{"bob -help", OK, "Usage:\n  greet [flags] [names]\n", ""},
		{"part -h", OK, "Commands:\n  part all  say goodbye to all\n", ""},
		// Flags and values that are wrong.
		{"farewell -lod", Failed, "", "greet: there is no flag -lod: did you mean -loud?\n"},
		{"farewell -l", Failed, "", "greet: there is no flag -l: did you mean -loud?\n"},
		{"farewell -x", Failed, "", "greet: there is no flag -x: greet help farewell lists the flags\n"},
		{"-every 1s", Failed, "", "greet: -every is a flag of greet part or greet part all, not of greet\n"},
		{"-name far list clear -every 1s", Failed, "",
			"greet: -every is a flag of greet part or greet part all, not of greet list clear\n"},
		{"help -loud", Failed, "", "greet: -loud is a flag of other commands, not of greet help\n"},
		{"bob -name", Failed, "", "greet: -name needs a value: write -name name\n"},
		{"-loud=maybe", Failed, "", "greet: -loud=maybe: write -loud or -loud=false\n"},
		{"-color red", Failed, "", "greet: -color red: write auto, always or never\n"},
		{"part -every 5", Failed, "", "greet: -every 5: write a number with a unit, as 5s or 1m30s\n"},
		{"part -most x", Failed, "", "greet: -most x: write a number\n"},
		{"-version", OK, ", built with go", ""},
		{"--version", OK, ", built with go", ""},
		{"part -C nowhere", Failed, "", "greet: -C nowhere: there is no such folder\n"},
		{"part -C cli.go", Failed, "", "greet: -C cli.go: not a folder\n"},
		{"farewell -- -loud", OK, "-loud\n", ""},
		{"list add -loud x", OK, "X\n", ""},
		{"list", Failed, "", "greet: write list followed by add or clear, as in greet list add\n"},
		{"list -loud", Failed, "", "greet: write list followed by add or clear, as in greet list add\n"},
		{"list clera", Failed, "", "greet: there is no command list clera: did you mean list clear?\n"},
		{"list undo", Failed, "", "greet: there is no command list undo: write list followed by add or clear\n"},
		{"help list", OK, "Usage:\n  greet list COMMAND [flags] [arguments]\n\nCommands:\n  list add    add names\n" +
			"  list clear  remove all names\n", ""},
		{"help list add", OK, "Add names.\n\nUsage:\n  greet list add [flags] names\n", ""},
		{"help list undo", Failed, "", "greet: there is no command list undo: write list followed by add or clear\n"},
		{"completion -- words list add -name n1 a x", OK, "x:n1\nx:n1\n", ""},
		{"completion -- words list add -nam n1 x", OK, "", ""},
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
		"farewell -lod":          "there is no flag -lod: did you mean -loud?",
		"farewell -name":         "-name needs a value: write -name name",
		"farewell ann -loud":     "",
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

// TestCandidates tests what the scripts print: | is the end of a line, and descriptions
// are left out.
func TestCandidates(t *testing.T) {
	for args, want := range map[string]string{
		"farewell b":            "bob",
		"farewell ann ":         "ann|bob",
		"farewell -- ":          "ann|bob",
		"far":                   "farewell|<file>",
		"li":                    "list|<file>",
		"list ":                 "add|clear|<file>",
		"list c":                "clear|<file>",
		"-name list li":         "list|<file>",
		"-loud list c":          "clear|<file>",
		"list -name ann ":       "add|clear|<file>",
		"farewell --lo":         "--loud",
		"farewell -lo":          "-loud",
		"farewell bob -n":       "-name",
		"part -m":               "-most",
		"farewell -- -lo":       "",
		"farewell -color al":    "always",
		"farewell -color=":      "-color=auto|-color=always|-color=never",
		"farewell --color=n":    "--color=never",
		"-color ":               "auto|always|never",
		"farewell -name ":       "<file>",
		"part ":                 "all",
		"list clear x":          "",
		"help fa":               "farewell",
		"list add -name n1 a x": "x:n1|x:n1",
		"list add a -name n1 x": "x:n1|x:n1",
		"-name n1 list add a x": "x:n1|x:n1",
		"completion ":           "bash|zsh|fish",
		"nowhere ":              "<file>",
	} {
		words := strings.Fields(args)
		if args == "" || strings.HasSuffix(args, " ") {
			words = append(words, "")
		}
		var out bytes.Buffer
		program().Run(append([]string{"completion", "--", "words"}, words...), &out, &out)
		var got []string
		for line := range strings.Lines(out.String()) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, word)
		}
		if got := strings.Join(got, "|"); got != want {
			t.Errorf("%q completes %q, want %q", args, got, want)
		}
	}
}

// Each shell that is installed reads its script, and completes. zsh completes in a
// terminal only: it prints what the script adds.
func TestCompletion(t *testing.T) {
	complete := map[string]string{
		"bash": `source "$1"; for COMP_LINE in "${@:2}"; do COMP_POINT=${#COMP_LINE}; _greet; echo "${COMPREPLY[@]}"; done`,
		"zsh": `autoload -Uz compinit && compinit -D; source "$1"
			_describe() { for word in ${(P)2}; do print -rn -- "${${word/\\:/%}%%:*} "; done }
			_files() { }
			for line in "${@:2}"; do words=(${(s: :)line}); CURRENT=$#words; _greet; print; done`,
		"fish": `source $argv[1]; for line in $argv[2..-1]; complete -C $line | cut -f1 | string join " "; end`,
	}
	lines := []string{"greet farewell b", "greet farewell -color al", "greet li", "greet list c", "greet farewell -lo",
		"greet -name far list c", "greet list add -name n7 x:n"}
	want := map[string]string{
		"bash": "bob\nalways\nlist\nclear\n-loud\nclear\nn7 n0",
		"zsh":  "bob \nalways \nlist \nclear \n-loud \nclear \nx%n7 x%n0",
		"fish": "bob\nalways\nlist\nclear\n-loud\nclear\nx:n0 x:n7",
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
		cmd := exec.Command(path, append(args, lines...)...)
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
