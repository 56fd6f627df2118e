package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/spelling"
)

// module is the one that generated code imports from.
const module = "github.com/retrygen/retrygen"

// meant adds to what stopped a run what its arguments may have been meant for.
func meant(err error, dir string, patterns []string) error {
	for _, arg := range patterns {
		_, missing := os.Stat(filepath.Join(dir, arg))
		isYAML := strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")
		switch command := spelling.Nearest(arg, slices.Sorted(maps.Keys(commands))); {
		case isYAML && missing == nil:
			return fmt.Errorf("%w; to judge the file alone, retrygen check %s", err, arg)
		case arg == patterns[0] && missing != nil && command != "" && !strings.ContainsAny(arg, `./\`):
			return fmt.Errorf("there is no command %s: did you mean %s?", arg, command)
		}
	}
	return err
}

var required = regexp.MustCompile(`(?m)\b` + regexp.QuoteMeta(module) + `\s`)

// requirement tells whoever has code generated into a module that does not
// require the runtime, and so does not compile.
func requirement(w io.Writer, dir string, outputs []gen.Output) {
	told := map[string]bool{}
	for _, f := range outputs {
		name := filepath.Join(dir, f.Path)
		if filepath.IsAbs(f.Path) {
			name = f.Path
		}
		mod, text := upwards(filepath.Dir(name), "go.mod")
		if work, _ := upwards(filepath.Dir(name), "go.work"); f.New == nil || mod == "" || work != "" || told[mod] || required.Match(text) {
			continue
		}
		told[mod] = true
		fmt.Fprintf(w, "retrygen: the generated code does not compile yet, since go.mod does not require its runtime: go get %s\n", module)
	}
}

// upwards returns the first file of that name from dir upwards, and its text.
func upwards(dir, name string) (path string, text []byte) {
	dir, err := filepath.Abs(dir)
	for err == nil {
		path := filepath.Join(dir, name)
		if text, err := os.ReadFile(path); err == nil {
			return path, append(bytes.TrimSpace(text), '\n')
		}
		outer := filepath.Dir(dir)
		if outer == dir {
			return "", nil
		}
		dir = outer
	}
	return "", nil
}
