package policy

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// backoff is a backoff strategy with its settings. A zero setting means the
// default.
type backoff struct {
	strategy  retry.Backoff
	base      float64
	increment time.Duration
	delays    []time.Duration

	missing  string      // a required setting that is not written, or ""
	at       syntax.Span // of the settings
	spelling syntax.Backoff
}

// setBackoff stores the strategy and its settings.
func (p *Policy) setBackoff(b backoff) {
	p.Backoff, p.Base, p.Increment, p.Delays = b.strategy, b.base, b.increment, b.delays
}

type jitter struct {
	mode   retry.Jitter
	factor float64 // 0: the default
	width  string  // the factor as it is written, or ""
}

// setJitter stores the mode and its factor. The factor noWidth turns jitter off.
func (p *Policy) setJitter(j jitter) {
	if j.factor == noWidth {
		j = jitter{}
	}
	p.Jitter, p.JitterFactor = j.mode, j.factor
}

// strategies maps a strategy to the settings that its map may have.
// initial and delay are Prodigy's spellings of initial_delay, multiplier of
// base.
var strategies = map[string]struct {
	strategy retry.Backoff
	keys     []string
}{
	"fixed":       {retry.BackoffFixed, []string{"delay"}},
	"linear":      {retry.BackoffLinear, []string{"initial", "increment"}},
	"exponential": {retry.BackoffExponential, []string{"initial", "base", "multiplier"}},
	"fibonacci":   {retry.BackoffFibonacci, []string{"initial"}},
	"custom":      {retry.BackoffCustom, []string{"delays"}},
}

// exampleSettings maps each strategy that has settings to an example of them.
var exampleSettings = map[string]string{"linear": "{increment: 1s}", "exponential": "{base: 2}",
	"custom": "{delays: [500ms, 2s]}"}

// strategyKeys are the settings of any strategy.
var strategyKeys = []string{"delay", "initial", "increment", "base", "multiplier", "delays"}

// backoff reads the strategy in each of its forms: a name, a map of one name to
// its settings, or a map with type.
func (d decoder) backoff(e *syntax.Entry) (b backoff, ok bool) {
	switch v := e.Value.Value.(type) {
	case string:
		if _, ok := strategies[v]; !ok {
			d.problem(e.Value.Span, "P102",
				"backoff %s is not a strategy%s", syntax.Quote(v), didYouMean(v, sortedKeys(strategies)))
			return b, false
		}
		return d.strategy(v, e.Value.Span, &syntax.Node{Span: e.Value.Span, Value: map[string]any{}}), true
	case map[string]any:
		if tag := e.Value.Get("type"); tag != nil {
			return d.tagged(e.Value, tag)
		}
		return d.oneKey(e.Value)
	}
	d.problem(e.Value.Span, "P102",
		"backoff is a strategy, as exponential or {linear: {increment: 2s}}, not %s", e.Value.Describe())
	return b, false
}

// tagged reads {type: linear, increment: 2s}.
func (d decoder) tagged(m *syntax.Node, tag *syntax.Entry) (b backoff, ok bool) {
	name, _ := tag.Value.Value.(string)
	if _, ok := strategies[name]; !ok {
		d.problem(tag.Value.Span, "P102",
			"backoff type %s is not a strategy%s", syntax.Quote(tag.Value.Text), didYouMean(name, sortedKeys(strategies)))
		return b, false
	}
	b = d.strategy(name, tag.At, m.Without("type"))
	b.spelling.Plain = false
	return b, true
}

