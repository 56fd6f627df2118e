package recovery

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
)

// victimBase is the environment variable with the folder of the run of a process
// that is killed while it captures.
const victimBase = "RETRYGEN_RECOVERY_VICTIM"

func TestMain(m *testing.M) {
	if base := os.Getenv(victimBase); base != "" {
		beVictim(base)
	}
	os.Exit(m.Run())
}

// The letters that a victim prints: in its hooks, and after each capture.
const (
	inHook    = 'h'
	completed = 'c'
)

// transcriptEnd ends each transcript.
const transcriptEnd = "\nthe end\n"

// beVictim captures timeouts until it is killed.
func beVictim(base string) {
	say := func(letter byte) error {
		_, err := os.Stdout.Write([]byte{letter})
		return err
	}
	r := &Recorder{Base: base, Flow: "build", Changes: func(context.Context) ([]string, error) {
		return []string{"src/auth.py"}, say(inHook)
	}}
	step := Step{
		ID:    "s",
		Flush: func(context.Context) error { return say(inHook) },
		Transcript: func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat("some line\n", 5_000)+transcriptEnd)
			return errors.Join(err, say(inHook))
		},
	}
	for {
		if _, err := r.Capture(context.Background(), step, retry.Timeout{Scope: "step"}); err != nil {
			panic(err)
		}
		if say(completed) != nil {
			os.Exit(1)
		}
	}
}

// TestKill kills a process at many points of a capture. What it leaves is whole,
// and what it completed is there.
func TestKill(t *testing.T) {
	base := t.TempDir()
	acknowledged := 0
	const kills = 24
	for n := 1; n <= kills; n++ {
		acknowledged += killAfter(t, base, n)
		receipts := checkFiles(t, base)
		rows, err := Timeouts(base, "build")
		if err != nil && !errors.Is(err, ErrTorn) {
			t.Fatal(err)
		}
		if len(rows) < acknowledged || len(rows) > receipts || receipts > len(rows)+n {
			t.Fatalf("after %d kills: %d captures acknowledged, %d rows, %d receipts", n, acknowledged, len(rows), receipts)
		}
		for _, row := range rows {
			checkRow(t, base, row)
		}
	}
	if acknowledged == 0 {
		t.Error("no capture was completed")
	}
}

// killAfter starts a victim, kills it after it has printed n letters, and returns
// how many captures it has completed.
func killAfter(t *testing.T, base string, n int) (acknowledged int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimBase+"="+base)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	letters := bufio.NewReader(out)
	for range n {
		letter, err := letters.ReadByte()
		if err != nil {
			t.Fatal(err)
		}
		if letter == completed {
			acknowledged++
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(letters)
	_ = cmd.Wait()
	return acknowledged + strings.Count(string(rest), string(completed))
}

// checkFiles checks that all files of the flow are whole, and returns the number
// of receipts.
func checkFiles(t *testing.T, base string) (receipts int) {
	t.Helper()
	for name, text := range files(t, filepath.Join(base, "build")) {
		switch {
		case strings.HasPrefix(filepath.Base(name), ".retrygen-"), name == rowsFile:
		case strings.HasPrefix(name, receiptsDir+"/"):
			receipts++
			if r, err := parseReceipt([]byte(text)); err != nil || r.Status != StatusTimeout {
				t.Fatalf("%s: %v: %s", name, err, text)
			}
		case !strings.HasPrefix(name, transcriptDir+"/") || !strings.HasSuffix(text, transcriptEnd):
			t.Fatalf("%s is torn, or unexpected", name)
		}
	}
	return receipts
}

// checkRow checks that what a row refers to is complete.
func checkRow(t *testing.T, base string, row Row) {
	t.Helper()
	name, err := Locate(base, row.Path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ReadReceipt(name)
	if err != nil || r.Context.Changes == nil || r.Context.Transcript == "" {
		t.Fatalf("%s: %+v, error %v", name, r, err)
	}
	if name, err = Locate(base, r.Context.Transcript); err == nil {
		_, err = os.Stat(name)
	}
	if err != nil {
		t.Fatal(err)
	}
}
