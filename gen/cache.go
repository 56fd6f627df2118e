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

// A memory answers whether anything has changed since an earlier run, without
// the go command. It compares the content of all that the run read and wrote,
// never times alone, and remembers nothing where it could not know everything.
type memory struct {
	config  Config
	sources []string // policy files
	began   time.Time
	file    string // where the record is; empty: not remembered
	facts   string // of the process: what is no file of the packages
}

// A record is what is remembered of a run.
type record struct {
	Dirs     []string         // whose Go files the run depended on
	Sum      string           // of their content, of the policy files, of the outputs
	Problems []policy.Problem // that did not keep it from generating
}

// recollect prepares the memory of a run that begins.
func recollect(config Config, found found) *memory {
	m := &memory{config: config, sources: found.sources, began: time.Now()}
	// A pattern that is not a folder's is the go command's to understand.
	if config.Cache == "" || len(found.stale) > 0 ||
		slices.ContainsFunc(config.Patterns, func(p string) bool { return !isPath(p) }) {
		return m
	}
	var ok bool
	if m.facts, ok = facts(); !ok {
		return m
	}
	key := fmt.Appendf(nil, "%q %q %q %s", config.Dir, config.Patterns, config.Tags, m.facts)
	m.file = filepath.Join(config.Cache, fmt.Sprintf("%x.json", sha256.Sum256(key)))
	return m
}

// unchanged returns the record of an earlier run that wrote what is there, and
// would again.
func (m *memory) unchanged() (r record, ok bool) {
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

// remember records a run that depended on dirs and wrote, or would write, the
// outputs. Failing to is no harm.
func (m *memory) remember(dirs []string, problems []policy.Problem, outputs []Output) {
	if m.file == "" || len(outputs) != len(m.sources) {
		return
	}
	sum, newest, err := m.sum(dirs, outputs)
	// What was saved while the run read, or too shortly before to tell, may not
	// be what the run has read.
	if err != nil || newest.After(m.began.Add(-time.Second)) {
		return
	}
	text, err := json.Marshal(record{dirs, sum, problems})
	if err != nil || os.MkdirAll(m.config.Cache, 0o777) != nil {
		return
	}
	if atomicfile.Write(m.file, text) == nil {
		forget(m.config.Cache)
	}
}

// forget removes records that nobody has renewed for a month.
func forget(cache string) {
	old, _ := filepath.Glob(filepath.Join(cache, "*.json"))
	for _, name := range old {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > 30*24*time.Hour {
			os.Remove(name)
		}
	}
}

// sum returns the sum of all that a run reads from dirs and of its outputs: the
// given ones, or those on the disk. newest is when one of the former was last
// written.
func (m *memory) sum(dirs []string, outputs []Output) (sum string, newest time.Time, err error) {
	s := summer{hash: sha256.New()}
	s.add("facts", []byte(m.facts))
	read := map[string]bool{}
	served := map[string]bool{}
	for i, source := range m.sources {
		dir := filepath.Dir(source)
		served[dir] = true
		s.file(source)
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

// ancestors returns folders with all above them, sorted.
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

// A summer sums up texts with their names.
type summer struct {
	hash   hash.Hash
	newest time.Time
	err    error
}

func (s *summer) add(name string, text []byte) {
	fmt.Fprintf(s.hash, "%q %d\n", name, len(text))
	s.hash.Write(text)
}

// file adds a file; that there is none counts too.
func (s *summer) file(name string) {
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