// oneKey reads {linear: {increment: 2s}}.
func (d decoder) oneKey(m *syntax.Node) (b backoff, ok bool) {
	var found *syntax.Entry
	for i, e := range m.Entries {
		_, known := strategies[e.Key]
		switch {
		case !known && slices.Contains(strategyKeys, e.Key):
			d.problem(e.At, "P101",
				"%s belongs under a strategy: write backoff: {exponential: {%s: …}}, with the strategy that is meant",
				e.Key, e.Key)
		case !known:
			d.problem(e.At, "P101", "unknown strategy %q%s", e.Key, didYouMean(e.Key, sortedKeys(strategies)))
		case found != nil:
			d.problem(e.At, "P105", "%s is a second strategy, after %s: keep one", e.Key, found.Key)
		default:
			found = &m.Entries[i]
		}
	}
	switch {
	case len(m.Entries) == 0:
		d.problem(m.Span, "P102", "backoff is empty: write a strategy, as backoff: exponential")
	case found == nil:
	case found.Value.IsNull():
		return d.strategy(found.Key, found.At, &syntax.Node{Span: found.At, Value: map[string]any{}}), true
	case found.Value.IsMap():
		return d.strategy(found.Key, found.At, found.Value), true
	case exampleSettings[found.Key] == "":
		d.problem(found.Value.Span, "P102",
			"%s has no settings: write backoff: %s, and the first delay as initial_delay", found.Key, found.Key)
	default:
		d.problem(found.Value.Span, "P102",
			"%s is a map of settings here, as %s, not %s", found.Key, exampleSettings[found.Key], found.Value.Describe())
	}
	return b, false
}

// strategy reads the settings of a strategy. at is the position of its name.
func (d decoder) strategy(name string, at syntax.Span, params *syntax.Node) backoff {
	kind := strategies[name]
	b := backoff{strategy: kind.strategy, at: params.Span, spelling: spellingOf(name, at, params)}
	for _, e := range params.Entries {
		if slices.Contains(strategyKeys, e.Key) && !slices.Contains(kind.keys, e.Key) {
			d.problem(e.At, "P109", "%s does not read %s: remove it, or use the strategy that does", name, e.Key)
		}
	}
	unknown := d.unknownKeys(params, "", strategyKeys...)
	switch kind.strategy {
	case retry.BackoffLinear:
		if e := params.Get("increment"); e != nil {
			b.increment, _ = d.duration(e.Value, "increment")
		} else if !unknown { // an unknown key may be a misspelling of it
			b.missing = "increment"
		}
	case retry.BackoffExponential:
		b.base = d.base(params)
	case retry.BackoffCustom:
		if e := params.Get("delays"); e != nil {
			b.delays = d.delays(e.Value)
		} else if !unknown {
			b.missing = "delays"
		}
	}
	return b
}

// spellingOf returns how a strategy and its settings are written.
func spellingOf(name string, at syntax.Span, params *syntax.Node) syntax.Backoff {
	b := syntax.Backoff{Strategy: name, At: at, Plain: len(params.Entries) > 0}
	for i := range params.Entries {
		switch e := &params.Entries[i]; {
		case e.Value.IsNull():
			b.Plain = false
		case e.Key == "initial" || e.Key == "delay":
			b.Initial, b.Plain = e, false
		case e.Key == "multiplier" && params.Written("base") != nil: // one setting
		case e.Key == "multiplier":
			b.Settings = append(b.Settings, syntax.Setting{Key: "base", Entry: e})
		default:
			b.Settings = append(b.Settings, syntax.Setting{Key: e.Key, Entry: e})
		}
	}
	return b
}

// missingText maps a required setting to the problem text if it is missing.
var missingText = map[string]string{
	"increment": "linear has no increment: write backoff: {linear: {increment: 1s}}, or fixed for equal delays",
	"delays":    "custom has no delays: write backoff: {custom: {delays: [500ms, 2s]}}",
}

// combine checks the settings of a map that depend on each other. It merges the
// keys that are one setting: the initial delay may be inside backoff, and
// jitter_factor is part of jitter.
func (d decoder) combine(n *syntax.Node, values map[rules.Field]written) {
	if w := values["backoff"]; w.value != nil {
		b := w.value.(backoff)
		if b.missing != "" && n.Get(b.missing) == nil { // a misplaced key is already reported
			d.problem(b.at, "P102", "%s", missingText[b.missing])
		}
		if e := b.spelling.Initial; e != nil {
			d.nestedInitial(e, values)
		}
		if e := n.Get("backoff"); e.Value.IsMap() {
			b.spelling.Map, b.spelling.Entry = n, e
			d.spellings.Backoffs = append(d.spellings.Backoffs, b.spelling)
		}
		if e := n.Written("initial_delay"); e != nil && b.strategy == retry.BackoffCustom {
			d.problem(e.At, "P109", "custom does not read initial_delay: write the first delay as the first of delays")
		}
	}
	if e := n.Written("jitter_factor"); e != nil {
		d.jitterFactor(n, e, values)
	}
	if w := values["jitter"]; w.value != nil {
		j := w.value.(jitter)
		d.spellings.Jitters = append(d.spellings.Jitters, syntax.Jitter{
			Map: n, Entry: n.Get("jitter"), Factor: n.Get("jitter_factor"), Mode: j.mode.String(), Width: j.width,
		})
	}
	d.decorrelated(n, values)
	d.unknownOfAny(n, values)
}

