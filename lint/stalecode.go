package lint

import (
	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/internal/gensum"
)

// StaleCode reports edited generated code (RL502).
var StaleCode = newRule("stalecode", runStaleCode, []string{"RL502"})

func runStaleCode(pass *analysis.Pass, r *report) {
	if !imports(pass, runtimePath) {
		return
	}
	for _, file := range pass.Files {
		if !isOutput(file) {
			continue
		}
		src, err := pass.ReadFile(pass.Fset.File(file.FileStart).Name())
		if err != nil {
			continue // a file that cannot be read is not checked
		}
		if gensum.Edited(src) {
			r.at(file.Name.Pos(), file.Name.End(), Proven, "RL502",
				"this generated file was edited: change the policy file and run retrygen")
		}
	}
}
