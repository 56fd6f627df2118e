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
			Words: func() []string { return []string{"ann", "bob"} }}},
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
			COMP_WORDS=(greet farewell -color al); COMP_CWORD=3; _greet; echo "${COMPREPLY[@]}"`,
		"zsh":  `autoload -Uz compinit && compinit -D; source "$1"; whence -w _greet`,
		"fish": `source $argv[1]; complete -C "greet farewell b"; complete -C "greet farewell -color al" | cut -f1`,
	}
	want := map[string]string{"bash": "bob\nalways", "zsh": "_greet: function", "fish": "bob\nalways"}
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
