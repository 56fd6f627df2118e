package recovery

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"

	"github.com/retrygen/retrygen/internal/atomicfile"
)

// runBase begins the paths in documents that are below the folder of the run, so
// that the folder may be moved.
const runBase = "RUN_BASE"

// inRun returns the path of a file of the run as documents contain it.
func inRun(elements ...string) string { return path.Join(append([]string{runBase}, elements...)...) }

// Locate returns the path of the file to which a document refers as name. base is the
// folder of the document's run. A name that begins with "RUN_BASE/" is below base. Any
// other name is returned unchanged. If a name leads out of base, Locate returns an error.
func Locate(base, name string) (string, error) {
	rest, below := strings.CutPrefix(name, runBase+"/")
	if !below {
		return name, nil
	}
	local, err := filepath.Localize(path.Clean(rest))
	if err != nil {
		return "", fmt.Errorf("%w: the path %q is not below the folder of the run", ErrFormat, name)
	}
	return filepath.Join(base, local), nil
}

// maxName is the number of bytes of an escaped name above which it is shortened.
const maxName = 120

// fileName returns the part of a file name that stands for a flow or a step.
// Different ids have different names.
func fileName(id string) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	switch name := b.String(); {
	case name == "":
		return "%"
	case len(name) > maxName:
		sum := sha256.Sum256([]byte(id))
		return name[:maxName/2] + "%-" + hex.EncodeToString(sum[:16])
	default:
		return name
	}
}

// numbered returns the name of the nth file of a step: step-timeout.json,
// step-timeout-2.json, and so on.
func numbered(step, kind string, n int) string {
	if n == 1 {
		return fileName(step) + "-" + kind
	}
	stem, ext, _ := strings.Cut(kind, ".")
	return fileName(step) + "-" + stem + "-" + strconv.Itoa(n) + "." + ext
}

// create writes a new file in dir, whole or not at all. It has the first name of
// numbered that is free, whose number is returned.
func create(dir, step, kind string, text []byte) (n int, err error) {
	if err := makeDir(dir); err != nil {
		return 0, err
	}
	temp, err := atomicfile.Stage(filepath.Join(dir, kind), text)
	if err != nil {
		return 0, err
	}
	defer os.Remove(temp)
	atomicfile.Sweep(dir)
	name := func(n int) string { return filepath.Join(dir, numbered(step, kind, n)) }
	for n = firstFree(name); ; n++ {
		switch err := place(temp, name(n)); {
		case err == nil:
			return n, syncDir(dir)
		case !errors.Is(err, fs.ErrExist):
			return 0, err
		}
	}
}

// firstFree returns the number after that of the last file, in a logarithmic
// number of look-ups.
func firstFree(name func(int) string) int {
	exists := func(n int) bool {
		_, err := os.Lstat(name(n))
		return err == nil
	}
	high := 1
	for exists(high) {
		high *= 2
	}
	low := high / 2 // exists, or is 0
	return low + 1 + sort.Search(high-low-1, func(i int) bool { return !exists(low + 1 + i) })
}

// place gives the file temp its name, unless that exists. Unlike a rename, a link
// never replaces a file of another process.
func place(temp, name string) error {
	err := os.Link(temp, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(name); err == nil {
		return fs.ErrExist
	}
	return os.Rename(temp, name) // the file system has no links
}

// replace replaces a file, whole or not at all.
func replace(name string, text []byte) error {
	dir := filepath.Dir(name)
	if err := makeDir(dir); err != nil {
		return err
	}
	temp, err := atomicfile.Stage(name, text)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(dir)
}

// appendLine appends a line to a file with one write, and syncs it. If the last
// line of the file is torn, it is ended first.
func appendLine(name string, line []byte) error {
	dir := filepath.Dir(name)
	if err := makeDir(dir); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	text := append(line[:len(line):len(line)], '\n')
	info, err := f.Stat()
	if err == nil && info.Size() > 0 {
		var last [1]byte
		if _, err = f.ReadAt(last[:], info.Size()-1); last[0] != '\n' {
			text = append([]byte{'\n'}, text...)
		}
	}
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil && info.Size() == 0 {
		err = syncDir(dir) // the file may be new
	}
	return errors.Join(err, f.Close())
}

// makeDir creates a folder and those around it, and syncs each folder that got a
// new one.
func makeDir(dir string) error {
	switch info, err := os.Stat(dir); {
	case err == nil && info.IsDir():
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// syncDir makes the names in a folder durable. Windows has no such call.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
