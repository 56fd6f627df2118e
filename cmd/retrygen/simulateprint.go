package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/retrygen/retrygen/storm"
)

// A stormReport is what simulate prints.
type stormReport struct {
	source   string // the policy file or scenario
	list     []simulation
	compares bool // several variants are compared: reasons are not printed
}

// print prints what was assumed, a line for each verdict, and the reasons.
func (r *stormReport) print(w io.Writer) {
	r.assumptions(w)
	r.verdicts(w)
	if r.compares {
		return
	}
	for i := range r.list {
		if r.list[i].policy == "" {
			r.list[i].printServices(w)
		}
	}
	last := ""
	for i := range r.list {
		c := &r.list[i]
		for load := range c.result.Verdicts {
			if name := c.name(load); name != last {
				fmt.Fprintf(w, "\n%s\n", name)
				last = name
			}
			text := c.result.Reason(load) + "."
			if c.policy != "" {
				text = c.system.Name + ": " + text
			}
			fmt.Fprintln(w, wrapped(text))
			if helps := c.helps(load); helps != "" {
				fmt.Fprintln(w, wrapped(helps+"."))
			}
		}
	}
}

// assumptions prints the systems. A system that several default storms share is printed
// once, with the names of the policies.
func (r *stormReport) assumptions(w io.Writer) {
	var texts []string
	names := map[string][]string{}
	for i := range r.list {
		c := &r.list[i]
		title, text := c.system.Name, "  "+strings.Join(r.description(c), "\n  ")+"\n"
		if c.policy != "" {
			title, text = c.policy, r.defaultText(c.policy)
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		if !slices.Contains(names[text], title) {
			names[text] = append(names[text], title)
		}
	}
	for _, text := range texts {
		title := strings.Join(names[text], ", ")
		if r.list[0].policy != "" {
			title = "Default storm of " + title
		}
		fmt.Fprintf(w, "%s:\n%s\n", title, text)
	}
}

// description returns the lines about a system. Those in which systems of the same name
// differ, because a setting has several values, are left out.
func (r *stormReport) description(c *simulation) (lines []string) {
	for _, line := range slices.Concat(c.system.Describe(), c.system.Assumed()) {
		if !slices.ContainsFunc(r.list, func(other simulation) bool {
			return other.system.Name == c.system.Name && !slices.Contains(other.system.Describe(), line) &&
				!slices.Contains(other.system.Assumed(), line)
		}) {
			lines = append(lines, line)
		}
	}
	return lines
}

// defaultText returns the systems of the default storms of a policy.
func (r *stormReport) defaultText(policy string) string {
	var lines []string
	for i := range r.list {
		c := &r.list[i]
		if c.policy != policy {
			continue
		}
		if lines == nil {
			lines = append(lines, c.system.Services[0].String(), c.system.Loads[0].String())
			lines = append(lines, c.system.Assumed()...)
		}
		if line := fmt.Sprintf("storm %s: %s", c.system.Name, &c.system.Events[0]); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

// A row is a verdict of the table.
type row struct {
	c    *simulation
	load int
}

// rows returns the verdicts, grouped by name and storm.
func (r *stormReport) rows() (rows []row) {
	for i := range r.list {
		for load := range r.list[i].result.Verdicts {
			rows = append(rows, row{&r.list[i], load})
		}
	}
	first := func(x row) int {
		return slices.IndexFunc(rows, func(y row) bool {
			return x.c.name(x.load) == y.c.name(y.load) && (x.c.policy == "" || x.c.system.Name == y.c.system.Name)
		})
	}
	order := map[row]int{}
	for _, x := range rows {
		order[x] = first(x)
	}
	slices.SortStableFunc(rows, func(x, y row) int { return order[x] - order[y] })
	return rows
}

// verdicts prints the table of the verdicts.
func (r *stormReport) verdicts(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	header := []string{"policy", "storm"}
	if r.list[0].policy == "" {
		header = []string{"load", "policy"}
	}
	if r.compares {
		header = append(header, "with")
	}
	header = append(header, "result", "most load", "failed calls", "goodput")
	fmt.Fprintln(table, strings.Join(header, "\t"))
	var last [2]string
	for _, x := range r.rows() {
		v := &x.c.result.Verdicts[x.load]
		key := [2]string{x.c.name(x.load), x.c.system.Name}
		if x.c.policy == "" {
			key[1] = v.Policy
		}
		cells := key[:]
		if key[0] == last[0] {
			cells = []string{"", key[1]}
			if key == last {
				cells[1] = ""
			}
		}
		last = key
		if r.compares {
			cells = append(cells, x.c.variant)
		}
		cells = append(cells, v.Text(), fmt.Sprintf("%.2f ×", v.Amplification()), storm.Percent(v.FailedShare()),
			sparkline(x.c.result.Goodput(x.load), 40))
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	table.Flush()
}

// printServices prints what the services of a scenario had to do.
func (c *simulation) printServices(w io.Writer) {
	services, _ := c.result.Series()
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nservice\tcapacity\tmost requests\tlongest queue\twasted work\trequests\n")
	for i := range services {
		s := &services[i]
		var wasted, served float64
		for second := range s.Wasted {
			wasted += s.Wasted[second]
			served += s.Wasted[second] + s.Good[second] + s.Failed[second]
		}
		most := slices.Max(s.Offered)
		scaled := make([]float64, len(s.Offered))
		for second, v := range s.Offered {
			scaled[second] = v / most
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, storm.PerSecond(s.Capacity), storm.PerSecond(most),
			storm.Thousands(int(slices.Max(s.Queue)+0.5)), storm.Percent(wasted/max(served, 1)), sparkline(scaled, 40))
	}
	table.Flush()
}

// helps returns the changes that were tried and help a load, or "".
func (c *simulation) helps(load int) string {
	if c.result.Verdicts[load].Recovered() == len(c.result.Runs) {
		return ""
	}
	if len(c.remedies[load]) == 0 {
		return "None of the changes that were tried helps: a budget, a breaker, fewer attempts, a shorter queue"
	}
	var list []string
	for i := range c.remedies[load] {
		list = append(list, c.remedies[load][i].String())
	}
	return "What would help, as simulated: " + strings.Join(list, "; ")
}

// meets reports whether all verdicts meet the requirements. It prints those that do not.
func (r *stormReport) meets(required []storm.Requirement, stderr io.Writer) bool {
	ok := true
	for _, x := range r.rows() {
		title := x.c.name(x.load)
		if x.c.policy != "" {
			title += ", storm " + x.c.system.Name
		}
		if x.c.variant != "" {
			title += ", " + x.c.variant
		}
		for i := range required {
			if value, met := required[i].Met(&x.c.result.Verdicts[x.load]); !met {
				ok = false
				fmt.Fprintf(stderr, "retrygen: %s: %s is required, and it is %s\n", title, &required[i], value)
			}
		}
	}
	return ok
}

// wrapped breaks a text into lines of at most 100 characters, indented by two spaces, and
// by four after the first.
func wrapped(text string) string {
	const width = 100
	var b strings.Builder
	line := " "
	for word := range strings.FieldsSeq(text) {
		if len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(line + "\n")
			line = "   "
		}
		line += " " + word
	}
	return b.String() + line
}

// sparkline draws values as blocks: a full block is a value of 1 or more. Each is the mean of
// its part of the values.
func sparkline(values []float64, width int) string {
	levels := []rune("▁▂▃▄▅▆▇█")
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
