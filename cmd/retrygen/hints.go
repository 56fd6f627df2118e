package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/policy"
)

// module is the path of this module, which generated code imports.
const module = "github.com/retrygen/retrygen"

// withHint adds a hint to an error if the arguments look like arguments of another
// command.
func withHint(err error, patterns []string) error {
	if e, ok := errors.AsType[*gen.NoPackageError](err); ok && !e.Folder && !strings.Contains(e.Path, "/") {
		instead := "retrygen help lists the commands"
		if explained(e.Path) {
			instead = "run retrygen explain " + e.Path
		}
		return fmt.Errorf("there is no command, folder or package %s: %s", e.Path, instead)
	}
	_, none := errors.AsType[*gen.NoPolicyError](err)
	for _, arg := range patterns {
		if none && cli.LooksLikeFolder(arg) {
			return fmt.Errorf("no package has the path %s: for the folder write ./%[1]s", arg)
		}
		_, missing := os.Stat(arg)
		if missing == nil && (strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")) {
			return fmt.Errorf("%w; to check the file alone, run retrygen check %s", err, arg)
		}
	}
	return err
}

// explained reports whether the command explain describes name: it is a rule, or a
// policy in the current folder.
func explained(name string) bool {
	text, _ := os.ReadFile(gen.SourceName) // nil: there is none
	file, _, _ := policy.Read(gen.SourceName, text)
	return policy.RuleByID(strings.ToUpper(name)) != nil || file.Policy(name) != nil
}

// misnamed returns the path of retry.yml in a folder, or "" if there is none.
func misnamed(dir string) string {
	name := filepath.Join(dir, gen.Misnamed)
	if _, err := os.Lstat(name); err != nil {
		return ""
	}
	return name
}

// printMisnamed prints a hint for each file that is named retry.yml instead of
// retry.yaml.
func printMisnamed(stderr io.Writer, files []string) (found bool) {
	for _, name := range files {
		if filepath.Base(name) == gen.Misnamed {
			found = true
			fmt.Fprintf(stderr, "retrygen: %s generates nothing: rename it to %s\n", name, gen.SourceName)
		}
	}
	return found
}

// required matches a go.mod that requires this module.
var required = regexp.MustCompile(`(?m)\b` + regexp.QuoteMeta(module) + `\s`)

// printRequirement warns if code was generated into a module that does not require the
// runtime, or whose vendor folder lacks a part of it, so that the code does not compile.
func printRequirement(w io.Writer, result *gen.Result) {
	warned := map[string]bool{} // by the go.mod
	for _, f := range result.Files {
		name := filepath.Join(result.Dir, f.Path)
		if filepath.IsAbs(f.Path) {
			name = f.Path
		}
		mod, text := upwards(filepath.Dir(name), "go.mod")
		if work, _ := upwards(filepath.Dir(name), "go.work"); f.New == nil || mod == "" || work != "" || warned[mod] {
			continue
		}
		var lack string
		switch {
		case !required.Match(text):
			lack = "go.mod does not require its runtime: run go get " + module
		case !vendored(filepath.Join(filepath.Dir(mod), "vendor"), f.New):
			lack = "the vendor folder lacks a part of its runtime: run go mod vendor"
		default:
			continue
		}
		warned[mod] = true
		fmt.Fprintf(w, "retrygen: the generated code does not compile yet: %s\n", lack)
	}
}

// vendored reports whether a vendor folder contains the packages of this module that a
// generated file imports. It also returns true if the go command does not use the folder.
func vendored(folder string, code []byte) bool {
	flags := os.Getenv("GOFLAGS")
	if strings.Contains(flags, "-mod=") && !strings.Contains(flags, "-mod=vendor") {
		return true
	}
	if _, err := os.Stat(filepath.Join(folder, "modules.txt")); err != nil {
		return true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", code, parser.ImportsOnly)
	if err != nil {
		return true
	}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !strings.HasPrefix(path, module+"/") {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(path))); err != nil {
			return false
		}
	}
	return true
}

// upwards returns the nearest file of that name in dir or a folder that contains
// dir, and its text.
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
