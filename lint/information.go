package lint

import (
	"go/token"

	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/lint/internal/attempt"
)

// UnboundedPoll reports polls without a limit (RL110).
var UnboundedPoll = newRule("unboundedpoll", runUnboundedPoll, []string{"RL110"}, attempts)

func runUnboundedPoll(pass *analysis.Pass, r *report) {
	if !informs("RL110") {
		return
	}
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		if file := handwritten(pass, t.Pos()); t.IsEndlessPoll() && file != nil {
			r.at(callStart(file, t.Pos()), t.Pos(), Named, "RL110",
				"this poll ends only on the expected answer: limit the attempts, or return when a context ends")
		}
	}
}

// EndlessConflict reports conflicts that are retried without a limit (RL114).
var EndlessConflict = newRule("endlessconflict", runEndlessConflict, []string{"RL114"}, attempts)

func runEndlessConflict(pass *analysis.Pass, r *report) {
	if !informs("RL114") {
		return
	}
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		if file := handwritten(pass, t.Pos()); t.IsConflict() && file != nil {
			r.at(loopStart(file, t.Loop, t.Op), token.NoPos, Library, "RL114",
				"conflicts of %s are retried at once without a limit: limit the attempts, and wait a random time", t.Name())
		}
	}
}
