package policy

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// backoff is a strategy with its settings; zero ones mean the default.
type backoff struct {
	strategy  retry.Backoff
	base      float64
	increment time.Duration
	delays    []time.Duration

	lacks    string // a setting that the strategy cannot do without, or ""
	at       span   // of the settings
	spelling Backoff
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

// setJitter stores the mode and its factor.
func (p *Policy) setJitter(j jitter) {
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

// settingsOf shows the settings of the strategies that have any.
var settingsOf = map[string]string{"linear": "{increment: 1s}", "exponential": "{base: 2}", "custom": "{delays: [500ms, 2s]}"}

// strategyKeys are the settings of any strategy.
var strategyKeys = []string{"delay", "initial", "increment", "base", "multiplier", "delays"}

// backoff reads the strategy in each of its forms: a name, a map of one name to
// its settings, or a map with type.
func (d decoder) backoff(e *entry) (b backoff, ok bool) {
	switch v := e.value.value.(type) {
	case string:
		if _, ok := strategies[v]; !ok {
			d.problem(e.value.span, "P102", "backoff %s is not a strategy%s", quoteShort(v), didYouMean(v, sortedKeys(strategies)))
			return b, false
		}
		return d.strategy(v, e.value.span, &node{span: e.value.span, value: map[string]any{}}), true
	case map[string]any:
		if tag := e.value.get("type"); tag != nil {
			return d.tagged(e.value, tag)
		}
		return d.oneKey(e.value)
	}
	d.problem(e.value.span, "P102", "backoff is a strategy, as exponential or {linear: {increment: 2s}}, not %s", kindOf(e.value))
	return b, false
}

// tagged reads {type: linear, increment: 2s}.
func (d decoder) tagged(m *node, tag *entry) (b backoff, ok bool) {
	name, _ := tag.value.value.(string)
	if _, ok := strategies[name]; !ok {
		d.problem(tag.value.span, "P102", "backoff type %s is not a strategy%s", quoteShort(tag.value.text), didYouMean(name, sortedKeys(strategies)))
		return b, false
	}
	params := *m
	params.index = nil
	params.entries = slices.DeleteFunc(slices.Clone(m.entries), func(e entry) bool { return e.key == "type" })
	b = d.strategy(name, tag.at, &params)
	b.spelling.Plain = false
	return b, true
}

// oneKey reads {linear: {increment: 2s}}.
func (d decoder) oneKey(m *node) (b backoff, ok bool) {
	var found *entry
	for i, e := range m.entries {
		_, known := strategies[e.key]
		switch {
		case !known && slices.Contains(strategyKeys, e.key):
			d.problem(e.at, "P101", "%s belongs under a strategy: write backoff: {exponential: {%s: …}}, with the strategy that is meant", e.key, e.key)
		case !known:
			d.problem(e.at, "P101", "unknown strategy %q%s", e.key, didYouMean(e.key, sortedKeys(strategies)))
		case found != nil:
			d.problem(e.at, "P105", "%s is a second strategy, after %s: keep one", e.key, found.key)
		default:
			found = &m.entries[i]
		}
	}
	switch {
	case len(m.entries) == 0:
		d.problem(m.span, "P102", "backoff is empty: write a strategy, as backoff: exponential")
	case found == nil:
	case found.value.isNull():
		return d.strategy(found.key, found.at, &node{span: found.at, value: map[string]any{}}), true
	case found.value.isMap():
		return d.strategy(found.key, found.at, found.value), true
	case settingsOf[found.key] == "":
		d.problem(found.value.span, "P102", "%s has no settings: write backoff: %s, and the first delay as initial_delay", found.key, found.key)
	default:
		d.problem(found.value.span, "P102", "%s is a map of settings here, as %s, not %s", found.key, settingsOf[found.key], kindOf(found.value))
	}
	return b, false
}

// strategy reads the settings of the strategy called name, which is named at at.
func (d decoder) strategy(name string, at span, params *node) backoff {
	kind := strategies[name]
	b := backoff{strategy: kind.strategy, at: params.span, spelling: Backoff{Strategy: name, At: at, Plain: len(params.entries) > 0}}
	for i := range params.entries {
		e := &params.entries[i]
		if slices.Contains(strategyKeys, e.key) && !slices.Contains(kind.keys, e.key) {
			d.problem(e.at, "P109", "%s does not read %s: remove it, or use the strategy that does", name, e.key)
		}
		b.spelling.add(e, params)
	}
	unknown := d.unknownKeys(params, "", strategyKeys...)
	switch kind.strategy {
	case retry.BackoffLinear:
		if e := params.get("increment"); e != nil {
			b.increment, _ = d.duration(e.value, "increment")
		} else if !unknown { // else it may be misspelt
			b.lacks = "increment"
		}
	case retry.BackoffExponential:
		b.base = d.base(params)
	case retry.BackoffCustom:
		if e := params.get("delays"); e != nil {
			b.delays = d.delays(e.value)
		} else if !unknown {
			b.lacks = "delays"
		}
	}
	return b
}

// add adds an entry of the settings.
func (b *Backoff) add(e *entry, params *node) {
	switch {
	case e.value.isNull():
		b.Plain = false
	case e.key == "initial" || e.key == "delay":
		b.Initial, b.Plain = e, false
	case e.key == "multiplier" && params.written("base") != nil: // one setting
	case e.key == "multiplier":
		b.Settings = append(b.Settings, Setting{"base", e})
	default:
		b.Settings = append(b.Settings, Setting{e.key, e})
	}
}

// needed are the problems of strategies without a setting that they need.
var needed = map[string]string{
	"increment": "linear has no increment: write backoff: {linear: {increment: 1s}}, or fixed for equal delays",
	"delays":    "custom has no delays: write backoff: {custom: {delays: [500ms, 2s]}}",
}

// combine judges the settings of a map that depend on each other, and merges
// those that are one setting: the initial delay may be part of backoff, and
// jitter_factor is part of jitter.
func (d decoder) combine(n *node, values map[rules.Field]written) {
	if w := values["backoff"]; w.value != nil {
		b := w.value.(backoff)
		if b.lacks != "" && n.get(b.lacks) == nil { // else the key is misplaced, and reported there
			d.problem(b.at, "P102", "%s", needed[b.lacks])
		}
		if e := b.spelling.Initial; e != nil {
			d.nestedInitial(e, values)
		}
		if e := n.get("backoff"); e.value.isMap() {
			b.spelling.Map, b.spelling.Entry = n, e
			d.spellings.Backoffs = append(d.spellings.Backoffs, b.spelling)
		}
		if e := n.written("initial_delay"); e != nil && b.strategy == retry.BackoffCustom {
			d.problem(e.at, "P109", "custom does not read initial_delay: write the first delay as the first of delays")
		}
	}
	if e := n.written("jitter_factor"); e != nil {
		d.jitterFactor(n, e, values)
	}
	if w := values["jitter"]; w.value != nil {
		j := w.value.(jitter)
		d.spellings.Jitters = append(d.spellings.Jitters, Jitter{n, n.get("jitter"), n.get("jitter_factor"), j.mode.String(), j.width})
	}
	d.decorrelated(n, values)
}

// nestedInitial reads the initial delay where the older form writes it.
func (d decoder) nestedInitial(e *entry, values map[rules.Field]written) {
	value, ok := d.initialDelay(e)
	switch w, set := values["initial_delay"]; {
	case !ok:
	case set && w.value != value:
		d.problem(e.at, "P104", "%s and initial_delay are the same setting and disagree: keep initial_delay", e.key)
	default:
		values["initial_delay"] = written{value: value, at: e.value.span}
	}
}

// base reads the factor of exponential, under either of its names.
func (d decoder) base(params *node) (base float64) {
	var first *entry
	for _, key := range []string{"base", "multiplier"} {
		e := params.get(key)
		if e == nil || e.value.isNull() {
			continue
		}
		value, ok := number(e.value)
		switch {
		case !ok:
			d.problem(e.value.span, "P102", "%s is a number, not %s", key, kindOf(e.value))
		case value < 1:
			d.problem(e.value.span, "P106", "%s %s makes delays shrink: write at least 1, or fixed for equal delays", key, e.value.text)
		case first != nil && value != base:
			d.problem(e.at, "P104", "base and multiplier are the same setting and disagree: keep base")
		default:
			first, base = e, value
		}
		if key == "multiplier" {
			d.spellings.Names = append(d.spellings.Names, Name{params, e, "base", ""})
		}
	}
	return base
}

func number(n *node) (float64, bool) {
	switch v := n.value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return math.NaN(), false
}

func (d decoder) delays(n *node) (list []time.Duration) {
	if !n.isList() {
		d.problem(n.span, "P102", "delays is a list of durations, as [500ms, 2s], not %s", kindOf(n))
		return nil
	}
	if len(n.items) == 0 {
		d.warn(n.span, "P108", "delays is empty, so that every delay is max_delay: write the delays, or fixed with that delay")
	}
	for _, item := range n.items {
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
func (d decoder) jitter(e *entry) (j jitter, ok bool) {
	before := d.errors()
	switch v := e.value.value.(type) {
	case bool:
		if v {
			j.mode = retry.JitterProportional
		}
	case string:
		j.mode = d.jitterMode(e.value)
	case int64, float64:
		j.mode = retry.JitterProportional
		j.factor, _ = d.factor(e)
		j.width = e.value.text
	case map[string]any:
		d.unknownKeys(e.value, "", "mode", "factor")
		j.mode = retry.JitterProportional
		if mode := e.value.written("mode"); mode != nil {
			j.mode = d.jitterMode(mode.value)
		}
		if f := e.value.written("factor"); f != nil && d.readsFactor(f, j.mode) {
			j.factor, _ = d.factor(f)
			j.width = f.value.text
		}
	default:
		d.problem(e.value.span, "P102", "jitter is true, false, a mode or a factor, not %s", kindOf(e.value))
	}
	return j.normal(), d.errors() == before
}

// noWidth is the factor of a jitter without a width: none.
const noWidth = -1

// normal returns no jitter for a factor of 0.
func (j jitter) normal() jitter {
	if j.factor == noWidth {
		return jitter{}
	}
	return j
}

// jitterFactor makes jitter_factor a part of jitter.
func (d decoder) jitterFactor(n *node, e *entry, values map[rules.Field]written) {
	factor, ok := values["jitter_factor"].value.(float64)
	delete(values, "jitter_factor")
	if n.get("jitter") == nil {
		d.problem(e.at, "P109", "jitter_factor is not read, since no jitter stands beside it: write jitter: true, or remove it")
		return
	}
	w := values["jitter"]
	j, _ := w.value.(jitter)
	switch {
	case !ok || !d.readsFactor(e, j.mode):
	case j.factor != 0 && j.factor != factor:
		d.problem(e.at, "P104", "jitter and jitter_factor disagree about the factor: keep one")
	default:
		j.factor, j.width = factor, e.value.text
		w.value = j.normal()
		values["jitter"] = w
	}
}

// booleans are the words that YAML 1.1 had for them besides.
var booleans = map[string]string{"on": "true", "yes": "true", "off": "false", "no": "false"}

// decorrelated reports a strategy that decorrelated jitter does not read:
// exponential alone describes such delays as well.
func (d decoder) decorrelated(n *node, values map[rules.Field]written) {
	j, _ := values["jitter"].value.(jitter)
	b, _ := values["backoff"].value.(backoff)
	if j.mode != retry.JitterDecorrelated || b.strategy == retry.BackoffExponential && b.base == 0 {
		return
	}
	d.problem(n.get("backoff").at, "P109", "jitter decorrelated does not read backoff, since it draws each delay from initial_delay to three times the one before: remove backoff, or take another jitter")
}

func (d decoder) jitterMode(n *node) retry.Jitter {
	mode, ok := jitterModes[n.text]
	if !ok || n.value != n.text {
		hint := didYouMean(n.text, append(sortedKeys(jitterModes), "true", "false"))
		if word := booleans[strings.ToLower(n.text)]; word != "" {
			hint = ": write " + word
		}
		d.problem(n.span, "P102", "%s is not a jitter mode%s", quoteShort(n.text), hint)
	}
	return mode
}

// hasFactor reports whether a mode of jitter has a factor.
func hasFactor(mode retry.Jitter) bool {
	return mode == retry.JitterProportional || mode == retry.JitterAdditive
}

// readsFactor reports a factor that the mode does not read.
func (d decoder) readsFactor(e *entry, mode retry.Jitter) bool {
	if !hasFactor(mode) {
		hint := "jitter is off"
		if mode != retry.JitterNone {
			hint = "jitter " + mode.String() + " has no factor"
		}
		d.problem(e.at, "P109", "%s is not read, since %s: write jitter: true, or remove it", e.key, hint)
	}
	return hasFactor(mode)
}

// factor reads the width of jitter; noWidth is no jitter.
func (d decoder) factor(e *entry) (float64, bool) {
	value, ok := number(e.value)
	switch {
	case !ok || value < 0 || value > 1:
		d.problem(e.value.span, "P102", "%s is a factor from 0 to 1, not %s", e.key, kindOf(e.value))
		return 0, false
	case value == 0:
		return noWidth, true
	}
	return value, true
}
