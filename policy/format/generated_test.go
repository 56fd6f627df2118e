package format_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestFormatGenerated formats files that are put together at random from all
// spellings, in each layout, with comments, anchors and merges.
func TestFormatGenerated(t *testing.T) {
	files := 2000
	if testing.Short() {
		files = 300
	}
	formatted := 0
	for seed := range files {
		w := writer{Rand: rand.New(rand.NewPCG(uint64(seed), 1))}
		text := w.file()
		if checkFormat(t, fmt.Sprintf("file %d", seed), []byte(text)) != nil {
			formatted++
		}
		if t.Failed() {
			t.Fatalf("file %d:\n%s", seed, text)
		}
	}
	if formatted < files/2 {
		t.Errorf("only %d of %d files are free of errors", formatted, files)
	}
}

// A writer writes policy files.
type writer struct {
	*rand.Rand
	comments int
	anchors  int
}

// A value is a map, a list or a scalar to be written.
type value any

type pair struct {
	key   string
	value value
}

func (w *writer) pick(words ...string) string { return words[w.IntN(len(words))] }

func (w *writer) chance(percent int) bool { return w.IntN(100) < percent }

func (w *writer) file() string {
	var b strings.Builder
	b.WriteString(w.pick("", "# A file.\n", "---\n") + "version: 1" + w.comment() + "\n")
	base := w.settings()
	merge := w.chance(30)
	if merge {
		b.WriteString("x-base: &base" + w.comment() + w.block(base, "  ") + "\n")
	}
	if w.chance(30) {
		b.WriteString("defaults:" + w.map_(w.settings(), "  ") + "\n")
	}
	rate := w.pick("100/s", "60 / min", "'5/10 secs'")
	fmt.Fprintf(&b, "rates:%s\n", w.map_([]pair{{"partner", []pair{{"rate", rate}, {"max_wait", w.duration(2)}}}}, "  "))
	fmt.Fprintf(&b, "concurrency:%s\n", w.map_([]pair{{"db", []pair{{"adaptive", w.duration(1)}}}}, "  "))
	b.WriteString("policies:\n")
	for i := range 1 + w.IntN(3) {
		settings := w.settings()
		if w.chance(10) {
			fmt.Fprintf(&b, "  # About p%d.\n", i)
		}
		if merge && w.chance(50) {
			settings = append(settings, pair{"<<", "*base"})
			w.Shuffle(len(settings), func(i, j int) { settings[i], settings[j] = settings[j], settings[i] })
		}
		fmt.Fprintf(&b, "  p%d:%s\n", i, w.map_(settings, "    "))
	}
	text := strings.TrimSuffix(b.String(), w.pick("", "\n"))
	if w.chance(20) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// settings are those of a policy, each in one of its spellings, most of which
// go together.
func (w *writer) settings() (list []pair) {
	add := func(percent int, key string, v value) {
		if w.chance(percent) {
			list = append(list, pair{key, v})
		}
	}
	attempts := w.pick("3", "4", "null")
	budget := w.IntN(3) + 1
	add(20, "retry_budget", w.duration(budget*3600))
	add(10, "delay_budget", w.duration(budget*3600))
	add(20, "timeout", w.duration(40000))
	add(10, "match_text", w.pick("true", "false", "null"))
	add(10, "max_delay", w.duration(60))
	add(10, "max_elapsed", w.pick("none", "~"))
	list = append(list, w.schedule(attempts)...)
	add(20, "per_error", []pair{{w.pick("timeout", "rate_limit"), w.schedule("2")}})
	add(10, "retry_after", []pair{{"max", w.duration(20)}, {"default", w.duration(10)}})
	add(10, "rate", w.pick("partner", "null"))
	add(10, "concurrency", "db")
	add(10, "hedge", w.hedge())
	add(10, "durable", w.durable())
	add(10, "description", w.pick("it's a policy", `"with {attempts: 3} # inside"`, "'it''s'", "a, b"))
	add(10, "retry_on", []value{w.pick("network", `"timeout"`), []pair{{"pattern", `"[{,#'"`}}})
	w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// schedule is what per_error may have as well.
func (w *writer) schedule(attempts string) (list []pair) {
	add := func(percent int, key string, v value) {
		if w.chance(percent) {
			list = append(list, pair{key, v})
		}
	}
	add(30, "attempts", attempts)
	add(20, "max_attempts", attempts)
	initial := w.IntN(3) + 1
	add(15, "initial_delay", w.duration(initial))
	add(70, "backoff", w.backoff(initial))
	w.jitter(add)
	add(10, "on_failure", w.pick("stop", "null"))
	add(10, "on_exhausted", "fail")
	w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// durable is true or false, or the settings of a durable policy.
func (w *writer) durable() value {
	if w.chance(30) {
		return w.pick("true", "false", "null", "{}")
	}
	return []pair{
		{"record", w.pick("attempts", `"failures"`, "null")},
		{"park_after", w.duration(60)},
		{"on_lost", w.pick("retry", "'pause'")},
	}
}

func (w *writer) duration(seconds int) value {
	switch w.IntN(6) {
	case 0:
		return []pair{{"secs", fmt.Sprint(seconds)}, {"nanos", "0"}}
	case 1:
		return fmt.Sprintf("%d seconds", seconds)
	case 2:
		return fmt.Sprintf("%d000ms", seconds)
	case 3:
		return fmt.Sprintf("'%d.0s'", seconds)
	}
	return fmt.Sprintf("%ds", seconds)
}

func (w *writer) backoff(initial int) value {
	var params []pair
	strategy := w.pick("fixed", "linear", "exponential", "fibonacci", "custom")
	first := map[string]string{"fixed": "delay", "linear": "initial", "exponential": "initial",
		"fibonacci": "initial"}[strategy]
	if first != "" && w.chance(50) {
		params = append(params, pair{first, w.duration(initial)})
	} else if first != "" && w.chance(10) {
		params = append(params, pair{first, "null"})
	}
	switch strategy {
	case "linear":
		params = append(params, pair{"increment", w.duration(2)})
	case "exponential":
		if w.chance(30) {
			params = append(params, pair{"base", "2.0"})
		}
		if w.chance(50) {
			params = append(params, pair{"multiplier", w.pick("2", "2.0")})
		}
	case "custom":
		params = append(params, pair{"delays", []value{w.duration(1), w.duration(2)}})
	}
	if len(params) == 0 && w.chance(50) {
		return strategy
	}
	if w.chance(40) {
		params = append(params, pair{"type", strategy})
	}
	w.Shuffle(len(params), func(i, j int) { params[i], params[j] = params[j], params[i] })
	for _, p := range params {
		if p.key == "type" {
			return params
		}
	}
	if len(params) == 0 {
		return []pair{{strategy, w.pick("", "null", "{}")}}
	}
	return []pair{{strategy, params}}
}

func (w *writer) jitter(add func(int, string, value)) {
	switch w.IntN(6) {
	case 0:
		add(100, "jitter", w.pick("true", "True", "proportional", "additive"))
		add(50, "jitter_factor", w.pick("0.3", "0", "1", "null"))
	case 1:
		add(100, "jitter", w.pick("false", "none", "full", `"equal"`, "0.3", "0", "null"))
	case 2:
		add(100, "jitter", []pair{{"mode", w.pick("proportional", "additive")}, {"factor", "0.25"}})
		add(20, "jitter_factor", "0.25")
	case 3:
		add(100, "jitter", []pair{{"mode", w.pick("proportional", "full", "none")}})
	}
}

// comment is one at the end of a line, sometimes.
func (w *writer) comment() string {
	if !w.chance(15) {
		return ""
	}
	w.comments++
	return fmt.Sprintf("%s# c%d", strings.Repeat(" ", 1+w.IntN(3)), w.comments)
}

// map_ writes a map after its key, in flow or block style.
func (w *writer) map_(list []pair, indent string) string {
	if len(list) == 0 || w.chance(40) {
		return " " + w.flow(list, indent)
	}
	return w.comment() + w.block(list, indent)
}

func (w *writer) block(list []pair, indent string) string {
	var b strings.Builder
	if len(list) == 0 {
		return " {}"
	}
	for _, p := range list {
		if w.chance(5) {
			w.comments++
			fmt.Fprintf(&b, "\n%s# own %d", indent, w.comments)
		}
		key := p.key
		if w.chance(5) && key != "<<" {
			key = `"` + key + `"`
		}
		b.WriteString("\n" + indent + key + ":")
		switch v := p.value.(type) {
		case []pair:
			b.WriteString(w.map_(v, indent+strings.Repeat(" ", 1+w.IntN(4))))
		case []value:
			if w.chance(50) {
				b.WriteString(" " + w.flow(v, indent))
				continue
			}
			b.WriteString(w.comment())
			for _, item := range v {
				b.WriteString("\n" + indent + "- " + w.flow(item, indent) + w.comment())
			}
		default:
			anchor := ""
			if w.chance(3) && p.key != "<<" && p.key != "type" {
				w.anchors++
				anchor = fmt.Sprintf(" &a%d", w.anchors)
			}
			b.WriteString(anchor + strings.TrimRight(" "+fmt.Sprint(v), " ") + w.comment())
		}
	}
	return b.String()
}

// flow writes a value on one line, or sometimes on more.
func (w *writer) flow(v value, indent string) string {
	open, end := "{", "}"
	var parts []string
	switch v := v.(type) {
	case []pair:
		for _, p := range v {
			parts = append(parts, strings.TrimSpace(p.key+": "+w.flow(p.value, indent)))
		}
	case []value:
		open, end = "[", "]"
		for _, item := range v {
			parts = append(parts, w.flow(item, indent))
		}
	default:
		text := fmt.Sprint(v)
		if strings.Contains(text, ",") && text[0] != '"' {
			text = `"` + text + `"`
		}
		return text
	}
	if len(parts) == 0 || w.chance(85) {
		return open + strings.Join(parts, ", ") + end
	}
	var b strings.Builder
	b.WriteString(open)
	for i, p := range parts {
		b.WriteString(w.comment() + "\n" + indent + "  " + p)
		if i < len(parts)-1 || w.chance(50) {
			b.WriteString(",")
		}
	}
	return b.String() + w.comment() + "\n" + indent + end
}

// hedge is when a second request starts, alone or in a map.
func (w *writer) hedge() value {
	if w.chance(50) {
		return w.pick("p95", "none", "'50 ms'")
	}
	return []pair{{"after", w.duration(1)}, {"extra", "0.1"}}
}
