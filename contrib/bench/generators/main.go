// Generators runs retrygen and other Go code generators over the same hundred packages,
// each with a five-method interface, and prints the time and the memory that the
// generators need. The figures include the go commands that the generators run. Each
// generator is also run a second time, when nothing has changed.
//
//	go run .
//
// The program requires Linux, which reports peak memory in kilobytes.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() { os.Exit(run()) }

func run() int {
	runs := flag.Int("runs", 5, "how often each generator is run; the median counts")
	flag.Parse()
	dir, err := os.MkdirTemp("", "generators")
	if err == nil {
		defer os.RemoveAll(dir)
		err = compare(dir, *runs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generators:", err)
		return 2
	}
	return 0
}

const packages = 100

// A generator writes a file named output to each package.
type generator struct {
	name     string
	output   string
	commands func(env) [][]string // to run one after another
}

// env names the folders of the tools and of the packages, and gowrap's template.
type env struct{ bin, shop, template string }

var generators = []generator{
	{"retrygen", "retry_gen.go", func(e env) [][]string { return [][]string{{e.bin + "/retrygen"}} }},
	{"mockery", "mocks_test.go", func(e env) [][]string { return [][]string{{e.bin + "/mockery"}} }},
	{"moq", "moq_test.go", func(e env) [][]string {
		return each(func(p string) []string { return []string{e.bin + "/moq", "-out", p + "/moq_test.go", p, "Store"} })
	}},
	{"gowrap", "gowrap_test.go", func(e env) [][]string {
		return each(func(p string) []string {
			return []string{e.bin + "/gowrap", "gen", "-p", "./" + p, "-i", "Store", "-t", e.template, "-o",
				p + "/gowrap_test.go"}
		})
	}},
}

// each returns a command for each package.
func each(command func(p string) []string) (list [][]string) {
	for i := range packages {
		list = append(list, command(fmt.Sprintf("p%d", i)))
	}
	return list
}

func compare(dir string, runs int) error {
	e := env{bin: filepath.Join(dir, "bin"), shop: filepath.Join(dir, "shop")}
	root, err := goOutput("list", "-m", "-f", "{{.Dir}}", "github.com/retrygen/retrygen")
	if err != nil {
		return err
	}
	if e.template, err = retryTemplate(); err != nil {
		return err
	}
	if out, err := exec.Command("go", "build", "-o", e.bin+"/", "tool").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if err := write(e.shop, root); err != nil {
		return err
	}
	// What generators remember of earlier runs is not what is asked; builds are.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		value, err := goEnv(name)
		if err != nil {
			return err
		}
		os.Setenv(name, value)
	}
	os.Setenv("HOME", dir)
	os.Setenv("XDG_CACHE_HOME", dir)
	os.Setenv("GOFLAGS", "-mod=mod")
	os.Setenv("GOPROXY", "off")
	counter, err := counting(dir)
	if err != nil {
		return err
	}
	fmt.Println(
		"| | processes | go commands | CPU | wall | peak memory | nothing changed: CPU | wall " +
			"|\n|---|---|---|---|---|---|---|---|")
	for _, g := range generators {
		n := runs
		if len(g.commands(e)) > 1 {
			n = 1 // a hundred are enough of a sample
		}
		if err := g.measure(e, counter, n); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return nil
}

// retryTemplate returns the file of the template for retries in gowrap's module.
// gowrap fetches a template that it does not find from the network, so the
// module must be in the module cache.
func retryTemplate() (string, error) {
	out, err := goOutput("mod", "download", "-json", "github.com/hexdigest/gowrap")
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &module); err != nil {
		return "", err
	}
	name := filepath.Join(module.Dir, "templates", "retry")
	_, err = os.Stat(name)
	return name, err
}

func goEnv(name string) (string, error) { return goOutput("env", name) }

// goOutput returns what a go command prints.
func goOutput(args ...string) (string, error) {
	out, err := exec.Command("go", args...).Output()
	return strings.TrimSpace(string(out)), err
}

