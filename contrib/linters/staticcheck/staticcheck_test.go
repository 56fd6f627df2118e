package staticcheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/tools/txtar"
)

// root is the root of the repository.
const root = "../../.."

// findings matches lines of staticcheck about generated files, and about packages
// that do not compile.
var findings = regexp.MustCompile(`(?m)^.*(retry_gen\.go:|\(compile\)).*$`)

// command returns a command in dir.
func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	return cmd
}

// scratch returns a command in dir that may complete go.mod, without a network.
func scratch(dir, name string, args ...string) *exec.Cmd {
	cmd := command(dir, name, args...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	return cmd
}

func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

func TestGenerated(t *testing.T) {
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	retrygen, staticcheck := filepath.Join(bin, "retrygen.exe"), filepath.Join(bin, "staticcheck.exe")
	run(t, command(root, "go", "build", "-o", retrygen, "./cmd/retrygen"))
	run(t, exec.Command("go", "build", "-o", staticcheck, "honnef.co/go/tools/cmd/staticcheck"))
	check := func(t *testing.T, staticcheck *exec.Cmd) {
		t.Helper()
		out, _ := staticcheck.CombinedOutput() // its status says no more
		if found := findings.FindAllString(string(out), -1); len(found) > 0 {
			t.Errorf("%d findings:\n%s", len(found), out)
		}
	}
	scripts, _ := filepath.Glob(filepath.Join(root, "cmd/retrygen/testdata/script/*.txtar"))
	generated := 0
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			dir := t.TempDir()
			extract(t, script, dir)
			mod := "module example.com/shop\n\ngo 1.26.0\n\nrequire github.com/retrygen/retrygen v0.0.0\n\nreplace " +
				"github.com/retrygen/retrygen => " + repository + "\n"
			if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o666); err != nil {
				t.Fatal(err)
			}
			if scratch(dir, retrygen, "-tests").Run() != nil {
				return // a script about problems
			}
			if scratch(dir, "go", "list", "-deps", "./...").Run() != nil {
				return // a script that makes modules of its own
			}
			generated++
			check(t, scratch(dir, staticcheck, "./..."))
		})
	}
	if generated < 8 {
		t.Errorf("only %d scripts of %d generate", generated, len(scripts))
	}
	for _, dir := range []string{"examples", "examples/database", "contrib/bench", "contrib/clients/grpc"} {
		t.Run(dir, func(t *testing.T) { check(t, command(filepath.Join(root, dir), staticcheck, "./...")) })
	}
}

// extract writes the files of a script to dir.
func extract(t *testing.T, script, dir string) {
	t.Helper()
	archive, err := txtar.ParseFile(script)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		name := filepath.Join(dir, filepath.FromSlash(file.Name))
		os.MkdirAll(filepath.Dir(name), 0o777)
		if err := os.WriteFile(name, file.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
