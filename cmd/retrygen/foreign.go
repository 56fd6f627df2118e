package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/atomicfile"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/results"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// A kindFlag is the value of a flag that names a kind.
type kindFlag struct {
	kind *foreign.Kind // nil: the flag is not set
	want func(*foreign.Kind) bool
}

func anyKind(*foreign.Kind) bool { return true }

// String returns the value of the flag.
func (f *kindFlag) String() string {
	if f.kind == nil {
		return ""
	}
	return f.kind.Name
}

// Choices returns the names of the kinds that the flag takes, for completion.
func (f *kindFlag) Choices() (names []string) {
	for _, k := range foreign.Kinds() {
		if f.want(k) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Set sets the flag to the kind with that name.
func (f *kindFlag) Set(name string) error {
	if k := foreign.ByName(name); k != nil && f.want(k) {
		f.kind = k
		return nil
	}
	return fmt.Errorf("not one of %s", strings.Join(f.Choices(), ", "))
}

// kindNames returns the names of the kinds for which want returns true, as a list in
// a sentence.
func kindNames(want func(*foreign.Kind) bool) string {
	f := kindFlag{want: want}
	return strings.Join(f.Choices(), ", ")
}

// importHelp describes the command import.
func importHelp() string {
	return `
It converts policies of other systems to a retrygen policy file, and prints the file.
A setting without an equivalent in retrygen becomes a comment above its policy, and an
entry in the report that -json prints. The kind of each document is recognized by its
content:
` + wrap(kindNames(anyKind)) + `
Problems in the policies are printed, as by retrygen check. The file - is standard
input.`
}

// exportHelp describes the command export.
func exportHelp() string {
	return `
It converts a policy file (by default retry.yaml) to a document of another system, and
prints the document. Settings without an equivalent in that system are printed as
losses. A comment "# bind: X" above a policy sets what the policy applies to in that
system, such as package.Service/Method for gRPC. The kinds:
` + wrap(kindNames((*foreign.Kind).Exports))
}

// wrap breaks a list into lines.
func wrap(list string) string {
	const most = 78
	var b strings.Builder
	width := 0
	for word := range strings.FieldsSeq(list) {
		if width+1+len(word) > most {
			b.WriteByte('\n')
			width = 0
		} else if width > 0 {
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String() + "."
}

// A converter holds the flags of the commands import and export.
type converter struct {
	kind           kindFlag
	out            string
	json           bool
	color          *cli.Color
	stdout, stderr io.Writer
}

// flags defines the flags that both commands have.
func (c *converter) flags(flags *flag.FlagSet) {
	flags.StringVar(&c.out, "o", "", "write to `file`, which must not exist, instead of standard output")
	flags.BoolVar(&c.json, "json", false, "print a report as JSON, for scripts; needs -o")
	c.color = cli.ColorFlag(flags)
	cli.FolderFlag(flags)
}

// importFiles is the command import.
func importFiles(flags *flag.FlagSet) cli.Run {
	var c converter
	c.flags(flags)
	c.kind.want = anyKind
	flags.Var(&c.kind, "from", "the `kind` of all files, instead of recognizing it by their content")
	return func(args []string, stdout, stderr io.Writer) int {
		c.stdout, c.stderr = stdout, stderr
		status, err := c.importAll(args)
		if err != nil {
			return fail(stderr, err)
		}
		return status
	}
}

func (c *converter) importAll(names []string) (status int, err error) {
	from := c.kind.kind
	if len(names) == 0 {
		return 0, errors.New("import needs files: retrygen import service_config.json")
	}
	if err := c.checkOut(); err != nil {
		return 0, err
	}
	var files []*foreign.File
	var found []policy.Problem
	sources := map[string][]byte{}
	for _, name := range names {
		name, text, err := readFile(name)
		if err != nil {
			return 0, err
		}
		sources[name] = text
		f, problems := foreign.Check(name, text, foreign.Options{From: from})
		found = append(found, policy.AtLeast(rules.Warning, append(problems, f.Unread...))...)
		switch {
		case len(f.Unread) > 0:
			continue
		case len(f.Kinds) == 0:
			return 0, fmt.Errorf("%s has no retry policy of a known kind: retrygen reads %s", name, kindNames(anyKind))
		case len(f.Policies) == 0:
			return 0, fmt.Errorf("%s has no policy that retries: there is nothing to import", name)
		}
		files = append(files, f)
	}
	policy.Sort(found)
	if len(policy.AtLeast(rules.Error, found)) > 0 {
		status = cli.Problems
	}
	if !c.json {
		policy.Print(c.stderr, found, sources, c.color.On(c.stderr))
		summarize(c.stderr, found)
	}
	if len(files) < len(names) { // some cannot be read
		if c.json {
			err = results.WriteJSON(c.stdout, results.Conversion{Problems: results.Problems(found)})
		}
		return cli.Problems, err
	}
	text := foreign.PolicyFile(files...)
	if err := c.write(text); err != nil || !c.json {
		return status, err
	}
	return status, results.WriteJSON(c.stdout, results.ConversionOf(files, found))
}

// exportFile is the command export.
func exportFile(flags *flag.FlagSet) cli.Run {
	var c converter
	c.flags(flags)
	c.kind.want = (*foreign.Kind).Exports
	flags.Var(&c.kind, "to", "the `kind` of the document")
	return func(args []string, stdout, stderr io.Writer) int {
		c.stdout, c.stderr = stdout, stderr
		status, err := c.export(args)
		if err != nil {
			return fail(stderr, err)
		}
		return status
	}
}

func (c *converter) export(args []string) (status int, err error) {
	to := c.kind.kind
	if to == nil {
		return 0, fmt.Errorf("export needs -to, with one of %s", strings.Join(c.kind.Choices(), ", "))
	}
	name := gen.SourceName
	switch {
	case len(args) == 1:
		name = args[0]
	case len(args) > 1:
		return 0, errors.New("export takes one policy file: retrygen export -to grpc retry.yaml")
	}
	if err := c.checkOut(); err != nil {
		return 0, err
	}
	name, text, err := readFile(name)
	if err != nil {
		return 0, err
	}
	out, losses, problems := foreign.Export(to, name, text)
	if len(problems) > 0 {
		if c.json {
			return cli.Problems, results.WriteJSON(c.stdout, results.Conversion{Problems: results.Problems(problems)})
		}
		policy.Print(c.stderr, problems, map[string][]byte{name: text}, c.color.On(c.stderr))
		summarize(c.stderr, problems)
		return cli.Problems, nil
	}
	if err := c.write(out); err != nil {
		return 0, err
	}
	if c.json {
		done := results.Conversion{Losses: results.Losses(losses), Problems: []results.Problem{}}
		return cli.OK, results.WriteJSON(c.stdout, done)
	}
	for _, l := range losses {
		fmt.Fprintf(c.stderr, "%s:%d:%d: lost: %s: %s\n", l.File, l.Line, l.Col, l.Path, l.Why)
	}
	return cli.OK, nil
}

// checkOut reports flags that contradict each other, and an output file that
// exists.
func (c *converter) checkOut() error {
	if c.out == "" {
		if c.json {
			return errors.New("-json and the converted file both write to standard output: write -o FILE")
		}
		return nil
	}
	switch _, err := os.Lstat(c.out); {
	case err == nil:
		return fmt.Errorf("-o %s: the file exists already: remove it, or write another name", c.out)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// write writes the converted file.
func (c *converter) write(text []byte) error {
	if c.out != "" {
		return atomicfile.Write(c.out, text)
	}
	_, err := io.Copy(c.stdout, bytes.NewReader(text))
	return err
}
