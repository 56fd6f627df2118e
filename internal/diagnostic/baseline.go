package diagnostic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Key returns the line of a baseline for the diagnostic: its file, its rule and the text
// of its line, so that the line may move. source is the text of the file, or nil.
func (d Diagnostic) Key(source []byte) string {
	line := ""
	if lines := bytes.Split(source, []byte("\n")); 1 <= d.Line && d.Line <= len(lines) {
		line = string(bytes.TrimSpace(lines[d.Line-1]))
	}
	return d.File + "\t" + d.Rule + "\t" + line
}

// NotIn returns the items of a list whose keys are not in the baseline file. Each line of
// the file stands for one item. If the file does not exist, NotIn writes all keys to it,
// reports that to stderr in the name of a program, and returns none.
func NotIn[T any](file, program string, list []T, key func(T) string, stderr io.Writer) ([]T, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		var b strings.Builder
		for _, item := range list {
			b.WriteString(key(item) + "\n")
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			return nil, err
		}
		fmt.Fprintf(stderr, "%s: wrote the new baseline %s; findings in it: %d\n", program, file, len(list))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := map[string]int{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.Count(line, "\t") < 2 {
			return nil, fmt.Errorf("%s:%d: this is not a line of a baseline: name a file that %s wrote, or a new one",
				file, n, program)
		}
		known[line]++
	}
	var left []T
	for _, item := range list {
		k := key(item)
		if known[k]--; known[k] < 0 {
			left = append(left, item)
		}
	}
	return left, nil
}

// SplitRules splits a list of rules at commas and spaces, as the flag -disable has it.
func SplitRules(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
