package lint

import (
	"flag"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// Evidence is the basis of a finding: Named, Library or Proven, in ascending order.
type Evidence = vocab.Evidence

// The kinds of evidence.
const (
	Named   = vocab.Named   // a name, or an assumption about what the program is supposed to do
	Library = vocab.Library // the documented behavior of a known package
	Proven  = vocab.Proven  // the code alone
)

// confidence is the weakest evidence with which a finding is reported.
var confidence = Library

// requestFlags returns the flags that select which findings are reported.
func requestFlags() flag.FlagSet {
	var flags flag.FlagSet
	flags.StringVar(&informing, "enable", "",
		"rules that are off by default, to report too: P302, P303, RL109, RL110, RL114, RL304")
	flags.TextVar(&confidence, "confidence", Library, "weakest evidence to report: proven, library or named")
	return flags
}

// tail returns the end of a message: the ids of the rules, and the evidence unless it is
// Proven.
func tail(rules []string, evidence Evidence) string {
	ids := strings.Join(rules, ", ")
	if evidence != Proven {
		ids += "; " + evidence.String()
	}
	return " (" + ids + ")"
}

// Parse splits the message of a diagnostic of the suite into its text, the ids of its
// rules, and its evidence. The first id is the category of the diagnostic. Messages end
// with the ids and the evidence because go vet and golangci-lint print only the message.
func Parse(d analysis.Diagnostic) (text string, rules []string, evidence Evidence) {
	start := strings.LastIndex(d.Message, " ("+d.Category)
	if start < 0 {
		return d.Message, []string{d.Category}, Proven
	}
	ids, name, marked := strings.Cut(strings.TrimSuffix(d.Message[start+2:], ")"), "; ")
	if evidence = Proven; marked && evidence.UnmarshalText([]byte(name)) != nil {
		return d.Message, []string{d.Category}, Proven
	}
	return d.Message[:start], strings.Split(ids, ", "), evidence
}
