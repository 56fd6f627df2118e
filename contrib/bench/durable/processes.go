package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// processes share one database.
const processes = 4

// processesTable has the longest time that one of several processes waits for
// the commit of a record.
var processesTable = table{
	name: "processes", title: "4 processes on one SQLite file, a record each", n: 4000,
	columns: []column{
		{title: "longest", text: func(f figure) string { return short(f.longest) }}, cpuColumn, wallColumn,
	},
	contenders: []contender{
		{name: "`BEGIN IMMEDIATE`, `busy_timeout`", prepare: prepareProcesses("raw")},
		{name: "`sqlite.Store.Update`", prepare: prepareProcesses("store")},
	},
}

// prepareProcesses returns a contender that writes n records from processes
// that have opened the database before one of them begins.
func prepareProcesses(kind string) func(context.Context, string, int) (*trial, error) {
	return func(ctx context.Context, dir string, n int) (*trial, error) {
		var all []*writer
		trial := &trial{close: func() (err error) {
			for _, w := range all {
				err = errors.Join(err, w.stop())
			}
			all = nil
			return err
		}}
		for i := range processes {
			w, err := startWriter(kind, filepath.Join(dir, "shared.db"), i, max(1, n/processes))
			if err != nil {
				return nil, errors.Join(err, trial.close())
			}
			all = append(all, w)
		}
		var longest time.Duration
		trial.note = func(f *figure) { f.longest = longest }
		trial.run = func() error {
			for _, w := range all {
				if _, err := io.WriteString(w.in, "go\n"); err != nil {
					return err
				}
			}
			for _, w := range all {
				line, err := w.out.ReadString('\n')
				if err != nil {
					return err
				}
				d, err := time.ParseDuration(line[:len(line)-1])
				if err != nil {
					return err
				}
				longest = max(longest, d)
			}
			return trial.close() // the processor time of a process counts when it has ended
		}
		return trial, nil
	}
}

// A writer is a process that writes records when it reads a line, and then
// prints its longest wait.
type writer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startWriter starts a writer and waits until it has opened the database.
func startWriter(kind, path string, i, n int) (*writer, error) {
	cmd, err := childCommand("writer", kind, path, strconv.Itoa(i), strconv.Itoa(n))
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &writer{cmd, in, bufio.NewReader(out)}
	if _, err := w.out.ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("writer %d has not started: %w", i, err), w.stop())
	}
	return w, nil
}

func (w *writer) stop() error {
	_ = w.in.Close()
	return w.cmd.Wait()
}

// writeRecords is the process.
func writeRecords(args []string) error {
	kind, path := args[0], args[1]
	i, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	put, err := openWriter(kind, path)
	if err != nil {
		return err
	}
	if err := put(i * (n + 1)); err != nil { // prepares the statements
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	var longest time.Duration
	for k := 1; k <= n; k++ {
		start := time.Now()
		if err := put(i*(n+1) + k); err != nil {
			return err
		}
		longest = max(longest, time.Since(start))
	}
	fmt.Println(longest)
	return nil
}

func openWriter(kind, path string) (put func(i int) error, err error) {
	if kind == "raw" {
		w, err := openRaw(context.Background(), path)
		if err != nil {
			return nil, err
		}
		return w.put, nil
	}
	w, err := openStore(context.Background(), path)
	if err != nil {
		return nil, err
	}
	return w.put, nil
}
