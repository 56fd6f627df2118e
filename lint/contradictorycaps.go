package lint

import (
	"fmt"
	"go/constant"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// ContradictoryCaps reports backoff settings that contradict each other (RL209).
var ContradictoryCaps = newRule("contradictorycaps", runContradictoryCaps, []string{"RL209"}, ssaForm)

func runContradictoryCaps(pass *analysis.Pass, r *report) {
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for instr := range flow.Instructions(fn.Blocks) {
			text, evidence := contradiction(instr)
			file := handwritten(pass, instr.Pos())
			if text == "" || file == nil {
				continue
			}
			pos, end := instr.Pos(), token.NoPos
			if _, isCall := instr.(*ssa.Call); isCall {
				pos, end = callStart(file, pos), pos
			}
			r.at(pos, end, evidence, "RL209", "%s", text)
		}
	}
}

// contradiction describes a setting that has no effect because of another one, for an
// instruction that creates settings. Otherwise it returns "".
func contradiction(instr ssa.Instruction) (text string, evidence Evidence) {
	s := settingsMadeBy(instr)
	switch {
	case s == nil || s.vague || s.exported:
	case s.ignored:
		return "0 attempts have no effect, so the default of 3 remains: write 1 for no retries, or use " +
			"AddWithMaxAttempts for no limit", Library
	case s.bounds&vocab.Timed != 0:
		return s.endsAtOnce(), Library
	case s.number(vocab.Factor) > 1:
		return s.truncated(), Library
	case !s.varied:
		return s.neverGrows()
	}
	return "", Named
}

// neverGrows describes a first delay that is above the maximum delay. If one of the two is a
// default, the author may intend a constant delay, so the evidence is weaker.
func (s *settings) neverGrows() (text string, evidence Evidence) {
	first, known := s.duration(vocab.Delay, s.first)
	greatest, bounded := s.duration(vocab.Longest, s.greatest)
	if !known || !bounded || greatest <= 0 || first <= greatest {
		return "", Named
	}
	if s.values[vocab.Delay] != nil && s.values[vocab.Longest] != nil {
		evidence = Library
	}
	return fmt.Sprintf("the first delay %v is above %s, which is %v, so delays never grow: lower it, or raise the other",
		first, s.cap, greatest), evidence
}

// truncated describes a growing delay that ends the retries when it reaches its cap, before all
// attempts are made.
func (s *settings) truncated() string {
	delay, limit, steps := s.number(vocab.Delay), s.number(vocab.Last), s.number(vocab.Attempts)
	if delay <= 0 || limit <= 0 {
		return ""
	}
	made := 1
	for ; float64(made) < steps; made++ {
		if delay *= s.number(vocab.Factor); delay > limit {
			break
		}
	}
	if float64(made) >= steps {
		return ""
	}
	all := "unlimited"
	if steps < 1<<31-1 {
		all = constant.MakeInt64(int64(steps)).String()
	}
	return fmt.Sprintf("this backoff ends at Cap, after %d of its %s Steps: raise Cap, or lower Steps", made, all)
}

// endsAtOnce describes a poll whose timeout is not longer than its interval.
func (s *settings) endsAtOnce() string {
	interval, known := s.duration(vocab.Delay, 0)
	timeout, bounded := s.duration(vocab.Elapsed, 0)
	if !known || !bounded || timeout <= 0 || interval < timeout {
		return ""
	}
	return fmt.Sprintf("the interval %v is not below the timeout %v, so the condition is checked at most once",
		interval, timeout)
}
