// Package golangci is retrylint as a module plugin of golangci-lint v2.
//
// The README shows two files. From .custom-gcl.yml, the command golangci-lint custom
// builds a golangci-lint that contains the plugin. .golangci.yml enables the plugin. For
// its settings in this file, see [Settings].
package golangci

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/foreign"
	"github.com/retrygen/retrygen/lint"
)

// init registers the plugin, as golangci-lint requires. Service configs are checked too:
// golangci-lint has the YAML parser that this takes anyway.
func init() {
	register.Plugin("retrylint", New)
	lint.CheckServiceConfig = foreign.CheckGRPC
}

// Settings contains the plugin's settings in .golangci.yml.
type Settings struct {
	Disable []string `json:"disable"` // ids of rules that are not reported
	Enable  []string `json:"enable"`  // ids of rules to report that are off by default

	// Confidence is the weakest evidence to report: proven, library (the default) or named.
	Confidence string `json:"confidence"`
}

type plugin struct{ settings Settings }

// New returns the plugin. settings is the decoded value of the key settings. If it does
// not have the form of [Settings], New returns an error.
func New(settings any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[Settings](settings)
	return plugin{s}, err
}

// GetLoadMode requests type information, which facts require.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }

// BuildAnalyzers returns the analyzers of retrylint. They do not report disabled
// rules.
func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	if err := lint.PolicyLiteral.Flags.Set("enable", strings.Join(p.settings.Enable, ",")); err != nil {
		return nil, err
	}
	confidence := cmp.Or(p.settings.Confidence, lint.Library.String())
	if err := lint.PolicyLiteral.Flags.Set("confidence", confidence); err != nil {
		return nil, fmt.Errorf("retrylint: confidence: %w", err)
	}
	if len(p.settings.Disable) == 0 {
		return lint.Suite, nil
	}
	for _, a := range lint.Suite {
		run := a.Run
		a.Run = func(pass *analysis.Pass) (any, error) {
			report := pass.Report
			defer func() { pass.Report = report }()
			pass.Report = func(d analysis.Diagnostic) {
				if !slices.Contains(p.settings.Disable, d.Category) {
					report(d)
				}
			}
			return run(pass)
		}
	}
	return lint.Suite, nil
}
