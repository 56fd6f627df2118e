package cli

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/spelling"
)

// The arguments of a program, by kind.
type arguments struct {
	options []option
	words   []string // the command and its arguments
	literal []string // arguments after --, which name no command
}

// An option is a flag in the arguments.
type option struct {
	name, value string
	missing     bool // the flag takes a value, and the arguments end with the flag
}

// split divides arguments by kind. It knows which flags take a value before it knows
// the command, which may follow them: a flag means the same in all commands.
func (p *Program) split(args []string) (a arguments) {
	valued := p.valued()
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			a.literal = args
			break
		}
		if len(arg) < 2 || arg[0] != '-' { // - is standard input
			a.words = append(a.words, arg)
			continue
		}
		name, value, given := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		o := option{name: name, value: value}
		switch {
		case given:
		case !valued[name]:
			o.value = "true"
		case len(args) == 0:
			o.missing = true
		default:
			o.value, args = args[0], args[1:]
		}
		a.options = append(a.options, o)
	}
	return a
}

// valued returns which flags of the program take a value.
func (p *Program) valued() map[string]bool {
	valued := map[string]bool{}
	for _, c := range append(p.all(), p.Main) {
		flags, _ := c.flags(p)
		flags.VisitAll(func(f *flag.Flag) {
			if before, known := valued[f.Name]; known && before == isBool(f) {
				panic(fmt.Sprintf("%s: flag -%s takes a value in some commands only", p.Name, f.Name))
			}
			valued[f.Name] = !isBool(f)
		})
	}
	return valued
}

// isBool reports whether a flag takes no value.
func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// asksHelp reports whether the options contain -h or -help.
func (a arguments) asksHelp() bool {
	for _, o := range a.options {
		if o.name == "h" || o.name == "help" {
			return true
		}
	}
	return false
}

// set sets the flags of a command.
func (p *Program) set(c *Command, flags *flag.FlagSet, options []option) error {
	for _, o := range options {
		f := flags.Lookup(o.name)
		if f == nil {
			return p.unknownFlag(c, flags, o.name)
		}
		if o.missing {
			value, _ := flag.UnquoteUsage(f)
			return fmt.Errorf("-%s needs a value: write -%[1]s %s", o.name, value)
		}
		if err := flags.Set(o.name, o.value); err != nil {
			return valueError(f, o.value, err)
		}
	}
	return nil
}

// unknownFlag returns the error for a flag that a command does not have.
func (p *Program) unknownFlag(c *Command, flags *flag.FlagSet, name string) error {
	if near := similarFlag(name, flagNames(flags)); near != "" {
		return fmt.Errorf("there is no flag -%s: did you mean -%s?", name, near)
	}
	self := strings.TrimSpace(p.Name + " " + c.Name)
	var others []string
	for _, other := range append(p.all(), p.Main) {
		if flags, _ := other.flags(p); flags.Lookup(name) != nil {
			others = append(others, strings.TrimSpace(p.Name+" "+other.Name))
		}
	}
	const few = 3
	switch {
	case len(others) > few && c == p.Main:
		return fmt.Errorf("-%s needs a command: %s help lists them", name, p.Name)
	case len(others) > few:
		return fmt.Errorf("-%s is a flag of other commands, not of %s", name, self)
	case others != nil:
		return fmt.Errorf("-%s is a flag of %s, not of %s", name, either(others), self)
	}
	return fmt.Errorf("there is no flag -%s: %s lists the flags", name, strings.TrimSpace(p.Name+" help "+c.Name))
}

// similarFlag returns the name that is most similar to an unknown flag, or the only
// one that begins with it, or "".
func similarFlag(unknown string, names []string) string {
	if near := spelling.Nearest(unknown, names); near != "" {
		return near
	}
	found := ""
	for _, name := range names {
		if strings.HasPrefix(name, unknown) {
			if found != "" {
				return ""
			}
			found = name
		}
	}
	return found
}

// valueError returns the error for a value that a flag does not accept. For the types
// of package flag, err does not say which values it accepts.
func valueError(f *flag.Flag, value string, err error) error {
	if isBool(f) {
		return fmt.Errorf("-%s=%s: write -%[1]s or -%[1]s=false", f.Name, value)
	}
	if g, ok := f.Value.(flag.Getter); ok {
		switch g.Get().(type) {
		case time.Duration:
			err = errors.New("write a number with a unit, as 5s or 1m30s")
		case int, int64, uint, uint64, float64:
			err = errors.New("write a number")
		}
	}
	return fmt.Errorf("-%s %s: %w", f.Name, value, err)
}
