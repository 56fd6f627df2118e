package policy

import (
	"math"
	"slices"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// backoff is a strategy with its settings; zero ones mean the default.
type backoff struct {
	strategy  retry.Strategy
	base      float64
	increment time.Duration
	delays    []time.Duration
}

// strategies maps a strategy to the settings that its map may have.
// initial and delay are Prodigy's spellings of initial_delay, multiplier of
// base.
var strategies = map[string]struct {
	strategy retry.Strategy
	keys     []string
}{
	"fixed":       {retry.Fixed, []string{"delay"}},
	"linear":      {retry.Linear, []string{"initial", "increment"}},
	"exponential": {retry.Exponential, []string{"initial", "base", "multiplier"}},
	"fibonacci":   {retry.Fibonacci, []string{"initial"}},
	"custom":      {retry.Custom, []string{"delays"}},
}

// settingsOf shows the settings of the strategies that have any.
var settingsOf = map[string]string{"linear": "{increment: 1s}", "exponential": "{base: 2}", "custom": "{delays: [500ms, 2s]}"}

// strategyKeys are the settings of any strategy.
var strategyKeys = []string{"delay", "initial", "increment", "base", "multiplier", "delays"}

// backoff reads the strategy in each of its forms: a name, a map of one name to
// its settings, or a map with type.
func (d decoder) backoff(n *node, s *schedule) {
	e := n.get("backoff")
	if e == nil {
		return
	}
	s.backoff = option[backoff]{set: true, null: e.value.isNull(), at: e.value.span}
	switch v := e.value.value.(type) {
	case nil:
	case string:
		if _, ok := strategies[v]; !ok {
			d.problem(e.value.span, "P102", "backoff %s is not a strategy%s", quoteShort(v), didYouMean(v, sortedKeys(strategies)))
			return
		}
		d.strategy(n, s, v, &node{span: e.value.span, value: map[string]any{}})
	case map[string]any:
		if tag := e.value.get("type"); tag != nil {
			d.tagged(n, s, e.value, tag)
			return
		}
		d.oneKey(n, s, e.value)
	default:
		d.problem(e.value.span, "P102", "backoff is a strategy, as exponential or {linear: {increment: 2s}}, not %s", kindOf(e.value))
	}
	d.custom(n, s)
}

// tagged reads {type: linear, increment: 2s}.
func (d decoder) tagged(n *node, s *schedule, m *node, tag *entry) {
	name, _ := tag.value.value.(string)
	if _, ok := strategies[name]; !ok {
		d.problem(tag.value.span, "P102", "backoff type %s is not a strategy%s", quoteShort(tag.value.text), didYouMean(name, sortedKeys(strategies)))
		return
	}
	params := *m
	params.index = nil
	params.entries = slices.DeleteFunc(slices.Clone(m.entries), func(e entry) bool { return e.key == "type" })
	d.strategy(n, s, name, &params)
	d.custom(n, s)
}

// oneKey reads {linear: {increment: 2s}}.
func (d decoder) oneKey(n *node, s *schedule, m *node) {
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
		d.strategy(n, s, found.key, &node{span: found.at, value: map[string]any{}})
	case found.value.isMap():
		d.strategy(n, s, found.key, found.value)
	case settingsOf[found.key] == "":
		d.problem(found.value.span, "P102", "%s has no settings: write backoff: %s, and the first delay as initial_delay", found.key, found.key)
	default:
		d.problem(found.value.span, "P102", "%s is a map of settings here, as %s, not %s", found.key, settingsOf[found.key], kindOf(found.value))
	}
}

// strategy reads the settings of the strategy called name.
func (d decoder) strategy(n *node, s *schedule, name string, params *node) {
	kind := strategies[name]
	b := backoff{strategy: kind.strategy}
	for _, e := range params.entries {
		if slices.Contains(strategyKeys, e.key) && !slices.Contains(kind.keys, e.key) {
			d.problem(e.at, "P109", "%s does not read %s: remove it, or use the strategy that does", name, e.key)
		}
	}
	unknown := d.unknownKeys(params, "", strategyKeys...)
	lacks := func(key, fix string) bool {
		if params.get(key) != nil {
			return false
		}
		if !unknown && n.get(key) == nil { // else it is misspelt, or beside backoff, and that is said
			d.problem(params.span, "P102", "%s has no %s: write %s", name, key, fix)
		}
		return true
	}
	switch kind.strategy {
	case retry.Linear:
		if lacks("increment", "backoff: {linear: {increment: 1s}}, or fixed for equal delays") {
			return
		}
		b.increment, _ = d.duration(params.get("increment").value, "increment")
	case retry.Exponential:
		b.base = d.base(params)
	case retry.Custom:
		if lacks("delays", "backoff: {custom: {delays: [500ms, 2s]}}") {
			return
		}
		b.delays = d.delays(params.get("delays").value)
	}
	s.backoff.value = b
	for _, key := range kind.keys {
		if e := params.get(key); e != nil && (key == "initial" || key == "delay") && !e.value.isNull() {
			d.nestedInitial(n, s, e)
		}
	}
}

