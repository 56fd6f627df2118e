package lint

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// UnboundedPoll reports RL110.
var UnboundedPoll = &analysis.Analyzer{
	Name: "unboundedpoll",
	Doc: `unboundedpoll: tell of polls that nothing but the answer ends

A loop that asks again and again whether something is ready goes on for ever
when it never will be. This only informs: it is reported with -enable RL110.

WRONG:

	for !c.Ready() {
		time.Sleep(time.Second)
	}

RIGHT:

	for deadline := time.Now().Add(time.Minute); !c.Ready(); {
		if time.Now().After(deadline) {
			return errors.New("not ready")
		}
		time.Sleep(time.Second)
	}

It is silent where any way out asks for anything else: a count, a clock, a
channel, a flag, a context, or a call with other arguments.`,
	URL:        pageOf("RL110"),
	Requires:   []*analysis.Analyzer{ssaForm, directiveIndex},
	ResultType: used,
	Run:        runUnboundedPoll,
}

func runUnboundedPoll(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !informs("RL110") {
		return r.used, nil
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, call := range retryloop.Polls(fn) {
			if file := fileOf(pass, call.Pos()); file != nil && !ast.IsGenerated(file) && !inTest(pass, call.Pos()) {
				r.at(callStart(file, call.Pos()), call.Pos(), "RL110", "this is asked until it answers as hoped, and nothing else ends it: count, or leave when a context ends")
			}
		}
	}
	return r.used, nil
}

// EndlessDaemon reports RL112.
var EndlessDaemon = &analysis.Analyzer{
	Name: "endlessdaemon",
	Doc: `endlessdaemon: tell of goroutines that nobody can stop

A goroutine that works at intervals for ever keeps alive what it uses, and works
on while the program wants to end. This only informs: it is reported with
-enable RL112.

WRONG:

	go func() {
		for {
			c.refresh()
			time.Sleep(time.Minute)
		}
	}()

RIGHT:

	go func() {
		for ctx.Err() == nil {
			c.refresh()
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
		}
	}()

It is silent in package main, whose goroutines end with it, and in tests, and
where anything but time is waited for.`,
	URL:        pageOf("RL112"),
	Requires:   []*analysis.Analyzer{ssaForm, directiveIndex},
	ResultType: used,
	Run:        runEndlessDaemon,
}

func runEndlessDaemon(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !informs("RL112") || pass.Pkg.Name() == "main" {
		return r.used, nil
	}
	told := map[*ssa.Function]bool{}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				start, ok := instr.(*ssa.Go)
				if !ok {
					continue
				}
				daemon := start.Call.StaticCallee()
				if daemon == nil || told[daemon] || retryloop.Serves(daemon) == nil {
					continue
				}
				if file := fileOf(pass, start.Pos()); file != nil && !ast.IsGenerated(file) && !inTest(pass, start.Pos()) {
					told[daemon] = true
					r.at(start.Pos(), token.NoPos, "RL112", "nothing stops this goroutine: leave its loop when a context ends")
				}
			}
		}
	}
	return r.used, nil
}
