package storm

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
)

// A Requirement is a condition that a verdict must meet, such as recovery<30s.
type Requirement struct {
	metric *metric
	or     bool // a value that equals the limit also meets the requirement
	limit  float64
	text   string
}

// A metric is a measurement in a verdict. The worst value of all runs counts.
type metric struct {
	name   string
	help   string
	parse  func(string) (float64, error)
	format func(float64) string
	of     func(*Outcome) float64
}

var metrics = []metric{
	{
		"recovery", "the time from the end of the last event until calls succeed as before",
		parseSeconds, formatSeconds,
		func(o *Outcome) float64 {
			switch {
			case !o.Recovered:
				return math.Inf(1)
			case !o.Harmed:
				return 0
			}
			return o.After.Seconds()
		},
	},
	{
		"amplification", "the most requests for each call, as a multiple of those before",
		parseFactor, func(v float64) string { return fmt.Sprintf("%.2f", v) },
		func(o *Outcome) float64 { return o.Amplification },
	},
	{
		"failed", "the share of the calls that fail, such as 10%",
		parseShare, Percent,
		func(o *Outcome) float64 { return float64(o.Failed) / float64(max(o.Calls, 1)) },
	},
	{
		"p99", "the 99th percentile of the time of calls that succeed, in the worst second",
		parseSeconds, formatSeconds,
		func(o *Outcome) float64 { return o.P99 },
	},
}

func parseSeconds(text string) (float64, error) {
	d, err := duration.Parse(text)
	return d.Seconds(), err
}

func formatSeconds(s float64) string {
	if math.IsInf(s, 1) {
		return "never"
	}
	return duration.Format(time.Duration(s * 1e9).Round(time.Millisecond))
}

func parseFactor(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 || math.IsInf(v, 1) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return v, nil
}

func parseShare(text string) (float64, error) {
	number, isPercent := strings.CutSuffix(text, "%")
	v, err := parseFactor(strings.TrimSpace(number))
	if isPercent {
		v /= 100
	}
	return v, err
}

var requirement = regexp.MustCompile(`^\s*([a-z0-9]+)\s*(<=|<)\s*(.+?)\s*$`)

// ParseRequirements parses requirements that are separated by commas, such as
// "recovery<30s, amplification<1.5". The metrics are recovery, amplification, failed and
// p99, and the comparisons < and <=.
func ParseRequirements(text string) (list []Requirement, err error) {
	for part := range strings.SplitSeq(text, ",") {
		m := requirement.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("%q is no requirement: write a metric, < or <=, and a limit, as recovery<30s", part)
		}
		q := Requirement{or: m[2] == "<=", text: m[1] + m[2] + m[3]}
		var names []string
		for i := range metrics {
			names = append(names, metrics[i].name)
			if metrics[i].name == m[1] {
				q.metric = &metrics[i]
			}
		}
		if q.metric == nil {
			return nil, fmt.Errorf("there is no metric %q: write %s", m[1], strings.Join(names, ", "))
		}
		if q.limit, err = q.metric.parse(m[3]); err != nil {
			return nil, fmt.Errorf("%s: %w", q.metric.name, err)
		}
		list = append(list, q)
	}
	return list, nil
}

// String returns the requirement as it was written.
func (q *Requirement) String() string { return q.text }

// Met reports whether all runs of a verdict meet the requirement, and returns the worst
// value.
func (q *Requirement) Met(v *Verdict) (value string, ok bool) {
	worst := 0.0
	for i := range v.Outcomes {
		worst = max(worst, q.metric.of(&v.Outcomes[i]))
	}
	return q.metric.format(worst), worst < q.limit || q.or && worst == q.limit
}
