package recovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// The error of [Timeouts] matches ErrTorn if a line is incomplete because the system
// stopped while it was being written. The other rows are returned together with the
// error.
var ErrTorn = errors.New("the line is not whole: the system stopped while it was written")

// Timeouts returns the rows of a flow of the run in the folder base, in the order in
// which they were written. It returns no rows if the flow had no timeout.
//
// If lines are torn, the other rows are returned together with an error that matches
// [ErrTorn]. With any other error, such as [ErrVersion], no rows are returned.
func Timeouts(base, flow string) ([]Row, error) {
	name := filepath.Join(base, fileName(flow), rowsFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := ParseRows(text)
	if err != nil {
		return rows, fmt.Errorf("%s: %w", name, err)
	}
	return rows, nil
}

// ParseRows returns the rows in the text of a timeouts.jsonl, like [Timeouts].
func ParseRows(text []byte) ([]Row, error) {
	var rows []Row
	var torn []error
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		row, err := parseRow(line)
		switch {
		case err == nil:
			rows = append(rows, row)
		case !json.Valid(line):
			torn = append(torn, fmt.Errorf("line %d: %w", number, ErrTorn))
		default:
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return rows, errors.Join(torn...)
}

// ReadReceipt reads a receipt, or an event without a receipt. The error
// matches [ErrVersion] if a newer version wrote the file, and [ErrFormat] if it is not
// a receipt.
func ReadReceipt(name string) (*Receipt, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r, err := parseReceipt(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// Latest returns the receipt of the last timeout of a flow of the run in the folder base,
// or nil if there was none. Latest reads the receipts, because a process that is killed
// during a capture leaves a receipt but no row.
//
// The step may have succeeded since then. A program that keeps its steps' results should
// look for a result of the step with the receipt's StepID.
func Latest(base, flow string) (*Receipt, error) {
	dir := filepath.Join(base, fileName(flow), receiptsDir)
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var latest *Receipt
	for _, file := range files {
		if !receiptName.MatchString(file.Name()) {
			continue
		}
		r, err := ReadReceipt(filepath.Join(dir, file.Name()))
		if err != nil {
			return nil, err
		}
		if latest == nil || r.Timeout.Timestamp.After(latest.Timeout.Timestamp.Time) {
			latest = r
		}
	}
	return latest, nil
}

// receiptName matches the names of receipts of timeouts. There may be others in
// their folder.
var receiptName = regexp.MustCompile(`-timeout(-[0-9]+)?\.json$`)
