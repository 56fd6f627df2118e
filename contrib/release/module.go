package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	modzip "golang.org/x/mod/zip"
)

// output runs a command and returns what it prints, without the space around it.
func output(ctx context.Context, dir string, args ...string) (string, error) {
	return outputIn(ctx, dir, nil, args...)
}

// outputIn does that with more variables in the environment.
func outputIn(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return strings.TrimSpace(string(out)), err
}

// removeAll removes a folder with the read-only files of a module cache.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// module replaces the replace lines of a module by versions with their checksums, and
// serves the module.
func (r *release) module(dir string) error {
	name := filepath.Join(r.tree, dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	mod, err := modfile.Parse(name, text, nil)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, line := range mod.Replace {
		old, by := line.Old, line.New // DropReplace clears the line
		lines, err := r.sums(old.Path)
		if err != nil {
			return fmt.Errorf("replace %s => %s: %w", old.Path, by.Path, err)
		}
		if err := errors.Join(mod.DropReplace(old.Path, old.Version), mod.AddRequire(old.Path, r.version)); err != nil {
			return err
		}
		sums.WriteString(lines)
	}
	mod.Cleanup()
	if text, err = mod.Format(); err != nil {
		return err
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return err
	}
	if err := appendTo(filepath.Join(r.tree, dir, "go.sum"), sums.String()); err != nil {
		return err
	}
	return r.serve(dir, module.Version{Path: mod.Module.Mod.Path, Version: r.version}, text)
}

// appendTo appends text to a file, which need not exist if the text is empty.
func appendTo(name, text string) error {
	if text == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// sums returns the lines of go.sum for a module that is served already.
func (r *release) sums(of string) (string, error) {
	dir, err := r.served(of)
	if err != nil {
		return "", err
	}
	whole, err := dirhash.HashZip(filepath.Join(dir, r.version+".zip"), dirhash.Hash1)
	if err != nil {
		return "", fmt.Errorf("the module is not released before this one: %w", err)
	}
	mod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(dir, r.version+".mod"))
	})
	return fmt.Sprintf("%s %s %s\n%s %s/go.mod %s\n", of, r.version, whole, of, r.version, mod), err
}

// served returns the folder with the versions of a module, as proxies have it.
func (r *release) served(of string) (string, error) {
	escaped, err := module.EscapePath(of)
	return filepath.Join(r.proxy, filepath.FromSlash(escaped), "@v"), err
}

// serve writes what a proxy has of a module.
func (r *release) serve(dir string, m module.Version, mod []byte) error {
	to, err := r.served(m.Path)
	if err != nil {
		return err
	}
	files, err := r.files(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": m.Version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	zip, err := os.Create(filepath.Join(to, m.Version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(modzip.Create(zip, m, files), zip.Close(),
		os.WriteFile(filepath.Join(to, m.Version+".mod"), mod, 0o644),
		os.WriteFile(filepath.Join(to, m.Version+".info"), info, 0o644),
		os.WriteFile(filepath.Join(to, "list"), []byte(m.Version+"\n"), 0o644))
}

// A file is a file of a module in the tree.
type file struct{ name, path string }

func (f file) Path() string                 { return f.path }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.name) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.name) }

// files returns the files of a module: those that git tracks below its folder and that are
// of no other module. The go command gives a module without a license the one of the
// repository.
func (r *release) files(dir string) (files []modzip.File, err error) {
	list, err := output(context.Background(), filepath.Join(r.tree, dir), "git", "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	names := strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
	nested := map[string]bool{}
	for _, name := range names {
		if path.Base(name) == "go.mod" && name != "go.mod" {
			nested[path.Dir(name)] = true
		}
	}
	licensed := false
	for _, name := range names {
		if inside(name, nested) {
			continue
		}
		licensed = licensed || name == "LICENSE"
		one := file{filepath.Join(r.tree, dir, filepath.FromSlash(name)), name}
		if info, err := one.Lstat(); err != nil || !info.Mode().IsRegular() {
			continue // a link
		}
		files = append(files, one)
	}
	if !licensed && dir != "." {
		files = append(files, file{filepath.Join(r.tree, "LICENSE"), "LICENSE"})
	}
	return files, nil
}

// inside reports whether a file is in one of some folders.
func inside(name string, dirs map[string]bool) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}

// try reads the modules as a contributor would. From the folder that serves them, and with a
// module cache of its own, it installs the programs and builds the packages of all
// modules as a consumer would.
func (r *release) try(ctx context.Context, dir string) error {
	proxies, err := r.proxies(ctx)
	if err != nil {
		return err
	}
	root, err := r.path(".")
	if err != nil {
		return err
	}
	env := []string{
		"GOPROXY=" + proxies,
		"GONOSUMDB=" + root + "," + root + "/*", "GOWORK=off", "GOFLAGS=",
		"GOMODCACHE=" + filepath.Join(dir, "mod"), "GOBIN=" + filepath.Join(dir, "bin"),
	}
	consumer := filepath.Join(dir, "consumer")
	if err := os.MkdirAll(consumer, 0o755); err != nil {
		return err
	}
	for _, program := range r.programs {
		if _, err := outputIn(ctx, consumer, env, "go", "install", root+"/"+program+"@"+r.version); err != nil {
			return err
		}
	}
	for _, module := range r.modules { // with the checksums that the commit has
		args := []string{"go", "list", "-mod=readonly", "-deps", "./..."}
		if _, err := outputIn(ctx, filepath.Join(r.tree, module), env, args...); err != nil {
			return err
		}
	}
	mod := "module example.com/consumer\n\ngo 1.26.0\n"
	var all []string
	for _, dir := range r.modules {
		one, err := r.path(dir)
		if err != nil {
			return err
		}
		mod += "\nrequire " + one + " " + r.version
		all = append(all, one+"/...")
	}
	if err := os.WriteFile(filepath.Join(consumer, "go.mod"), []byte(mod+"\n"), 0o644); err != nil {
		return err
	}
	_, err = outputIn(ctx, consumer, append(env, "GOFLAGS=-mod=mod"), append([]string{"go", "build"}, all...)...)
	return err
}

// proxies returns a value for GOPROXY: the folder that serves the modules, then the module
// cache, then the proxies of the user.
func (r *release) proxies(ctx context.Context) (string, error) {
	cache, err := output(ctx, r.root, "go", "env", "GOMODCACHE")
	if err != nil {
		return "", err
	}
	proxies, err := output(ctx, r.root, "go", "env", "GOPROXY")
	return fileURL(r.proxy) + "," + fileURL(filepath.Join(cache, "cache", "download")) + "," + proxies, err
}

func fileURL(dir string) string {
	dir = filepath.ToSlash(dir)
	if !strings.HasPrefix(dir, "/") {
		dir = "/" + dir // of Windows
	}
	return "file://" + dir
}

// path returns the path of the module in a folder.
func (r *release) path(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(r.tree, dir, "go.mod"))
	return modfile.ModulePath(text), err
}
