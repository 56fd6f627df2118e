// Package cli implements the command lines of this module's programs: commands,
// their help and their completion, from one table.
//
// Flags are those of package flag, with one hyphen as those of go vet: users call the
// programs next to go vet, and go vet calls retrylint. The usual libraries for commands
// (cobra, kong) expect two hyphens and read -json as flags of one letter. Only the
// parser of package flag is replaced: it stops at the first argument, and users write
// flags before the command, before its arguments and after them.
package cli

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
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

// A Run runs a command and returns the exit status. args are the arguments that are
// not flags.
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
	// Files reports that arguments are files or folders, for completion.
	Files bool
	// Words returns the possible arguments, for completion. It may be nil.
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
// status. Flags may be anywhere; all arguments after -- are arguments of the
// command.
func (p *Program) Run(args []string, stdout, stderr io.Writer) int {
	a := p.split(args)
	c, rest := p.find(a.words)
	if a.asksHelp() {
		if c == nil && len(a.words) > 0 && p.group(a.words[0]) != nil {
			p.printGroup(a.words[0], stdout)
		} else {
			p.print(cmp.Or(c, p.Main), stdout)
		}
		return OK
	}
	if c == nil {
		if err := p.notCommand(a.words); err != nil {
			return Fail(stderr, p.Name, err)
		}
		c, rest = p.Main, a.words
	}
	flags, run := c.flags(p)
	err := p.set(c, flags, a.options)
	if err == nil && c == p.Main && flags.Lookup(versionFlag).Value.String() == "true" {
		return p.printVersion(stdout)
	}
	if err == nil {
		err = enter(flags)
	}
	if err != nil {
		return Fail(stderr, p.Name, err)
	}
	return run(slices.Concat(rest, a.literal), stdout, stderr)
}

// notCommand returns an error if words begin with a word that names no command, but
// what the user has in mind is known. Otherwise it returns nil.
func (p *Program) notCommand(words []string) error {
	if len(words) == 0 {
		return nil
	}
	if err := p.incomplete(words); err != nil {
		return err
	}
	if instead := p.Hints[words[0]]; instead != "" {
		return fmt.Errorf("there is no command %s: %s", words[0], instead)
	}
	return nil
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
	case len(args) > 1:
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
// misspelled command and not a file or folder. Otherwise it returns nil.
func (p *Program) Misspelled(args []string) error {
	if len(args) == 0 || len(args[0]) < 3 || strings.ContainsAny(args[0], `./\`) {
		return nil
	}
	if _, err := os.Stat(args[0]); err == nil {
		return nil
	}
	return p.similar(args[0])
}

// similar returns an error with the command that is most similar to a word, or with
// the hint for a similar word, or nil.
func (p *Program) similar(word string) error {
	near := spelling.Nearest(word, slices.Concat(p.names(), slices.Sorted(maps.Keys(p.Hints))))
	switch {
	case near == "":
		return nil
	case p.Hints[near] != "":
		return fmt.Errorf("there is no command %s: %s", word, p.Hints[near])
	}
	return fmt.Errorf("there is no command %s: did you mean %s?", word, near)
}

// Verify checks a command line of the documentation without running it. It returns
// an error if the command or a flag does not exist. Arguments without a command
// must contain a dot or a slash, so that a misspelled command is not a package.
func (p *Program) Verify(args []string) error {
	a := p.split(args)
	c := p.Main
	if named, _ := p.find(a.words); named != nil {
		c = named
	}
	flags, _ := c.flags(p)
	if err := p.set(c, flags, a.options); err != nil || c != p.Main {
		return err
	}
	for _, word := range a.words {
		if !strings.ContainsAny(word, "./") {
			return fmt.Errorf("%s is neither a command nor a path", word)
		}
	}
	return nil
}

// flags returns the flag set of a command, and the function that runs it.
func (c *Command) flags(p *Program) (*flag.FlagSet, Run) {
	flags := flag.NewFlagSet(strings.TrimSpace(p.Name+" "+c.Name), flag.ContinueOnError)
	run := c.Setup(flags)
	if c == p.Main {
		flags.Bool(versionFlag, false, "print the version")
	}
	return flags, run
}

// versionFlag is the flag of every program that prints its version.
const versionFlag = "version"

func flagNames(flags *flag.FlagSet) (names []string) {
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}
