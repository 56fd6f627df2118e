package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// A dependency is a module that released packages import.
type dependency struct {
	Path, Version, Dir string
	Main               bool

	license string
	of      []string // folders of modules whose packages import it
}

// writeLicenses writes the page with the licenses of all dependencies.
func writeLicenses(ctx context.Context, root string) error {
	page, err := licenses(ctx, root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs", "licenses.md"), []byte(page), 0o644)
}

// licenses returns the page.
func licenses(ctx context.Context, root string) (string, error) {
	all := map[string]*dependency{}
	for _, dir := range released {
		if err := dependencies(ctx, root, dir, all); err != nil {
			return "", fmt.Errorf("module %s: %w", dir, err)
		}
	}
	var b strings.Builder
	b.WriteString(`# Licenses of dependencies

The core runtime depends on the Go standard library alone. These modules are compiled into programs and into the packages of other folders; what only
tests import is not listed. ` + "`retrygen ui`" + ` also contains [packages of npm](../playground/web/dist/licenses.txt).
` + "`go run . -licenses` in `contrib/release`" + ` writes this page.

| module | version | license | compiled into |
|---|---|---|---|
`)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		d := all[path]
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.Path, d.Version, d.license, strings.Join(d.of, ", "))
	}
	return b.String(), nil
}

// dependencies adds the modules that the packages of the module in dir import.
func dependencies(ctx context.Context, root, dir string, all map[string]*dependency) error {
	const format = `{{with .Module}}{"Path": {{printf "%q" .Path}}, "Version": "{{.Version}}", "Main": {{.Main}}, ` +
		`"Dir": {{printf "%q" .Dir}}}{{end}}`
	text, err := outputIn(ctx, filepath.Join(root, dir), []string{"GOWORK=off"}, "go", "list", "-deps", "-f", format,
		"./...")
	if err != nil {
		return err
	}
	name := dir
	if dir == "." {
		name = "the root"
	}
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var d dependency
		if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if d.Main || strings.HasPrefix(d.Path, "github.com/retrygen/retrygen") {
			continue
		}
		known := all[d.Path]
		if known == nil {
			if d.license, err = licenseOf(d.Dir); err != nil {
				return fmt.Errorf("%s: %w", d.Path, err)
			}
			known = &d
			all[d.Path] = known
		}
		if !slices.Contains(known.of, name) {
			known.of = append(known.of, name)
		}
	}
}

// licenseOf returns the names of the licenses in the folder of a module.
func licenseOf(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var names, files []string
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(upper, "LICEN") && !strings.HasPrefix(upper, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		files = append(files, e.Name())
		for _, m := range licensecheck.Scan(text).Match {
			if !m.IsURL && !slices.Contains(names, m.ID) {
				names = append(names, m.ID)
			}
		}
	}
	switch {
	case len(files) == 0:
		return "", fmt.Errorf("there is no license in %s", dir)
	case len(names) == 0:
		return "one of its own: see its " + strings.Join(files, ", "), nil
	}
	slices.Sort(names)
	return strings.Join(names, " and "), nil
}
