package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/filetree"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// A source is a file to check.
type source struct {
	name  string
	named bool // as an argument; else it is one of the files of a folder
}

// A selector says which files are checked.
type selector struct {
	lister filetree.Lister
	from   kindFlag
}

// sources returns the files that arguments name: files, folders and patterns. walked
// reports whether some of them are files of folders, and unread names folders that cannot
// be read.
func (s *selector) sources(args []string) (list []source, walked bool, unread, err error) {
	seen := map[string]bool{}
	for _, arg := range args {
		files, below, err := s.files(arg)
		switch {
		case err != nil && len(files) == 0:
			return nil, false, nil, err
		case err != nil:
			unread = errors.Join(unread, err)
		}
		walked = walked || below
		for _, name := range files {
			if below && !mayHavePolicies(name) || seen[name] {
				continue
			}
			seen[name] = true
			list = append(list, source{name, !below})
		}
	}
	return list, walked, unread, nil
}

// files returns the files of one argument. below reports whether they are files of
// folders. It may return both files and an error, which names folders that cannot be read.
func (s *selector) files(arg string) (files []string, below bool, err error) {
	info, err := os.Stat(arg)
	switch {
	case arg == "-":
		return []string{arg}, false, nil
	case err == nil && info.IsDir():
		if s.from.kind != nil {
			return nil, false, fmt.Errorf("-from %s is the kind of single files, and %s is a folder: name its files",
				s.from.kind.Name, arg)
		}
		files, err = s.lister.Below(arg)
		return files, true, err
	case err != nil && filetree.IsPattern(arg):
		files, err = s.lister.Matching(arg)
		return files, s.from.kind == nil, err
	}
	return []string{arg}, false, err
}

// mayHavePolicies reports whether the name of a file in a folder is one of a format
// that has policies.
func mayHavePolicies(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".jsonc", ".properties", ".tf", ".conf", ".cfg"},
		filepath.Ext(name))
}

// A tally holds what a check has found.
type tally struct {
	problems []policy.Problem
	sources  map[string][]byte // texts of files with problems, by name
	own      []string          // policy files of retrygen

	patches patches // of Kustomize

	walked   bool // files of folders were checked
	files    int
	policies int
	systems  map[string]bool
	unread   int // files of folders that cannot be read as a whole

	failed error // names the folders, and the files in folders, that could not be opened
}

// check checks files, folders and patterns.
func (c *checker) check(args []string, stderr io.Writer) (*tally, error) {
	progress := cli.NewProgress("retrygen", stderr)
	defer progress.End()
	progress.Step("looking for files")
	list, walked, unread, err := c.sources(args)
	if err != nil {
		return nil, err
	}
	t := &tally{
		sources: map[string][]byte{}, systems: map[string]bool{}, patches: patches{}, walked: walked, failed: unread,
	}
	for _, s := range list {
		progress.Step("checking " + s.name)
		name, text, err := readFile(s.name)
		switch {
		case err != nil && s.named:
			return nil, err
		case err != nil:
			t.failed = errors.Join(t.failed, err)
			continue
		}
		found := len(t.problems)
		note := t.add(source{name, s.named}, text, c.from.kind)
		if len(t.problems) > found {
			t.sources[name] = text
		}
		if note != "" {
			progress.Clear()
			fmt.Fprintf(stderr, "retrygen: %s: note: %s\n", name, note)
		}
	}
	return t, nil
}

// add checks one file. For a file that is named and has nothing to check, it returns the
// reason.
func (t *tally) add(s source, text []byte, from *foreign.Kind) (note string) {
	t.files++
	if from == nil && isOwn(s.name, text) {
		t.own = append(t.own, s.name)
		file, problems, _ := policy.Read(s.name, text)
		t.problems = append(t.problems, problems...)
		t.systems["retrygen"] = true
		if file != nil {
			t.policies += len(file.Policies)
		}
		return ""
	}
	if !s.named && !foreign.MayHavePolicies(text) {
		return ""
	}
	f, problems := foreign.Check(s.name, text, foreign.Options{From: from, Patch: t.patches.of(s.name)})
	t.problems = append(t.problems, problems...)
	t.policies += len(f.Policies)
	for _, k := range f.Kinds {
		t.systems[k.Name] = true
	}
	switch {
	case len(f.Unread) > 0 && (!s.named || f.Template):
		t.unread++
		for _, p := range f.Unread { // it may have nothing to do with retries
			p.Severity = rules.Info
			t.problems = append(t.problems, p)
		}
		if s.named && len(f.Kinds) == 0 {
			return f.Unread[0].Text
		}
	case len(f.Unread) > 0:
		t.problems = append(t.problems, f.Unread...)
	case !s.named || len(policy.AtLeast(rules.Warning, problems)) > 0:
	case len(f.Kinds) == 0:
		return "no retry policy of a known kind is here; a policy file of retrygen has version: 1 and policies"
	case len(f.Policies) == 0:
		return "no policy that retries is here"
	}
	return ""
}

// summarize prints what has been checked, if that was more than named files, and the
// number of problems.
func (t *tally) summarize(stderr io.Writer) {
	if !t.walked {
		summarize(stderr, t.problems)
		return
	}
	parts := []string{counted(t.files, "file"), "no policy"}
	if t.policies > 0 {
		parts[1] = counted(t.policies, "policy") + " of " + counted(len(t.systems), "system")
	}
	if t.unread > 0 {
		parts = append(parts, counted(t.unread, "file")+" not read")
	}
	if found := policy.Summary(t.problems); found != "" {
		parts = append(parts, found)
	} else {
		parts = append(parts, "no problem")
	}
	fmt.Fprintln(stderr, "retrygen:", strings.Join(parts, ", "))
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " " + noun
}

// ownWords matches a line that a policy file has, even one with mistakes.
var ownWords = regexp.MustCompile(`(?m)^(version: *1|policies:|bind:)`)

// isOwn reports whether a file is a policy file of retrygen: its name says so, or its
// content. A file with the name that is misspelled may also be one of another program.
func isOwn(name string, text []byte) bool {
	base := filepath.Base(name)
	return base == gen.SourceName || base == gen.Misnamed && ownWords.Match(text) || policy.Recognize(text)
}

// ownFiles returns a file, or the policy files of retrygen below a folder. It is an error
// if there is none.
func ownFiles(arg string) (files []string, err error) {
	all, below, err := new(selector).files(arg)
	if err != nil {
		return nil, err
	}
	if !below {
		return all, nil
	}
	for _, name := range all {
		if !mayHavePolicies(name) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if isOwn(name, text) {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no %s in %s: retrygen init writes one", gen.SourceName, arg)
	}
	return files, nil
}