// nestedInitial reads the initial delay where the older form writes it.
func (d decoder) nestedInitial(n *node, s *schedule, e *entry) {
	value, ok := d.initialDelay(e)
	switch {
	case !ok:
	case s.initialDelay.set && s.initialDelay.value != value:
		d.problem(e.at, "P104", "%s and initial_delay are the same setting and disagree: keep initial_delay", e.key)
	default:
		s.initialDelay = option[time.Duration]{set: true, value: value, at: e.value.span}
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

// custom reports a first delay beside delays of one's own, which hide it.
func (d decoder) custom(n *node, s *schedule) {
	e := n.get("initial_delay")
	if s.backoff.value.strategy == retry.Custom && e != nil && !e.value.isNull() {
		d.problem(e.at, "P109", "custom does not read initial_delay: write the first delay as the first of delays")
	}
}

var jitterModes = map[string]retry.Jitter{
	"none": retry.NoJitter, "proportional": retry.Proportional, "full": retry.Full,
	"equal": retry.Equal, "decorrelated": retry.Decorrelated, "additive": retry.Additive,
}

// jitter reads jitter and jitter_factor, which are one setting: true or false,
// a mode, a factor, or a map of both.
func (d decoder) jitter(n *node, s *schedule) {
	e, factorEntry := n.get("jitter"), n.get("jitter_factor")
	var j jitter
	if e != nil {
		s.jitter = option[jitter]{set: true, null: e.value.isNull(), at: e.value.span}
		switch v := e.value.value.(type) {
		case nil:
		case bool:
			if v {
				j.mode = retry.Proportional
			}
		case string:
			j.mode = d.jitterMode(e.value)
		case int64, float64:
			j.mode = retry.Proportional
			d.factor(e, &j)
		case map[string]any:
			d.unknownKeys(e.value, "", "mode", "factor")
			j.mode = retry.Proportional
			if mode := e.value.written("mode"); mode != nil {
				j.mode = d.jitterMode(mode.value)
			}
			if f := e.value.written("factor"); f != nil {
				d.factorOf(f, &j)
			}
		default:
			d.problem(e.value.span, "P102", "jitter is true, false, a mode or a factor, not %s", kindOf(e.value))
		}
	}
	if factorEntry != nil && !factorEntry.value.isNull() {
		before := j.factor
		if e == nil {
			d.problem(factorEntry.at, "P109", "jitter_factor is not read, since no jitter stands beside it: write jitter: true, or remove it")
		} else {
			d.factorOf(factorEntry, &j)
		}
		if before != 0 && before != j.factor {
			d.problem(factorEntry.at, "P104", "jitter and jitter_factor disagree about the factor: keep one")
		}
	}
	if j.factor == retry.None { // a factor of 0: no width at all
		j = jitter{}
	}
	s.jitter.value = j
}

// booleans are the words that YAML 1.1 had for them besides.
var booleans = map[string]string{"on": "true", "yes": "true", "off": "false", "no": "false"}

// decorrelated reports a strategy beside jitter that has none: exponential alone
// says what such delays do as well.
func (d decoder) decorrelated(n *node, s *schedule) {
	b := s.backoff.value
	if s.jitter.value.mode != retry.Decorrelated || b.strategy == retry.Exponential && b.base == 0 {
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

// factorOf reads a factor that the mode must have a use for.
func (d decoder) factorOf(e *entry, j *jitter) {
	if j.mode != retry.Proportional && j.mode != retry.Additive {
		hint := "jitter is off"
		if j.mode != retry.NoJitter {
			hint = "jitter " + j.mode.String() + " has no factor"
		}
		d.problem(e.at, "P109", "%s is not read, since %s: write jitter: true, or remove it", strings.TrimPrefix(e.key, "."), hint)
		return
	}
	d.factor(e, j)
}

func (d decoder) factor(e *entry, j *jitter) {
	value, ok := number(e.value)
	switch {
	case !ok || value < 0 || value > 1:
		d.problem(e.value.span, "P102", "%s is a factor from 0 to 1, not %s", e.key, kindOf(e.value))
	case value == 0:
		j.factor = retry.None
	default:
		j.factor = value
	}
}
