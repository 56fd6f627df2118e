package gen

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// environment describes everything a run depends on in addition to the files of
// packages: the generator, the go command and their settings. ok is false if that
// is not known without running the go command.
func environment() (text string, ok bool) {
	generator, err := buildID()
	if err != nil {
		return "", false
	}
	command, err := goCommand()
	if err != nil {
		return "", false
	}
	settings, err := settings()
	if err != nil {
		return "", false
	}
	// A driver replaces the go command; the other settings add files that the
	// cache does not check.
	for line := range strings.Lines(settings) {
		line = strings.TrimSpace(line)
		name, value, _ := strings.Cut(line, "=")
		switch {
		case name == "GOWORK" && value != "off" && value != "", name == "GOPACKAGESDRIVER" && value != "off" && value != "",
			name == "GO111MODULE" && value != "on" && value != "", strings.Contains(line, "-modfile"),
			strings.Contains(line, "-overlay"):
			return "", false
		}
	}
	if _, err := exec.LookPath("gopackagesdriver"); err == nil {
		return "", false
	}
	return fmt.Sprintf("%s\n%s\n%s/%s\n%s", generator, command, runtime.GOOS, runtime.GOARCH, settings), true
}

// settings returns the environment variables of the go command and the content of
// its configuration file.
func settings() (string, error) {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return !strings.HasPrefix(v, "GO") && !strings.HasPrefix(v, "CGO_")
	})
	slices.Sort(env)
	file := os.Getenv("GOENV")
	if file == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", err
		}
		file = filepath.Join(dir, "go", "env")
	}
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) && file != "off" {
		return "", err
	}
	return strings.Join(env, "\n") + "\n" + string(text), nil
}

// goCommand identifies the go command that a run would use, by path and version.
func goCommand() (string, error) {
	name, err := exec.LookPath("go")
	if err != nil {
		return "", err
	}
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return "", err
	}
	root := filepath.Dir(filepath.Dir(name))
	version, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return "", err
	}
	env, err := os.ReadFile(filepath.Join(root, "go.env"))
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	return fmt.Sprintf("%s\n%s\n%s", name, version, env), nil
}

// linkerBuildID matches a build ID as the linker writes it: two hashes or four.
var linkerBuildID = regexp.MustCompile(`[\w-]{20}(/[\w-]{20}){1,3}`)

// buildID returns the build ID of this program, which is near its beginning in
// every executable format. If there is none, it returns a hash of the program.
func buildID() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var start bytes.Buffer
	if _, err := io.CopyN(&start, f, 64<<10); err != nil && err != io.EOF {
		return "", err
	}
	if id := linkerBuildID.Find(start.Bytes()); id != nil {
		return string(id), nil
	}
	h := sha256.New()
	h.Write(start.Bytes())
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
