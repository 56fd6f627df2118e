// Release prepares a release. All published modules of this repository get the same
// version and are tagged on the same commit.
//
//	go run . [-tag] v0.1.0     in contrib/release, on a clean checkout
//	go run . -licenses         writes docs/licenses.md
//
// During development, nested modules find each other through replace directives, but the
// go command does not install programs whose go.mod contains one. The release commit
// contains versions and checksums instead. Release creates this commit in a separate
// folder, outside the branch. It serves all modules from there as a module proxy would,
// and uses them to install the programs and build the packages. With -tag, it also tags
// the commit and prints what to push.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
)

// released are the folders of the modules that are released, each after those that it
// requires. programs are the folders of the commands among their packages.
var (
	released = []string{
		".", "contrib/sqlite", "contrib/postgres", "contrib/redis", "contrib/otel", "contrib/prometheus",
		"contrib/golangci", "cmd/retryctl",
	}
	programs = []string{"cmd/retrygen", "cmd/retrylint", "cmd/retryctl"}
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	tag := flag.Bool("tag", false, "tag the commit of the release in this repository")
	list := flag.Bool("licenses", false, "write docs/licenses.md")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run . [-tag] VERSION, or go run . -licenses")
		flag.PrintDefaults()
	}
	flag.Parse()
	root, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	switch {
	case err != nil:
	case *list && flag.NArg() == 0:
		err = writeLicenses(ctx, root)
	case !*list && flag.NArg() == 1:
		r := release{root: root, version: flag.Arg(0), modules: released, programs: programs}
		err = r.run(ctx, *tag)
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// A release is one version of some modules of a repository.
type release struct {
	root     string // of the repository
	version  string
	modules  []string // folders, in the order of what they require
	programs []string // folders of commands

	tree  string // the checkout that is changed
	proxy string // the folder that serves the modules
}

// run makes the commit, tries it, and tags it.
func (r *release) run(ctx context.Context, tag bool) (err error) {
	if err := r.check(ctx); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	r.tree, r.proxy = filepath.Join(work, "tree"), filepath.Join(work, "proxy")
	if _, err = output(ctx, r.root, "git", "worktree", "add", "-q", "--detach", r.tree); err != nil {
		return err
	}
	defer func() {
		_, removed := output(context.WithoutCancel(ctx), r.root, "git", "worktree", "remove", "--force", r.tree)
		err = errors.Join(err, removed, removeAll(work))
	}()
	for _, dir := range r.modules {
		if err := r.module(dir); err != nil {
			return fmt.Errorf("module %s: %w", dir, err)
		}
	}
	if err := r.try(ctx, filepath.Join(work, "try")); err != nil {
		return err
	}
	fmt.Printf("%s: %d modules can be required, and %d programs can be installed\n", r.version, len(r.modules),
		len(r.programs))
	if !tag {
		fmt.Println("nothing is tagged: add -tag")
		return nil
	}
	return r.tag(ctx)
}

// check returns why the checkout cannot be released.
func (r *release) check(ctx context.Context) error {
	if semver.Canonical(r.version) != r.version || semver.Build(r.version) != "" {
		return fmt.Errorf("%q is not a version such as v0.1.0", r.version)
	}
	if changes, err := output(ctx, r.root, "git", "status", "--porcelain"); err != nil || changes != "" {
		return errors.Join(err, fmt.Errorf("the checkout has changes:\n%s", changes))
	}
	log, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(log), "\n## "+r.version+" ") && !strings.Contains(string(log), "\n## "+r.version+"\n") {
		return fmt.Errorf("CHANGELOG.md has no section %s", r.version)
	}
	for _, name := range r.tags() {
		if _, err := output(ctx, r.root, "git", "rev-parse", "-q", "--verify", "refs/tags/"+name); err == nil {
			return fmt.Errorf("there is a tag %s already", name)
		}
	}
	return nil
}

// tags returns the names of the tags of all modules.
func (r *release) tags() (names []string) {
	for _, dir := range r.modules {
		if dir == "." {
			names = append(names, r.version)
		} else {
			names = append(names, dir+"/"+r.version)
		}
	}
	return names
}

// tag commits what has changed and tags the commit.
func (r *release) tag(ctx context.Context) error {
	if _, err := output(ctx, r.tree, "git", "commit", "-q", "-a", "-m", "release "+r.version); err != nil {
		return err
	}
	for _, name := range r.tags() {
		if _, err := output(ctx, r.tree, "git", "tag", "-a", "-m", name, name); err != nil {
			return err
		}
	}
	fmt.Println("tagged. To publish:\n\n  git push origin", strings.Join(r.tags(), " "))
	return nil
}
