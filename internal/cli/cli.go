// Package cli is the command line of the programs of this module: commands,
// their help and their completion, from one table.
//
// It uses package flag, since its users call the programs next to go vet, which
// has flags with one hyphen, and go vet calls retrylint in its own way. The
// well-kept libraries for commands (cobra, kong) read flags with two hyphens
// and take -json for five flags of one letter.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/spelling"
)

// The exit statuses of a program.
const (
	OK       = 0 // done; nothing was found
	Problems = 1 // problems were found
	Failed   = 2 // misused, or the program could not do its work
)

// A Run runs a command with its arguments, after the flags, to an exit status.
type Run func(args []string, stdout, stderr io.Writer) int

// A Command is one command of a program.
type Command struct {
	Name  string // empty for the command that runs without a name
	Args  string // the arguments as the usage line shows them: [packages]
	Short string // what the command does, in a few words
	Long  string // more, as paragraphs; may be empty
	// Setup defines the flags of the command, and returns what runs it.
	Setup func(*flag.FlagSet) Run
	// Words returns the possible arguments, for completion. Nil means files.
	Words func() []string
}

// A Program is a program with commands.
type Program struct {
	Name     string
	Short    string     // what it does, in one sentence
	Main     *Command   // runs if no command is named
	Commands []*Command // in the order of the help text
	// Elsewhere has words that are not commands, with what to do instead:
	// {"lint": "run retrylint"}.
	Elsewhere map[string]string
	// More is the end of the help text.
	More string
}

// Run runs the program to an exit status.
func (p *Program) Run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return p.run(p.Main, args, stdout, stderr)
	}
	name := args[0]
	switch {
	case name == "help":
		return p.help(args[1:], stdout, stderr)
	case name == "completion":
		return p.completion(args[1:], stdout, stderr)
	}
	if c := p.command(name); c != nil {
		return p.run(c, args[1:], stdout, stderr)
	}
	if instead := p.Elsewhere[name]; instead != "" {
		return p.Misused(stderr, "there is no command %s: %s", name, instead)
	}
	return p.run(p.Main, args, stdout, stderr)
}

// command returns the command with a name, or nil.
func (p *Program) command(name string) *Command {
	i := slices.IndexFunc(p.Commands, func(c *Command) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return p.Commands[i]
}

// Names returns the names of the commands.
func (p *Program) Names() []string {
	names := []string{"help", "completion"}
	for _, c := range p.Commands {
		names = append(names, c.Name)
	}
	return names
}

// Nearest returns the command that a word resembles, or "".
func (p *Program) Nearest(word string) string { return spelling.Nearest(word, p.Names()) }

// Misused reports a mistake in the command line.
func (p *Program) Misused(stderr io.Writer, format string, args ...any) int {
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
		return p.Misused(stderr, "%v; see %s%s", err, help, p.suggestFlag(flags, err))
	}
	for _, arg := range flags.Args() {
		if len(arg) > 1 && arg[0] == '-' {
			return p.Misused(stderr, "flag %s after argument %s: put flags first", arg, flags.Arg(0))
		}
	}
	return run(flags.Args(), stdout, stderr)
}

// Verify returns why a command line on a page of documentation is wrong, without
// running it. Arguments without a command must be paths, so that a misspelled
// command is not taken for a package.
func (p *Program) Verify(args []string) error {
	c := p.Main
	if len(args) > 0 {
		if named := p.command(args[0]); named != nil {
			c, args = named, args[1:]
		} else if slices.Contains(p.Names(), args[0]) {
			return nil
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

// flags returns the flag set of a command, and what runs it.
func (c *Command) flags(p *Program) (*flag.FlagSet, Run) {
	flags := flag.NewFlagSet(strings.TrimSpace(p.Name+" "+c.Name), flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run prints errors, print prints help
	return flags, c.Setup(flags)
}

// suggestFlag returns a guess at the flag that an error of package flag does not
// know.
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
