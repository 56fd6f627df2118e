package cli

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// help prints the help text of the program, of one command or of a group of commands.
func (p *Program) help(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		p.print(p.Main, stdout)
		return OK
	}
	switch c, rest := p.find(args); {
	case c != nil && len(rest) == 0:
		p.print(c, stdout)
		return OK
	case c == nil && len(args) == 1 && p.group(args[0]) != nil:
		p.printGroup(args[0], stdout)
		return OK
	case c != nil || len(args) > 1 && p.group(args[0]) == nil:
		return Fail(stderr, p.Name, fmt.Errorf("help takes one command: %s help %s", p.Name, args[0]))
	}
	err := cmp.Or(p.notCommand(args), p.similar(args[0]))
	if err == nil {
		err = fmt.Errorf("there is no command %s: %s help lists them", args[0], p.Name)
	}
	return Fail(stderr, p.Name, err)
}

// printGroup prints the help text of the commands with the same first word.
func (p *Program) printGroup(first string, w io.Writer) {
	fmt.Fprintf(w, "Usage:\n  %s %s COMMAND [flags] [arguments]\n", p.Name, first)
	printCommands(w, p.group(first))
}

// print prints the help text of a command. For the main command, that is the help
// text of the program.
func (p *Program) print(c *Command, w io.Writer) {
	main := c == p.Main
	if main {
		fmt.Fprintf(w, "%s\n\n", p.Short)
	} else {
		fmt.Fprintf(w, "%s.\n\n", upper(c.Short))
	}
	flags, _ := c.flags(p)
	usage := []string{p.Name, c.Name, "", c.Args}
	if len(flagNames(flags)) > 0 {
		usage[2] = "[flags]"
	}
	usage = slices.DeleteFunc(usage, func(s string) bool { return s == "" })
	fmt.Fprintf(w, "Usage:\n  %s\n", strings.Join(usage, " "))
	if main {
		fmt.Fprintf(w, "  %s COMMAND [flags] [arguments]\n", p.Name)
	}
	if c.Long != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.Long))
	}
	commands := p.group(c.Name)
	if main {
		commands = p.all()
	}
	printCommands(w, commands)
	printFlags(w, flags)
	if main && p.More != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(p.More))
	}
}

func printCommands(w io.Writer, commands []*Command) {
	if len(commands) == 0 {
		return
	}
	fmt.Fprint(w, "\nCommands:\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range commands {
		fmt.Fprintf(table, "  %s\t%s\n", c.Name, c.Short)
	}
	_ = table.Flush()
}

func printFlags(w io.Writer, flags *flag.FlagSet) {
	if len(flagNames(flags)) == 0 {
		return
	}
	fmt.Fprint(w, "\nFlags:\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	flags.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		name := "-" + f.Name
		if value != "" {
			name += " " + value
		}
		if f.DefValue == "true" {
			name = "-" + f.Name + "=false"
		}
		fmt.Fprintf(table, "  %s\t%s\n", name, cmp.Or(usage, "-"))
	})
	_ = table.Flush()
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
