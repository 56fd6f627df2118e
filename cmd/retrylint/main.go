// Retrylint reports retries that do harm: in Go code, and in policies written
// as retry.Policy literals.
//
// Usage: see retrylint help. It runs by hand, and as go vet -vettool. The exit
// status is 0 when nothing was found, 1 when something was, and 2 when retrylint
// was misused or a package could not be loaded.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/retrygen/retrygen/lint"
	"github.com/retrygen/retrygen/policy/rules"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// calledByVet recognises the three forms in which go vet calls its tool.
func calledByVet(args []string) bool {
	last := ""
	if len(args) > 0 {
		last = args[len(args)-1]
	}
	return last == "-V=full" || last == "-flags" || strings.HasSuffix(last, ".cfg")
}

const usage = `retrylint reports retries that do harm.

usage: retrylint [flags] [packages] [policy files]
       go vet -vettool=$(which retrylint) [packages]

It checks the packages (./... if nothing is named) with their tests, and policy
files: what ends in .yaml or .yml.

  RL101  a hand-written retry that nothing ends
  RL102  a wait between attempts that ignores a context
  RL103  a remote call that is tried again at once
  RL104  the end of a context, retried for ever
  RL105  a bound that can never be reached
  RL106  a budget that each attempt makes anew
  RL107  a delay that overflows after many attempts
  RL109  giving up that reads as success
  RL110  a poll that nothing but the answer ends (with -enable)
  RL112  a goroutine that nobody can stop (with -enable)
  RL113  a function that calls itself after failures
  RL201  a library or helper that retries for ever
  RL202  the same where a context could end it
  RL204  a retrying client of which only the inner client is used
  RL205  a request body that the first attempt consumes
  RL207  a duration without a unit
  RL208  a backoff with state that several calls share
  RL209  settings of a backoff of which one undoes another
  RL301  an inner context timeout that exceeds the outer one
  RL302  retries that their own deadline cuts short
  RL304  attempts that share the deadline of one
  RL306  a defer in a retry
  RL401  retries of retries that multiply
  RL402  a loop around a generated wrapper
  RL403  a retried operation that may take effect twice (with -enable)
  RL501  a wrapper that is given no context although there is one
  RL502  generated code that was edited
  RL504  a wrapper whose error is dropped
  RL507  a call that goes past its generated wrapper
  P…     a retry.Policy literal that breaks a rule of policy files

flags:
  -C dir          run in dir
  -baseline file  leave out the findings of file; write it if it is not there
  -diff           show what -fix would change, and change nothing
  -disable ids    leave out these rules: RL102,RL103
  -enable ids     report these rules too, which only inform: RL110,RL112,RL403,P302,P303
  -explain id     tell what a rule is about, with an example
  -fix            fix what can be fixed without changing more than cancellation,
                  overflows, and bounds that never end anything
  -github         write the findings as annotations of GitHub
  -json           write the findings as one JSON array
  -sarif file     write the findings as SARIF too; - writes nothing else, to standard output
  -tags t         build tags, as for go build
  -tests=false    leave the tests out
  -version        print the version

A finding is suppressed by a comment on its line or the line above:
  //retrylint:ignore RL101 why the code is right

exit status: 0 nothing found, 1 something found, 2 misused or failed
`

const (
	clean  = 0
	found  = 1
	failed = 2
)

func run(args []string, stdout, stderr io.Writer) int {
	if calledByVet(args) {
		debug.SetGCPercent(400)         // it ends before that costs memory
		unitchecker.Main(lint.Suite...) // reads os.Args and does not return
	}
	flags := flag.NewFlagSet("retrylint", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var config checkConfig
	flags.StringVar(&config.dir, "C", ".", "")
	flags.StringVar(&config.tags, "tags", "", "")
	flags.BoolVar(&config.tests, "tests", true, "")
	flags.BoolVar(&config.fix, "fix", false, "")
	flags.BoolVar(&config.diff, "diff", false, "")
	flags.BoolVar(&config.json, "json", false, "")
	flags.BoolVar(&config.github, "github", false, "")
	flags.StringVar(&config.disable, "disable", "", "")
	flags.StringVar(&config.baseline, "baseline", "", "")
	enable := flags.String("enable", "", "")
	flags.StringVar(&config.sarif, "sarif", "", "")
	id := flags.String("explain", "", "")
	version := flags.Bool("version", false, "")
	if len(args) == 1 && args[0] == "help" {
		args = []string{"-help"}
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, usage)
			return clean
		}
		fmt.Fprintf(stderr, "retrylint: %v: retrylint help lists the flags\n", err)
		return failed
	}
	if *version {
		fmt.Fprintln(stdout, "retrylint", versionOf())
		return clean
	}
	if *id != "" {
		return explain(*id, stdout, stderr)
	}
	for _, id := range splitIDs(config.disable + "," + *enable) {
		if lint.AnalyzerOf(id) == nil && rules.ByID(id) == nil {
			fmt.Fprintf(stderr, "retrylint: there is no rule %q: retrylint help lists them\n", id)
			return failed
		}
	}
	if err := lint.PolicyLiteral.Flags.Set("enable", strings.Join(splitIDs(*enable), ",")); err != nil {
		fmt.Fprintf(stderr, "retrylint: %v\n", err)
		return failed
	}
	if config.json && (config.github || config.sarif == "-") || config.github && config.sarif == "-" {
		fmt.Fprintln(stderr, "retrylint: -json, -github and -sarif - are each the whole output: choose one")
		return failed
	}
	for _, arg := range flags.Args() {
		if strings.HasPrefix(arg, "-") {
			fmt.Fprintf(stderr, "retrylint: %s stands behind %s: flags come first\n", arg, flags.Arg(0))
			return failed
		}
	}
	config.args = flags.Args()
	n, err := check(config, stdout)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, err)
		return failed
	case n > 0:
		return found
	}
	return clean
}

// versionOf returns the version of the module that this binary was built from.
func versionOf() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func explain(id string, stdout, stderr io.Writer) int {
	if a := lint.AnalyzerOf(id); a != nil {
		page := strings.TrimSuffix(path.Base(a.URL), ".md")
		if page != id {
			fmt.Fprintf(stdout, "%s: told with %s, which says of it:\n\n", id, page)
			for paragraph := range strings.SplitSeq(a.Doc, "\n\n") {
				if strings.Contains(paragraph, id) {
					fmt.Fprintf(stdout, "%s\n\n", paragraph)
				}
			}
		}
		fmt.Fprintf(stdout, "%s: %s\n", page, a.Doc)
		return clean
	}
	if r := rules.ByID(id); r != nil {
		fmt.Fprint(stdout, r.Explain())
		return clean
	}
	fmt.Fprintf(stderr, "retrylint: there is no rule %q: retrylint help lists them\n", id)
	return failed
}
