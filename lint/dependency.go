package lint

import (
	"regexp"

	"golang.org/x/tools/go/analysis"
)

// Dependencies makes the analyzers also analyze the modules that the main module
// requires. By default, the analyzers skip these modules. Tables describe the functions
// of known modules, and a driver that asks for facts about all imported packages would
// have to analyze their source code. Programs that choose the packages themselves set
// Dependencies before they run the suite.
var Dependencies bool

// isDependency reports whether a package does not belong to the user's own source code. That is
// a package of the standard library, whose retries are not worth a fact, or of a module that is
// neither a main module nor replaced by a local folder.
func isDependency(pass *analysis.Pass) bool {
	m := pass.Module
	switch {
	case m == nil || m.Path == "":
		return standard.MatchString(pass.Pkg.Path())
	case Dependencies || m.Main || m.Version == "":
		return false
	}
	return m.Replace == nil || m.Replace.Version != ""
}

var standard = regexp.MustCompile(
	`^(archive|bufio|bytes|cmd|cmp|compress|container|context|crypto|database|debug|embed|encoding|errors|expvar|flag|fmt|go|hash|html|image|index|internal|io|iter|log|maps|math|mime|net|os|path|plugin|reflect|regexp|runtime|slices|sort|strconv|strings|structs|sync|syscall|testing|text|time|unicode|unique|unsafe|vendor|weak)(/|$)`)