// unknownOfAny reports the setting unknown next to the class any, which contains
// unknown errors.
func (d decoder) unknownOfAny(n *syntax.Node, values map[rules.Field]written) {
	list, _ := values["retry_on"].value.([]class)
	retries, isSet := values["unknown"].value.(bool)
	if !isSet || !slices.ContainsFunc(list, func(c class) bool { return c.name == retry.ClassAny }) {
		return
	}
	at := n.Get("unknown").At
	if retries {
		d.add(at, rules.Finding{
			Rule: "P703", Text: "unknown has no effect next to any, which covers unknown errors: remove it",
		})
		return
	}
	d.problem(at, "P104",
		"unknown: fail and any in retry_on disagree: list the classes to retry instead of any, or remove unknown")
}

// nestedInitial reads an initial delay that is written inside backoff, an older
// form.
func (d decoder) nestedInitial(e *syntax.Entry, values map[rules.Field]written) {
	value, ok := d.initialDelay(e)
	switch w, set := values["initial_delay"]; {
	case !ok:
	case set && w.value != value:
		d.problem(e.At, "P104", "%s and initial_delay are the same setting and disagree: keep initial_delay", e.Key)
	default:
		values["initial_delay"] = written{value: value, at: e.Value.Span}
	}
}

// base reads the factor of the exponential strategy, written as base or
// multiplier.
func (d decoder) base(params *syntax.Node) (base float64) {
	var first *syntax.Entry
	for _, key := range []string{"base", "multiplier"} {
		e := params.Get(key)
		if e == nil || e.Value.IsNull() {
			continue
		}
		value, ok := number(e.Value)
		switch {
		case !ok:
			d.problem(e.Value.Span, "P102", "%s is a number, not %s", key, e.Value.Describe())
		case value < 1:
			d.problem(e.Value.Span, "P106",
				"%s %s makes delays shrink: write at least 1, or fixed for equal delays", key, e.Value.Text)
		case first != nil && value != base:
			d.problem(e.At, "P104", "base and multiplier are the same setting and disagree: keep base")
		default:
			first, base = e, value
		}
		if key == "multiplier" {
			d.spellings.Names = append(d.spellings.Names, syntax.Name{Map: params, Entry: e, Key: "base"})
		}
	}
	return base
}

func number(n *syntax.Node) (float64, bool) {
	switch v := n.Value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return math.NaN(), false
}

func (d decoder) delays(n *syntax.Node) (list []time.Duration) {
	if !n.IsList() {
		d.problem(n.Span, "P102", "delays is a list of durations, as [500ms, 2s], not %s", n.Describe())
		return nil
	}
	if len(n.Items) == 0 {
		d.warn(n.Span, "P108",
			"delays is empty, so every delay is max_delay: list the delays, or write backoff: fixed")
	}
	for _, item := range n.Items {
		value, _ := d.duration(item, "delays")
		list = append(list, value)
	}
	return list
}

var jitterModes = map[string]retry.Jitter{
	"none": retry.JitterNone, "proportional": retry.JitterProportional, "full": retry.JitterFull,
	"equal": retry.JitterEqual, "decorrelated": retry.JitterDecorrelated, "additive": retry.JitterAdditive,
}

