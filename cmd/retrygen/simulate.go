package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	"github.com/retrygen/retrygen/storm"
)

// simulate is the command simulate: it simulates what policies do to a system that is
// disturbed.
func simulate(flags *flag.FlagSet) cli.Run {
	s := simulator{color: cli.ColorFlag(flags)}
	cli.FolderFlag(flags)
	flags.StringVar(&s.file, "f", gen.SourceName, "the policy `file`")
	flags.IntVar(&s.seeds, "seeds", 5, "the `number` of runs: a verdict holds if it holds in all")
	return s.run
}

// A simulator holds the flags of the command simulate.
type simulator struct {
	file  string
	seeds int
	color *cli.Color
}

func (s *simulator) run(args []string, stdout, stderr io.Writer) int {
	if s.seeds < 1 {
		return fail(stderr, errors.New("-seeds is at least 1"))
	}
	file, status, err := s.read(s.file, stderr)
	if err != nil {
		return fail(stderr, err)
	}
	if file == nil {
		return status
	}
	cases, err := s.defaults(file, args)
	if err != nil {
		return fail(stderr, err)
	}
	progress := cli.NewProgress("retrygen", stderr)
	defer progress.End()
	for i := range cases {
		c := &cases[i]
		progress.Step("simulating " + c.policy)
		if err := c.simulate(s.options(progress)); err != nil {
			return fail(stderr, fmt.Errorf("policy %s: %w", c.policy, err))
		}
	}
	progress.Clear()
	printCases(stdout, cases)
	return cli.OK
}

// options returns how a case is simulated.
func (s *simulator) options(*cli.Progress) storm.Options {
	return storm.Options{Seeds: s.seeds, Parallel: runtime.GOMAXPROCS(0)}
}

// read returns the policies of a file. The file is nil if it has an error, which is then
// printed.
func (s *simulator) read(name string, stderr io.Writer) (*policy.File, int, error) {
	title, text, err := readFile(name)
	if err != nil {
		return nil, cli.Failed, err
	}
	file, problems := policy.Check(title, text)
	if file == nil {
		problems = policy.AtLeast(rules.Error, problems)
		policy.Print(stderr, problems, map[string][]byte{title: text}, s.color.On(stderr))
		summarize(stderr, problems)
		return nil, cli.Problems, nil
	}
	return file, cli.OK, nil
}

// A simulation is one system that is simulated, and what came of it.
type simulation struct {
	policy   string // or the name of the load
	system   *storm.System
	load     int // the index of the load that the verdict is about
	result   *storm.Result
	remedies []storm.Remedy
}

// defaults returns the default storms of policies; of all policies of the file if no
// names are given.
func (s *simulator) defaults(file *policy.File, names []string) (list []simulation, err error) {
	if len(names) == 0 {
		for _, p := range file.Policies {
			names = append(names, p.Name)
		}
	}
	for _, name := range names {
		client, ok := storm.ClientOf(file, name)
		if !ok {
			return nil, unknownPolicy(name, file)
		}
		for _, system := range storm.Default(client) {
			list = append(list, simulation{policy: name, system: system})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no policies", file.Name)
	}
	return list, nil
}

// simulate simulates the system, and tries what might help if it does not recover.
func (c *simulation) simulate(o storm.Options) (err error) {
	c.result, err = storm.Simulate(c.system, o)
	if err != nil || c.verdict().Recovered() == len(c.result.Runs) {
		return err
	}
	c.remedies, err = storm.Remedies(c.system, c.load, 3, o)
	return err
}

func (c *simulation) verdict() *storm.Verdict { return &c.result.Verdicts[c.load] }

// printCases prints what was assumed, a line for each case, and the reasons.
func printCases(w io.Writer, cases []simulation) {
	printAssumptions(w, cases)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "policy\tstorm\tresult\tmost load\tfailed calls\tgoodput\n")
	for i := range cases {
		c := &cases[i]
		v := c.verdict()
		fmt.Fprintf(table, "%s\t%s\t%s\t%.2f ×\t%s\t%s\n", c.nameAfter(cases[:i]), c.system.Name, v.Text(), v.Amplification(),
			storm.Percent(v.FailedShare()), sparkline(c.result.Goodput(c.load), 40))
	}
	table.Flush()
	for i := range cases {
		c := &cases[i]
		if name := c.nameAfter(cases[:i]); name != "" {
			fmt.Fprintf(w, "\n%s\n", name)
		}
		fmt.Fprintln(w, wrapped(c.system.Name+": "+c.result.Reason(c.load)+"."))
		if helps := c.helps(); helps != "" {
			fmt.Fprintln(w, wrapped(helps+"."))
		}
	}
}

