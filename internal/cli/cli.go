// Package cli implements the command lines of this module's programs: commands,
// their help and their completion, from one table.
//
// It uses package flag, whose flags have one hyphen as those of go vet do: users
// call the programs next to go vet, and go vet calls retrylint. The usual libraries
// for commands (cobra, kong) expect two hyphens and read -json as flags of one
// letter.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/spelling"
)

// The exit statuses of a program.
const (
	OK       = 0 // done; nothing was found
	Problems = 1 // problems were found
	Failed   = 2 // usage error, or the program has failed
)

// A Run runs a command and returns the exit status. args are the arguments after
// the flags.
type Run func(args []string, stdout, stderr io.Writer) int

// A Command is one command of a program.
type Command struct {
	// Name is one word, or two words for a command of a group: "dead list". It is empty
	// for the command that runs without a name.
	Name  string
	Args  string // the arguments as the usage line shows them: [packages]
	Short string // what the command does, in a few words
	Long  string // more, as paragraphs; may be empty
	// Setup defines the flags of the command, and returns the function that runs it.
	Setup func(*flag.FlagSet) Run
	// Words returns the possible arguments, for completion. Nil means file names.
	Words func() []string
	// Complete returns possible arguments that are known only when the user asks for
	// them. flags are those of Setup, args the complete arguments before the one that
	// begins with prefix. It may be nil.
	Complete func(flags *flag.FlagSet, args []string, prefix string) []string
}

// A Program is a program with commands.
type Program struct {
	Name     string
	Short    string     // what it does, in one sentence
	Main     *Command   // runs if no command is named
	Commands []*Command // in the order of the help text
	// Hints maps words that are not commands to what to do instead, as
	// {"lint": "run retrylint"}.
	Hints map[string]string
	// More is the last paragraph of the help text; may be empty.
	More string
}

// Run runs the program with the arguments after its name, and returns the exit
// status.
func (p *Program) Run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return p.run(p.Main, args, stdout, stderr)
	}
	if c, rest := p.find(args); c != nil {
		return p.run(c, rest, stdout, stderr)
	}
	if err := p.incomplete(args); err != nil {
		return p.UsageError(stderr, "%v", err)
	}
	if instead := p.Hints[args[0]]; instead != "" {
		return p.UsageError(stderr, "there is no command %s: %s", args[0], instead)
	}
	return p.run(p.Main, args, stdout, stderr)
}

// all returns the commands, including those that every program has.
func (p *Program) all() []*Command {
	return append(slices.Clone(p.Commands), &Command{
		Name: "completion", Args: "bash|zsh|fish", Short: "print a completion script for bash, zsh or fish",
		Long: fmt.Sprintf(`
The script completes commands, flags and their arguments. To use it, run

  bash: source <(%[1]s completion bash)
  zsh:  %[1]s completion zsh > "${fpath[1]}/_%[1]s"
  fish: %[1]s completion fish | source`, p.Name),
		Setup: func(*flag.FlagSet) Run { return p.completion },
		Words: func() []string { return []string{"bash", "zsh", "fish"} },
	}, &Command{
		Name: "help", Args: "[command]", Short: "print the help text of the program or of a command",
		Setup: func(*flag.FlagSet) Run { return p.help },
		Words: p.names,
	})
}

// find returns the command that the first words of args name, and the other words;
// or nil. Two words win over one.
func (p *Program) find(args []string) (*Command, []string) {
	for n := min(2, len(args)); n > 0; n-- {
		name := strings.Join(args[:n], " ")
		for _, c := range p.all() {
			if c.Name == name {
				return c, args[n:]
			}
		}
	}
	return nil, nil
}

// group returns the commands whose names have a first word and another one.
func (p *Program) group(first string) (commands []*Command) {
	for _, c := range p.all() {
		if strings.HasPrefix(c.Name, first+" ") {
			commands = append(commands, c)
		}
	}
	return commands
}

