package gen

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/atomicfile"
	"github.com/retrygen/retrygen/policy"
)

// A runCache has the record of an earlier run, and reports whether anything has
// changed since then, without running the go command. It compares the content of
// all files that the run read and wrote, never only their times. It records
// nothing if some inputs of the run are not known.
type runCache struct {
	config      Config
	sources     []string // policy files
	began       time.Time
	file        string // path of the record; empty if the run cannot be recorded
	environment string // see environment
}

// A record describes a run.
type record struct {
	Dirs     []string         // folders whose Go files the run depended on
	Sum      string           // hash of these, of the policy files and of the outputs
	Problems []policy.Problem // warnings, which did not prevent generating
}

// openCache returns the cache for a run that begins now.
func openCache(config Config, found found) *runCache {
	m := &runCache{config: config, sources: found.sources, began: time.Now()}
	// Patterns that are not folders need the go command.
	if config.Cache == "" || len(found.stale) > 0 ||
		slices.ContainsFunc(config.Patterns, func(p string) bool { return !isPath(p) }) {
		return m
	}
	var ok bool
	if m.environment, ok = environment(); !ok {
		return m
	}
	key := fmt.Appendf(nil, "%q %q %q %t %t %s", config.Dir, config.Patterns, config.Tags, config.Tests, config.Faults,
		m.environment)
	m.file = filepath.Join(config.Cache, fmt.Sprintf("%x.json", sha256.Sum256(key)))
	return m
}

// unchanged returns the record of an earlier run, and whether all its inputs and
// outputs are unchanged.
func (m *runCache) unchanged() (r record, ok bool) {
	if m.file == "" {
		return r, false
	}
	text, err := os.ReadFile(m.file)
	if err != nil || json.Unmarshal(text, &r) != nil {
		return r, false
	}
	sum, _, err := m.sum(r.Dirs, nil)
	return r, err == nil && sum == r.Sum
}

// save records a run that depended on dirs and wrote, or would write, the
// outputs. It ignores errors: the next run then loads the packages again.
func (m *runCache) save(dirs []string, problems []policy.Problem, outputs []Output) {
	main, extra := split(outputs)
	if m.file == "" || len(main) != len(m.sources) || slices.ContainsFunc(extra, Output.Changed) {
		return
	}
	outputs = main
	sum, newest, err := m.sum(dirs, outputs)
	// A file that was saved during the run, or less than a second before, may
	// differ from what the run has read.
	if err != nil || newest.After(m.began.Add(-time.Second)) {
		return
	}
	text, err := json.Marshal(record{dirs, sum, problems})
	if err != nil || os.MkdirAll(m.config.Cache, 0o777) != nil {
		return
	}
	if atomicfile.Write(m.file, text) == nil {
		removeOldRecords(m.config.Cache)
	}
}

// split returns the outputs that every run has, and those that are generated on demand.
// The latter count as files that a run reads.
func split(outputs []Output) (main, extra []Output) {
	for _, o := range outputs {
		if filepath.Base(o.Path) == OutputName {
			main = append(main, o)
		} else {
			extra = append(extra, o)
		}
	}
	return main, extra
}

// removeOldRecords removes records that were not written for 30 days.
func removeOldRecords(cache string) {
	old, _ := filepath.Glob(filepath.Join(cache, "*.json"))
	for _, name := range old {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > 30*24*time.Hour {
			os.Remove(name)
		}
	}
}

// sum returns the hash of all files that a run reads from dirs, and of its
// outputs: the given ones, or those on disk if outputs is nil. newest is the
// latest modification time of the files read.
func (m *runCache) sum(dirs []string, outputs []Output) (sum string, newest time.Time, err error) {
	s := fileHash{hash: sha256.New()}
	s.add("facts", []byte(m.environment))
	read := map[string]bool{}
	served := map[string]bool{}
	for i, source := range m.sources {
		dir := filepath.Dir(source)
		served[dir] = true
		s.file(source)
		for _, name := range outputNames {
			if linksOutside(filepath.Join(dir, name)) {
				return "", newest, errOutside // which a run reports
			}
		}
		if outputs == nil {
			text, err := os.ReadFile(filepath.Join(dir, OutputName))
			if err != nil {
				return "", newest, err
			}
			s.add(OutputName, lineFeeds(text))
		} else {
			s.add(OutputName, outputs[i].New)
		}
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", newest, err
		}
		read[dir] = true
		for _, e := range entries {
			if name := e.Name(); strings.HasSuffix(name, ".go") && !(served[dir] && name == OutputName) {
				s.file(filepath.Join(dir, name))
			}
		}
	}
	for _, name := range moduleFiles(m.config.Dir, read) {
		s.file(name)
	}
	return fmt.Sprintf("%x", s.hash.Sum(nil)), s.newest, s.err
}

// ancestors returns dirs and all folders above them, sorted.
func ancestors(dirs map[string]bool) []string {
	all := map[string]bool{}
	for dir := range dirs {
		for !all[dir] {
			all[dir] = true
			dir = filepath.Dir(dir)
		}
	}
	list := make([]string, 0, len(all))
	for dir := range all {
		list = append(list, dir)
	}
	slices.Sort(list)
	return list
}

// A fileHash is a hash of texts and their names.
type fileHash struct {
	hash   hash.Hash
	newest time.Time
	err    error
}

// add adds a text.
func (s *fileHash) add(name string, text []byte) {
	fmt.Fprintf(s.hash, "%q %d\n", name, len(text))
	s.hash.Write(text)
}

// file adds the text of a file, if the file exists.
func (s *fileHash) file(name string) {
	text, err := os.ReadFile(name)
	switch {
	case os.IsNotExist(err):
		return
	case err != nil:
		s.err = err
		return
	}
	if info, err := os.Stat(name); err == nil && info.ModTime().After(s.newest) {
		s.newest = info.ModTime()
	}
	s.add(name, text)
}
