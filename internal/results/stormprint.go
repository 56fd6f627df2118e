package results

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/retrygen/retrygen/storm"
)

// Storms are the results of simulations.
type Storms struct {
	Source   string // the policy file or scenario
	List     []Simulation
	Compares bool // several variants are compared: reasons are not printed
}

// Print prints what was assumed, a line for each verdict, and the reasons.
func (r *Storms) Print(w io.Writer) {
	r.assumptions(w)
	r.verdicts(w)
	if r.Compares {
		return
	}
	for i := range r.List {
		if r.List[i].Policy == "" {
			r.List[i].printServices(w)
		}
	}
	last := ""
	for i := range r.List {
		c := &r.List[i]
		for load := range c.Result.Verdicts {
			if name := c.name(load); name != last {
				fmt.Fprintf(w, "\n%s\n", name)
				last = name
			}
			text := c.Result.Reason(load) + "."
			if c.Policy != "" {
				text = c.System.Name + ": " + text
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
func (r *Storms) assumptions(w io.Writer) {
	var texts []string
	names := map[string][]string{}
	for i := range r.List {
		c := &r.List[i]
		title, text := c.System.Name, "  "+strings.Join(r.description(c), "\n  ")+"\n"
		if c.Policy != "" {
			title, text = c.Policy, r.defaultText(c.Policy)
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
		if r.List[0].Policy != "" {
			title = "Default storm of " + title
		}
		fmt.Fprintf(w, "%s:\n%s\n", title, text)
	}
}

// description returns the lines about a system. Those in which systems of the same name
// differ, because a setting has several values, are left out.
func (r *Storms) description(c *Simulation) (lines []string) {
	for _, line := range slices.Concat(c.System.Describe(), c.System.Assumed()) {
		if !slices.ContainsFunc(r.List, func(other Simulation) bool {
			return other.System.Name == c.System.Name && !slices.Contains(other.System.Describe(), line) &&
				!slices.Contains(other.System.Assumed(), line)
		}) {
			lines = append(lines, line)
		}
	}
	return lines
}

// defaultText returns the systems of the default storms of a policy.
func (r *Storms) defaultText(policy string) string {
	var lines []string
	for i := range r.List {
		c := &r.List[i]
		if c.Policy != policy {
			continue
		}
		if lines == nil {
			lines = append(lines, c.System.Services[0].String(), c.System.Loads[0].String())
			lines = append(lines, c.System.Assumed()...)
		}
		if line := fmt.Sprintf("storm %s: %s", c.System.Name, &c.System.Events[0]); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

// A row is a verdict of the table.
type row struct {
	c    *Simulation
	load int
}

// rows returns the verdicts, grouped by name and storm.
func (r *Storms) rows() (rows []row) {
	for i := range r.List {
		for load := range r.List[i].Result.Verdicts {
			rows = append(rows, row{&r.List[i], load})
		}
	}
	first := func(x row) int {
		return slices.IndexFunc(rows, func(y row) bool {
			return x.c.name(x.load) == y.c.name(y.load) && (x.c.Policy == "" || x.c.System.Name == y.c.System.Name)
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
func (r *Storms) verdicts(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	header := []string{"policy", "storm"}
	if r.List[0].Policy == "" {
		header = []string{"load", "policy"}
	}
	if r.Compares {
		header = append(header, "with")
	}
	header = append(header, "result", "most load", "failed calls", "goodput")
	fmt.Fprintln(table, strings.Join(header, "\t"))
	var last [2]string
	for _, x := range r.rows() {
		v := &x.c.Result.Verdicts[x.load]
		key := [2]string{x.c.name(x.load), x.c.System.Name}
		if x.c.Policy == "" {
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
		if r.Compares {
			cells = append(cells, x.c.Variant)
		}
		cells = append(cells, v.Text(), fmt.Sprintf("%.2f ×", v.Amplification()), storm.Percent(v.FailedShare()),
			sparkline(x.c.Result.Goodput(x.load), 40))
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	table.Flush()
}

// printServices prints what the services of a scenario had to do.
func (c *Simulation) printServices(w io.Writer) {
	services, _ := c.Result.Series()
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
func (c *Simulation) helps(load int) string {
	if c.Result.Verdicts[load].Recovered() == len(c.Result.Runs) {
		return ""
	}
	if len(c.Remedies[load]) == 0 {
		return "None of the changes that were tried helps: a budget, a breaker, fewer attempts, a shorter queue"
	}
	var list []string
	for i := range c.Remedies[load] {
		list = append(list, c.Remedies[load][i].String())
	}
	return "What would help, as simulated: " + strings.Join(list, "; ")
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
