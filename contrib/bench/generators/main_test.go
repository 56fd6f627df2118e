package main

import (
	"os/exec"
	"testing"
)

// TestRetryTemplate finds gowrap's template when the module cache is empty.
func TestRetryTemplate(t *testing.T) {
	if out, err := exec.Command("go", "mod", "download", "github.com/hexdigest/gowrap").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cache, err := goEnv("GOMODCACHE")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GOPROXY":    "file://" + cache + "/cache/download",
		"GOSUMDB":    "off",
		"GOFLAGS":    "-modcacherw", // t.TempDir is removed after the test
		"GOMODCACHE": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	if _, err := retryTemplate(); err != nil {
		t.Error(err)
	}
}