// jitter reads true or false, a mode, a factor, or a map of mode and factor.
func (d decoder) jitter(e *syntax.Entry) (j jitter, ok bool) {
	before := d.errors()
	switch v := e.Value.Value.(type) {
	case bool:
		if v {
			j.mode = retry.JitterProportional
		}
	case string:
		j.mode = d.jitterMode(e.Value)
	case int64, float64:
		j.mode = retry.JitterProportional
		j.factor, _ = d.factor(e)
		j.width = e.Value.Text
	case map[string]any:
		d.unknownKeys(e.Value, "", "mode", "factor")
		j.mode = retry.JitterProportional
		if mode := e.Value.Written("mode"); mode != nil {
			j.mode = d.jitterMode(mode.Value)
		}
		if f := e.Value.Written("factor"); f != nil && d.readsFactor(f, j.mode) {
			j.factor, _ = d.factor(f)
			j.width = f.Value.Text
		}
	default:
		d.problem(e.Value.Span, "P102", "jitter is true, false, a mode or a factor, not %s", e.Value.Describe())
	}
	return j, d.errors() == before
}

// noWidth represents a written factor of 0, which turns jitter off. A factor
// field of 0 means the default.
const noWidth = -1

// jitterFactor moves the value of jitter_factor into the value of jitter.
func (d decoder) jitterFactor(n *syntax.Node, e *syntax.Entry, values map[rules.Field]written) {
	factor, ok := values["jitter_factor"].value.(float64)
	delete(values, "jitter_factor")
	if n.Get("jitter") == nil {
		d.problem(e.At, "P109",
			"jitter_factor is not read without jitter: write jitter: true, or remove it")
		return
	}
	w := values["jitter"]
	j, _ := w.value.(jitter)
	switch {
	case !ok || !d.readsFactor(e, j.mode):
	case j.factor != 0 && j.factor != factor:
		d.problem(e.At, "P104", "jitter and jitter_factor disagree about the factor: keep one")
	default:
		j.factor, j.width = factor, e.Value.Text
		w.value = j
		values["jitter"] = w
	}
}

// booleans maps the boolean words of YAML 1.1 to the words of YAML 1.2.
var booleans = map[string]string{"on": "true", "yes": "true", "off": "false", "no": "false"}

// decorrelated reports a backoff that decorrelated jitter does not read.
// exponential without a base is accepted, because it is the default.
func (d decoder) decorrelated(n *syntax.Node, values map[rules.Field]written) {
	j, _ := values["jitter"].value.(jitter)
	b, _ := values["backoff"].value.(backoff)
	if j.mode != retry.JitterDecorrelated || b.strategy == retry.BackoffExponential && b.base == 0 {
		return
	}
	d.problem(n.Get("backoff").At, "P109",
		"jitter decorrelated does not read backoff, since it draws each delay from initial_delay "+
			"to three times the one before: remove backoff, or take another jitter")
}

func (d decoder) jitterMode(n *syntax.Node) retry.Jitter {
	mode, ok := jitterModes[n.Text]
	if !ok || n.Value != n.Text {
		hint := didYouMean(n.Text, append(sortedKeys(jitterModes), "true", "false"))
		if word := booleans[strings.ToLower(n.Text)]; word != "" {
			hint = ": write " + word
		} else if _, err := strconv.ParseFloat(n.Text, 64); err == nil {
			hint = ": write " + n.Text + " without quotes"
		}
		d.problem(n.Span, "P102", "%s is not a jitter mode%s", syntax.Quote(n.Text), hint)
	}
	return mode
}

// hasFactor reports whether a mode of jitter has a factor.
func hasFactor(mode retry.Jitter) bool {
	return mode == retry.JitterProportional || mode == retry.JitterAdditive
}

// readsFactor reports whether the mode has a factor. It adds a problem if not.
func (d decoder) readsFactor(e *syntax.Entry, mode retry.Jitter) bool {
	if !hasFactor(mode) {
		hint := "jitter is off"
		if mode != retry.JitterNone {
			hint = "jitter " + mode.String() + " has no factor"
		}
		d.problem(e.At, "P109", "%s is not read, since %s: write jitter: true, or remove it", e.Key, hint)
	}
	return hasFactor(mode)
}

// factor reads a jitter factor from 0 to 1. It returns noWidth for 0.
func (d decoder) factor(e *syntax.Entry) (float64, bool) {
	value, ok := number(e.Value)
	switch {
	case !ok || value < 0 || value > 1:
		d.problem(e.Value.Span, "P102", "%s is a factor from 0 to 1, not %s", e.Key, e.Value.Describe())
		return 0, false
	case value == 0:
		return noWidth, true
	}
	return value, true
}