// incomplete returns an error if args begin with the first word of a group and not
// with one of its commands. Otherwise it returns nil.
func (p *Program) incomplete(args []string) error {
	var second []string
	for _, c := range p.group(args[0]) {
		second = append(second, strings.Fields(c.Name)[1])
	}
	switch {
	case second == nil:
		return nil
	case len(args) > 1 && !strings.HasPrefix(args[1], "-"):
		if near := spelling.Nearest(args[1], second); near != "" {
			return fmt.Errorf("there is no command %s %s: did you mean %s %s?", args[0], args[1], args[0], near)
		}
		return fmt.Errorf("there is no command %s %s: write %s followed by %s", args[0], args[1], args[0], either(second))
	}
	return fmt.Errorf("write %s followed by %s, as in %s %s %s", args[0], either(second), p.Name, args[0], second[0])
}

// either returns some words as alternatives.
func either(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func (p *Program) names() (names []string) {
	for _, c := range p.all() {
		names = append(names, c.Name)
	}
	return names
}

// Misspelled returns an error if the first argument of the main command is a
// misspelled command and not a file or folder in dir. Otherwise it returns nil.
func (p *Program) Misspelled(dir string, args []string) error {
	if len(args) == 0 || len(args[0]) < 3 || strings.ContainsAny(args[0], `./\`) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, args[0])); err == nil {
		return nil
	}
	if near := spelling.Nearest(args[0], p.names()); near != "" {
		return fmt.Errorf("there is no command %s: did you mean %s?", args[0], near)
	}
	return nil
}

// UsageError prints a mistake in the command line and returns Failed.
func (p *Program) UsageError(stderr io.Writer, format string, args ...any) int {
	fmt.Fprintf(stderr, "%s: %s\n", p.Name, fmt.Sprintf(format, args...))
	return Failed
}

// run parses the flags of a command and runs it.
func (p *Program) run(c *Command, args []string, stdout, stderr io.Writer) int {
	flags, run := c.flags(p)
	help := strings.TrimSpace(p.Name + " help " + c.Name)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		p.print(c, stdout)
		return OK
	case err != nil:
		return p.UsageError(stderr, "%v; see %s%s", err, help, p.suggestFlag(flags, err))
	}
	literal := len(args) > flags.NArg() && args[len(args)-flags.NArg()-1] == "--"
	for _, arg := range flags.Args() {
		if len(arg) > 1 && arg[0] == '-' && !literal {
			return p.UsageError(stderr, "flag %s after argument %s: put flags first", arg, flags.Arg(0))
		}
	}
	return run(flags.Args(), stdout, stderr)
}

// Verify checks a command line of the documentation without running it. It returns
// an error if the command or a flag does not exist. Arguments without a command
// must contain a dot or a slash, so that a misspelled command is not a package.
func (p *Program) Verify(args []string) error {
	c := p.Main
	if len(args) > 0 {
		if named, rest := p.find(args); named != nil {
			c, args = named, rest
		}
	}
	flags, _ := c.flags(p)
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, arg := range flags.Args() {
		if strings.HasPrefix(arg, "-") || c == p.Main && !strings.ContainsAny(arg, "./") {
			return fmt.Errorf("%s is neither a command nor a path", arg)
		}
	}
	return nil
}

// flags returns the flag set of a command, and the function that runs it.
func (c *Command) flags(p *Program) (*flag.FlagSet, Run) {
	flags := flag.NewFlagSet(strings.TrimSpace(p.Name+" "+c.Name), flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run prints errors, print prints help
	return flags, c.Setup(flags)
}

// suggestFlag returns a hint with the flag nearest to the undefined one that err
// reports, or "".
func (p *Program) suggestFlag(flags *flag.FlagSet, err error) string {
	_, name, unknown := strings.Cut(err.Error(), "not defined: -")
	if !unknown {
		return ""
	}
	if near := spelling.Nearest(name, flagNames(flags)); near != "" {
		return ": did you mean -" + near + "?"
	}
	return ""
}

func flagNames(flags *flag.FlagSet) (names []string) {
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}