// measure prints the line of one generator.
func (g generator) measure(e env, counter *counter, runs int) error {
	// The first warms the caches, and the counter does not disturb the others.
	path := os.Getenv("PATH")
	os.Setenv("PATH", counter.dir+string(os.PathListSeparator)+path)
	_, err := g.run(e)
	os.Setenv("PATH", path)
	if err != nil {
		return err
	}
	calls := counter.calls()
	var anew, again []cost
	for range runs {
		outputs, err := filepath.Glob(filepath.Join(e.shop, "*", g.output))
		if err != nil || len(outputs) != packages {
			return fmt.Errorf("%d outputs, want %d", len(outputs), packages)
		}
		for _, name := range outputs {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
		for _, list := range []*[]cost{&anew, &again} {
			c, err := g.run(e)
			if err != nil {
				return err
			}
			*list = append(*list, c)
		}
	}
	a, b := median(anew), median(again)
	fmt.Printf("| %s | %d | %d | %s | %s | %d MB | %s | %s |\n", g.name, len(g.commands(e)), calls,
		short(a.cpu), short(a.wall), a.peak>>20, short(b.cpu), short(b.wall))
	// The next one shall not read what this one wrote.
	outputs, err := filepath.Glob(filepath.Join(e.shop, "*", g.output))
	for _, name := range outputs {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

func short(d time.Duration) string {
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	if d >= time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// A cost is what a generator takes, with all processes that it starts.
type cost struct {
	cpu, wall time.Duration
	peak      int64 // bytes of the largest process
}

func (g generator) run(e env) (c cost, err error) {
	start := time.Now()
	for _, args := range g.commands(e) {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = e.shop
		if out, err := cmd.CombinedOutput(); err != nil {
			return c, fmt.Errorf("%w: %s", err, out)
		}
		c.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		c.peak = max(c.peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
	c.wall = time.Since(start)
	return c, nil
}

// median returns the median of each part.
func median(list []cost) (m cost) {
	middle := func(of func(cost) int64) int64 {
		var all []int64
		for _, c := range list {
			all = append(all, of(c))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	m.cpu = time.Duration(middle(func(c cost) int64 { return int64(c.cpu) }))
	m.wall = time.Duration(middle(func(c cost) int64 { return int64(c.wall) }))
	m.peak = middle(func(c cost) int64 { return c.peak })
	return m
}

// write makes the module of a hundred packages, as if long ago.
func write(shop, root string) error {
	var all error
	long := time.Now().Add(-time.Hour)
	file := func(name, text string) {
		name = filepath.Join(shop, name)
		all = errors.Join(all, os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666),
			os.Chtimes(name, long, long))
	}
	file("go.mod",
		"module example.com/shop\n\ngo 1.26.0\n\nrequire github.com/retrygen/retrygen v0.0.0\n\nreplace "+
			"github.com/retrygen/retrygen => "+root+"\n")
	var methods, mockery strings.Builder
	for i := range 5 {
		fmt.Fprintf(&methods, "\t// M%d does.\n\tM%d(ctx context.Context, id string, h http.Header) (*User, error)\n", i, i)
	}
	mockery.WriteString("packages:\n")
	for i := range packages {
		fmt.Fprintf(&mockery, "  example.com/shop/p%d: {interfaces: {Store: {}}}\n", i)
		file(fmt.Sprintf("p%d/retry.yaml", i), `version: 1
policies:
  read: {max_attempts: 3, jitter: full}
  slow: {max_attempts: 3, attempt_timeout: 2s, timeout: 20s}
bind:
  Store: {policy: read, methods: {M1: slow, M2: slow}}
`)
		file(fmt.Sprintf("p%d/p.go", i),
			fmt.Sprintf(
				"package p%d\n\nimport (\n\t\"context\"\n\t\"net/http\"\n)\n\ntype User struct{}\n\ntype Store interface {\n%s}\n",
				i, &methods))
	}
	file(".mockery.yml", mockery.String())
	return all
}

// A counter is a go command that counts its calls.
type counter struct{ dir, file string }

func counting(dir string) (*counter, error) {
	command, err := exec.LookPath("go")
	if err != nil {
		return nil, err
	}
	c := &counter{filepath.Join(dir, "counting"), filepath.Join(dir, "calls")}
	script := fmt.Sprintf("#!/bin/sh\necho \"$1\" >>'%s'\nexec '%s' \"$@\"\n", c.file, command)
	return c, errors.Join(os.Mkdir(c.dir, 0o777), os.WriteFile(filepath.Join(c.dir, "go"), []byte(script), 0o777))
}

// calls returns how many there were, and forgets them.
func (c *counter) calls() int {
	text, _ := os.ReadFile(c.file)
	os.Remove(c.file)
	return strings.Count(string(text), "\n")
}