// wrapped breaks a text into lines of at most 100 characters, indented by two spaces, and
// by four after the first.
func wrapped(text string) string {
	const width = 100
	var b strings.Builder
	line := " "
	for _, word := range strings.Fields(text) {
		if len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(line + "\n")
			line = "   "
		}
		line += " " + word
	}
	return b.String() + line
}

// nameAfter returns the name of the case, or "" if the last of the cases before has the same.
func (c *simulation) nameAfter(before []simulation) string {
	if n := len(before); n > 0 && before[n-1].policy == c.policy {
		return ""
	}
	return c.policy
}

// helps returns the changes that were tried and help, or "".
func (c *simulation) helps() string {
	if c.verdict().Recovered() == len(c.result.Runs) {
		return ""
	}
	if len(c.remedies) == 0 {
		return "None of the changes that were tried helps: a budget, a breaker, fewer attempts, a shorter queue"
	}
	var list []string
	for i := range c.remedies {
		list = append(list, c.remedies[i].String())
	}
	return "What would help, as simulated: " + strings.Join(list, "; ")
}

// printAssumptions prints the systems of the default storms, each once, with the policies
// that it is for.
func printAssumptions(w io.Writer, cases []simulation) {
	var texts []string
	policies := map[string][]string{}
	for i := range cases {
		c := &cases[i]
		text := assumptions(cases, c.policy)
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		if !slices.Contains(policies[text], c.policy) {
			policies[text] = append(policies[text], c.policy)
		}
	}
	for _, text := range texts {
		fmt.Fprintf(w, "Default storm of %s:\n%s\n", strings.Join(policies[text], ", "), text)
	}
}

// assumptions returns the systems of the default storms of a policy.
func assumptions(cases []simulation, policy string) string {
	var b strings.Builder
	first := true
	for i := range cases {
		c := &cases[i]
		if c.policy != policy {
			continue
		}
		if first {
			fmt.Fprintf(&b, "  %s\n  %s\n", &c.system.Services[0], &c.system.Loads[0])
			for _, a := range c.system.Assumed() {
				fmt.Fprintf(&b, "  %s\n", a)
			}
		}
		first = false
		fmt.Fprintf(&b, "  storm %s: %s\n", c.system.Name, &c.system.Events[0])
	}
	return b.String()
}

// sparkline draws values as blocks, of which a full one is 1 or more. Each is the mean of
// its part of the values.
func sparkline(values []float64, width int) string {
	const blocks = "▁▂▃▄▅▆▇█"
	levels := []rune(blocks)
	width = min(width, len(values))
	line := make([]rune, width)
	for i := range line {
		part := values[i*len(values)/width : (i+1)*len(values)/width]
		var sum float64
		for _, v := range part {
			sum += v
		}
		level := int(sum/float64(len(part))*float64(len(levels)-1) + 0.5)
		line[i] = levels[min(max(level, 0), len(levels)-1)]
	}
	return string(line)
}

// unknownPolicy returns the error for a name that is no policy of the file.
func unknownPolicy(name string, file *policy.File) error {
	text := strings.Replace(unknown(name, file).Error(), "is neither a rule nor a policy of", "is no policy of", 1)
	return errors.New(text)
}
