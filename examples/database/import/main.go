// Import imports 200 shards of four data centers with four worker processes. One
// worker is killed, a data center disappears, and a budget stops the storm of
// retries that follows. The job has a provisional result before it ends. When the
// data center is back, the dead letters are requeued. At the end the program
// compares the records of the job with what the servers have seen.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("import", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var p place
	flags.StringVar(&p.store, "store", "", "URL of a PostgreSQL database (default: SQLite in a temporary directory)")
	name := flags.String("worker", "", "name of the worker to execute (for the program itself)")
	flags.StringVar(&p.space, "space", "", "namespace of the job (for the program itself)")
	flags.StringVar(&p.url, "url", "", "URL of the servers (for the program itself)")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // the second interrupt ends the process at once
	var err error
	if *name != "" {
		go func() { // a worker ends with the program that has started it
			_, _ = io.Copy(io.Discard, stdin)
			stop()
		}()
		err = work(ctx, stdout, p, *name)
	} else {
		ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the job takes longer than 2 minutes"))
		defer cancel()
		err = supervise(ctx, p.store, &printer{out: stdout, start: time.Now()})
	}
	if err != nil {
		fmt.Fprintln(stderr, "import:", err)
		return 1
	}
	return 0
}

// A printer writes whole lines with the time since its start. Several processes
// write at a time.
type printer struct {
	start time.Time

	mu  sync.Mutex
	out io.Writer
}

// Write writes lines.
func (p *printer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range bytes.Lines(text) {
		if _, err := fmt.Fprintf(p.out, "%5.1fs  %s", time.Since(p.start).Seconds(), line); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}
