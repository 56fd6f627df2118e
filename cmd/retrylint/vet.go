package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/internal/gocommand"
	"github.com/retrygen/retrygen/lint"
	"github.com/retrygen/retrygen/policy/rules"
)

// goVet runs go vet with this program as its tool, and returns the findings in the
// packages of a selection.
//
// So every package is analyzed in a process of its own, with the facts of its
// imports. The go command keeps facts and findings in its build cache. It runs the
// tool again only for packages whose files, imports, tool or flags have changed.
//
// Between two runs that share the cache, the go command may take a package for analyzed
// without its findings: it stores the facts first. So the tool marks each
// package, and the run is repeated if one is missing.
func goVet(ctx context.Context, f finder, s selection, dir string,
	w *watch) (findings []finding, err error) {
	hide, remove, err := overlay(s.hidden)
	if err != nil {
		return nil, err
	}
	defer remove()
	flags := slices.Concat(hide, gocommand.BuildFlags(f.tags))
	list := sync.OnceValues(func() (contents, error) { return listing(ctx, flags, s.patterns, dir) })
	go list()
	w.total = func() int {
		c, _ := list()
		return len(c.units)
	}
	var missing []string
	// The last value is in no cache.
	for _, record := range []string{"cached", "cached", "new" + strconv.FormatInt(time.Now().UnixNano(), 36)} {
		args := slices.Concat(flags, []string{"-" + recordFlag + "=" + record}, analyzerFlags(f.enabled), s.patterns)
		findings, missing, err = vetOnce(ctx, args, dir, list, w)
		if err != nil || len(missing) == 0 {
			return findings, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond): // the other run stores the findings
		}
	}
	return nil, unprinted(missing)
}

// unprinted returns the error that go vet has printed nothing of some units.
func unprinted(units []string) error {
	first, _, _ := strings.Cut(slices.Min(units), " ")
	others := ""
	if n := len(units) - 1; n > 0 {
		others = fmt.Sprintf(" and of %d more", n)
	}
	return fmt.Errorf("go vet prints nothing of %s%s, so not all was checked: if it is the same again, run "+
		"go clean -cache", first, others)
}

// vetOnce runs go vet with this program as its tool. It returns the findings in the units
// that list returns, and the units that go vet has printed nothing of.
func vetOnce(ctx context.Context, args []string, dir string, list func() (contents, error),
	w *watch) (findings []finding, missing []string, err error) {
	tool, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	// With -trimpath the go command would print findings of another copy of the module,
	// with the paths of that copy.
	args = slices.Concat([]string{"vet", "-json", "-vettool=" + tool, "-trimpath=false"}, args)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = 5 * time.Second
	if w.wanted() {
		cmd.Env = append(cmd.Environ(), announceVariable+"=1")
	}
	w.start()
	cmd.Stderr = &lineWriter{line: w.line}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	listed, listErr := list()
	units := map[string]bool{} // whether go vet has printed it
	for _, id := range listed.units {
		units[id] = false
	}
	findings, err = decodeVet(stdout, units, w)
	if err != nil {
		_, _ = io.Copy(io.Discard, stdout) // or go vet would wait
	}
	if waited := cmd.Wait(); waited != nil {
		return nil, nil, cmp.Or(w.err(), waited)
	}
	for id, printed := range units {
		if !printed {
			missing = append(missing, id)
		}
	}
	return findings, missing, cmp.Or(err, listErr)
}

// interrupt ends a process as Ctrl-C does, or at once where that cannot be done.
func interrupt(p *os.Process) error {
	if p.Signal(os.Interrupt) == nil {
		return nil
	}
	return p.Kill()
}

