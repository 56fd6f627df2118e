//go:build unix

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// limitFiles makes writes beyond size fail with EFBIG, as they fail with ENOSPC
// and EDQUOT on a full disk.
func limitFiles(size uint64) {
	var limit syscall.Rlimit
	must(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	limit.Cur = min(size, limit.Max)
	must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
}

// childLimit increments a counter until the WAL may not grow, and again when it
// may. It prints what was acknowledged.
func childLimit(args []string) {
	signal.Ignore(syscall.SIGXFSZ)
	store := must1(sqlite.Open(args[0]))
	spare := must1(strconv.Atoi(args[1])) // bytes
	must1(increment(store, stepKey("a")))
	info := must1(os.Stat(args[0] + "-wal"))
	limitFiles(uint64(info.Size()) + uint64(spare))
	for range 3 {
		for {
			n, err := increment(store, stepKey("a"))
			if err != nil {
				fmt.Println("failed:", err)
				if !errors.Is(err, storage.ErrStore) && !errors.Is(err, storage.ErrUnknown) {
					must(err)
				}
				break
			}
			fmt.Println(n)
		}
		fmt.Println(len(must1(store.Get(context.Background(), []storage.Key{total}))), "read")
	}
	limitFiles(1 << 40)
	for range 3 {
		fmt.Println(must1(increment(store, stepKey("a"))))
	}
	fmt.Println("descriptors", descriptors(args[0]))
}

// descriptors returns how often this process has the database open.
func descriptors(path string) (n int) {
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == path {
			n++
		}
	}
	return n
}

// TestNoSpace fills the space for the WAL. Nothing is acknowledged that is not
// stored, and the store continues when there is space.
func TestNoSpace(t *testing.T) {
	for _, spare := range []int{0, 1, 24, 4096, 4120, 10000, 50001} {
		t.Run(fmt.Sprint(spare, " bytes"), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			child := start(t, "limit", path, strconv.Itoa(spare))
			lines := child.rest()
			if err := child.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			last, failures := 1, 0
			for _, line := range lines {
				n, err := strconv.Atoi(line)
				switch {
				case strings.HasPrefix(line, "failed:"):
					failures++
					if !strings.Contains(line, path) {
						t.Errorf("%s: no path", line)
					}
				case err == nil && n != last+1 && failures == 0:
					t.Errorf("acknowledged %d after %d", n, last)
				case err == nil:
					last = n
				case strings.HasPrefix(line, "descriptors") && line != "descriptors 2" && line != "descriptors 0":
					t.Errorf("%s: want one for reading and one for writing", line)
				}
			}
			if failures != 3 {
				t.Errorf("%d failures, want 3:\n%s", failures, strings.Join(lines, "\n"))
			}
			checkCounts(t, path, []string{"a"}, map[string]int{"a": last}, map[storage.Key]uint64{})
		})
	}
}

// childRefused opens and updates a database without the permissions of root, and
// prints the error.
func childRefused(args []string) {
	if os.Getuid() == 0 {
		const nobody = 65534
		must(syscall.Setuid(nobody))
	}
	store, err := sqlite.Open(args[0])
	if err == nil {
		err = within(store, time.Second, storage.Record{Key: stepKey("b"), Body: body(1)})
	}
	fmt.Println(errors.Is(err, storage.ErrStore), err)
}

// TestReadOnly opens databases that may not be written.
func TestReadOnly(t *testing.T) {
	for _, test := range []struct {
		name         string
		file, folder os.FileMode
		want         string
	}{
		{"file", 0o444, 0o777, "read-only: allow this user to write the file and its folder"},
		{"file that may not be read", 0, 0o777, "cannot be opened: check that the file exists"},
		{"folder", 0o666, 0o555, "read-only: allow this user to write the file and its folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "state.db")
			filled(t, path, 1)
			for name, mode := range map[string]os.FileMode{
				filepath.Dir(dir): 0o755, path: test.file, dir: test.folder, path + "-lock": 0o644,
			} {
				if err := os.Chmod(name, mode); err != nil {
					t.Fatal(err)
				}
			}
			if test.name == "folder" {
				if err := os.Remove(path + "-lock"); err != nil {
					t.Fatal(err)
				}
			}
			child := start(t, "refused", path)
			if got := child.line(); !strings.HasPrefix(got, "true ") || !strings.Contains(got, path+": "+test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		})
	}
}
