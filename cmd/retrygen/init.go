package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/retrygen/retrygen/gen"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/schema"
)

// starter is the policy file that retrygen init writes.
const starter = `# yaml-language-server: $schema=` + schema.ID + `
version: 1

# An HTTP status in the text of an error counts: "status 503" is retried, and
# "404 Not Found" is not. An unknown error, which has neither a known type nor a
# status, ends the call unless its policy has "unknown: retry".
match_text: status

# Settings under every policy. max_attempts counts the first attempt too.
defaults:
  max_attempts: 4
  initial_delay: 200ms # doubled for each retry, up to max_delay
  max_delay: 10s
  jitter: full # spread callers that failed together

# Retries add at most a tenth to the load, so that they do not keep down a service that is
# overloaded: retrygen simulate shows that.
budgets:
  retries: {ratio: 0.1, min_per_second: 0.5, burst: 50}

policies:
  # Without a binding a policy becomes a generic function: Read(ctx, op).
  read:
    attempt_timeout: 2s
    timeout: 20s
    budget: retries
    retry_on: [transient] # network, timeout, server_error, rate_limit

# Go symbols of the package in this folder, as go doc writes them:
# bind:
#   Fetch: read            # a function: RetryFetch
#   Client.Fetch: read     # a method: the method RetryFetch
#   Store:                 # an interface: NewRetryStore(next)
#     policy: read
#     methods: {Close: none}

# Scopes, error classes, breakers, limits and groups:
# https://github.com/retrygen/retrygen/blob/main/docs/language.md
`

// initialize is the command init. It writes a policy file to start from, and never
// overwrites a file.
func initialize(flags *flag.FlagSet) cli.Run {
	cli.FolderFlag(flags)
	return func(args []string, stdout, stderr io.Writer) int {
		dir := "."
		switch len(args) {
		case 0:
		case 1:
			dir = args[0]
		default:
			return fail(stderr, errors.New("init takes one folder: retrygen init ./shop"))
		}
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return fail(stderr, fmt.Errorf("%s is a file: name the folder of a Go package", dir))
		} else if errors.Is(err, fs.ErrNotExist) {
			return fail(stderr, fmt.Errorf("%s: there is no such folder", dir))
		}
		if other := misnamed(dir); other != "" {
			return fail(stderr, fmt.Errorf("%s exists already: rename it to %s", other, gen.SourceName))
		}
		name := filepath.Join(dir, gen.SourceName)
		if err := create(name, starter); err != nil {
			return fail(stderr, err)
		}
		get := ""
		if mod, text := upwards(dir, "go.mod"); mod != "" && !required.Match(text) {
			get = "run go get -tool " + module + "/cmd/retrygen, "
		}
		fmt.Fprintf(stdout,
			"wrote %s. Next: %sadd //go:generate go tool retrygen . to a file of the package, and run go generate.\n", name, get)
		return cli.OK
	}
}

// create writes a new file. It is an error if the file exists.
func create(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already and is not overwritten", name)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