// analyzerFlags returns the flags with which the analyzers report all findings. So
// the build cache has them, whichever the user selects.
func analyzerFlags(enabled []string) []string {
	var ids []string
	for _, r := range allRules() {
		// Whether a rule about policies only informs may depend on the policy. Then only the
		// analyzer knows.
		if informs(r.ID) || rules.ByID(r.ID) != nil && slices.Contains(enabled, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	name := lint.PolicyLiteral.Name
	return []string{"-" + name + ".enable=" + strings.Join(ids, ","), "-" + name + ".confidence=" + lint.Named.String()}
}

// decodeVet reads the output of go vet -json: an object for each unit, with the results of
// the analyzers. It returns the findings of the given units, and sets the value of those
// that it has read. The tool prints others, whose facts were needed.
func decodeVet(r io.Reader, units map[string]bool, w *watch) (findings []finding, err error) {
	var errs []string
	for decoder := json.NewDecoder(r); ; {
		var printed map[string]map[string]json.RawMessage
		if err := decoder.Decode(&printed); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("output of go vet: %w; if it is the same again, run go clean -cache", err)
		}
		for id, analyzers := range printed {
			unit := unitOf(analyzers[unitMark.Name])
			if read, selected := units[unit]; read || !selected {
				continue
			}
			units[unit] = true
			w.packageDone()
			delete(analyzers, unitMark.Name)
			for _, result := range analyzers {
				list, err := decodeResult(result)
				if err != nil {
					errs = append(errs, id+": "+err.Error())
				}
				findings = append(findings, list...)
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.New(slices.Min(errs))
	}
	return findings, nil
}

// unitOf returns what unitMark has reported, or "".
func unitOf(result json.RawMessage) string {
	var marks []struct{ Message string }
	if json.Unmarshal(result, &marks) != nil || len(marks) != 1 {
		return ""
	}
	return marks[0].Message
}

// decodeResult reads the result of an analyzer: a list of diagnostics or an error.
func decodeResult(result json.RawMessage) (findings []finding, err error) {
	if bytes.HasPrefix(result, []byte("{")) {
		var failure struct{ Error string }
		if err := json.Unmarshal(result, &failure); err != nil {
			return nil, err
		}
		return nil, errors.New(failure.Error)
	}
	var list []struct {
		Category, Posn, End, Message string

		SuggestedFixes []struct {
			Edits []struct {
				Filename   string
				Start, End int
				New        string
			}
		} `json:"suggested_fixes"`
	}
	if err := json.Unmarshal(result, &list); err != nil {
		return nil, err
	}
	for _, d := range list {
		f := finding{at: position(d.Posn), rule: d.Category, severity: severityOf(d.Category)}
		f.text, f.evidence = textOf(analysis.Diagnostic{Category: d.Category, Message: d.Message})
		if d.End != d.Posn { // equal if the end is not known
			f.end = position(d.End)
		}
		if len(d.SuggestedFixes) > 0 {
			for _, e := range d.SuggestedFixes[0].Edits {
				f.edits = append(f.edits, edit{e.Filename, e.Start, e.End, e.New})
			}
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// textOf returns the message of a diagnostic without its rule and its evidence, which
// have columns of their own. Further rules are kept.
func textOf(d analysis.Diagnostic) (string, lint.Evidence) {
	text, rules, evidence := lint.Parse(d)
	if len(rules) > 1 {
		text += " (see also " + strings.Join(rules[1:], ", ") + ")"
	}
	return text, evidence
}

// position parses the text of a position: file:line:column, file:line or file.
func position(text string) (at token.Position) {
	var numbers []int
	for len(numbers) < 2 {
		i := strings.LastIndexByte(text, ':')
		n, err := strconv.Atoi(text[i+1:])
		if i < 0 || err != nil {
			break
		}
		text, numbers = text[:i], append(numbers, n)
	}
	at.Filename = text
	switch len(numbers) {
	case 1:
		at.Line = numbers[0]
	case 2:
		at.Line, at.Column = numbers[1], numbers[0]
	}
	return at
}

// A lineWriter passes on complete lines, without their end.
type lineWriter struct {
	line    func(string)
	partial []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.partial = append(w.partial, p...)
	for {
		line, rest, ok := bytes.Cut(w.partial, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		w.line(string(line))
		w.partial = rest
	}
}
