// Package golangci is retrylint as a module plugin of golangci-lint v2.
//
// Build a golangci-lint with it by golangci-lint custom, from .custom-gcl.yml:
//
//	version: v2.5.0
//	plugins:
//	  - module: github.com/retrygen/retrygen/contrib/golangci
//	    version: latest
//
// and switch it on in .golangci.yml:
//
//	linters:
//	  enable: [retrylint]
//	  settings:
//	    custom:
//	      retrylint:
//	        type: module
//	        settings:
//	          disable: [RL103]
//	          enable: [P303]
package golangci

import (
	"slices"
	"strings"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/lint"
)

// golangci-lint finds plugins by what they register as they are imported.
func init() { register.Plugin("retrylint", New) }

// Settings are what .golangci.yml may set.
type Settings struct {
	Disable []string `json:"disable"` // rules that are not reported
	Enable  []string `json:"enable"`  // rules to report that only inform
}

type plugin struct{ settings Settings }

// New returns the plugin with its settings.
func New(settings any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[Settings](settings)
	return plugin{s}, err
}

// GetLoadMode asks for types, and with them for facts.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }

// BuildAnalyzers returns the suite, less the rules that are disabled.
func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	if err := lint.PolicyLiteral.Flags.Set("enable", strings.Join(p.settings.Enable, ",")); err != nil {
		return nil, err
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
