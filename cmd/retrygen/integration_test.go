package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// endless is a file with a problem.
const endless = `
apiVersion: dapr.io/v1alpha1
kind: Resiliency
spec: {policies: {retries: {always: {policy: constant}}}}
`

// root returns the root of the repository, and a folder with a problem in a file.
func root(t *testing.T) (root, folder string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "deploy", "mesh"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "deploy", "mesh", "dapr.yaml"), []byte(endless), 0o666); err != nil {
		t.Fatal(err)
	}
	return root, folder
}

// TestAction runs the step of the GitHub action as GitHub does: it annotates the line
// with the problem, and fails.
func TestAction(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err) // GitHub runs the step with it
	}
	root, folder := root(t)
	var action struct {
		Runs struct {
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	readYAML(t, filepath.Join(root, "action.yml"), &action)
	step := action.Runs.Steps[len(action.Runs.Steps)-1]
	for flags, failed := range map[string]bool{"-strict": true, "-disable P300,P210": false} {
		cmd := exec.Command(bash, "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.Run)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "GITHUB_ACTION_PATH="+root, "GITHUB_WORKSPACE="+folder)
		inputs := strings.NewReplacer("${{ inputs.paths }}", "deploy/**/*.yaml", "${{ inputs.flags }}", flags)
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+inputs.Replace(value))
		}
		out, err := cmd.CombinedOutput()
		if (err != nil) != failed {
			t.Errorf("with %s: %v: %s", flags, err, out)
		}
		if has := strings.Contains(string(out), "::error file=deploy/mesh/dapr.yaml,line=4,"); has != failed {
			t.Errorf("with %s it prints: %s", flags, out)
		}
	}
}

// TestPreCommitHook runs the command of the hook.
func TestPreCommitHook(t *testing.T) {
	root, folder := root(t)
	var hooks []struct {
		ID, Entry string
	}
	readYAML(t, filepath.Join(root, ".pre-commit-hooks.yaml"), &hooks)
	for _, hook := range hooks {
		args := strings.Fields(hook.Entry)
		if args[0] != "retrygen" {
			t.Fatalf("%s runs %s", hook.ID, args[0])
		}
		var stdout, stderr strings.Builder
		t.Chdir(folder)
		if status := run(args[1:], &stdout, &stderr); status != 1 || !strings.Contains(stdout.String(), "[P300]") {
			t.Errorf("%s ends with status %d: %s%s", hook.ID, status, stdout.String(), stderr.String())
		}
	}
}

// TestContainer builds the program as the recipe of the container does: without cgo, for an
// image that has nothing else.
func TestContainer(t *testing.T) {
	root, folder := root(t)
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^RUN ((?:[A-Z_]+=\S+ )+)go (build .*) -o /retrygen (.*)$`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("the recipe does not build retrygen")
	}
	name := filepath.Join(t.TempDir(), "retrygen")
	cmd := exec.Command("go", append(strings.Fields(m[2]), "-o", name, m[3])...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), strings.Fields(m[1])...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd = exec.Command(name, "check", "deploy")
	cmd.Dir, cmd.Env = folder, []string{}
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "[P300]") {
		t.Errorf("the program prints: %s", out)
	}
}

func readYAML(t *testing.T, name string, value any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, value); err != nil {
		t.Fatal(err)
	}
}
