package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/retrygen/retrygen/cmd/retryctl/internal/console"
	"github.com/retrygen/retrygen/cmd/retryctl/internal/open"
	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/policy"
)

// tokenVariable is the environment variable with the token of the console.
const tokenVariable = "RETRYCTL_TOKEN"

// serveHelp is the help text of retryctl serve.
const serveHelp = `
The console shows runs, steps, dead letters, breakers, budgets and policies in a
browser. It changes nothing unless -write is set, and shows no inputs and results
unless -values is set.

By default it listens on this machine only. To listen on other addresses, let users
log in, in one of two ways: with a token, which is in the file of -token or in the
variable RETRYCTL_TOKEN; or at a reverse proxy, which passes the name of the user on
in the header of -user-header. If you share this machine with others, use a token
even for the default address. Set -cert and -key, or use a proxy with TLS, so that
nobody can read the token on the network.`

// A serving is what the flags of retryctl serve say.
type serving struct {
	*session
	listen, token, header, proxies string
	cert, key                      string
	policies, recovery             string
	write                          bool
}

// serve is the command retryctl serve.
func serve(flags *flag.FlagSet) cli.Run {
	s := &serving{session: newSession(flags)}
	s.valueFlags.flags(flags)
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8046", "the `address` of the console")
	flags.BoolVar(&s.write, "write", false, "show forms that change the store")
	flags.StringVar(&s.token, "token", "", "a `file` with the token to log in with; by default $"+tokenVariable)
	flags.StringVar(&s.header, "user-header", "",
		"the `header` in which the reverse proxy passes on the name of the user")
	flags.StringVar(&s.proxies, "proxies", "127.0.0.0/8,::1/128", "accept -user-header only from these `networks`")
	flags.StringVar(&s.cert, "cert", "", "a `file` with the certificate for TLS")
	flags.StringVar(&s.key, "key", "", "a `file` with the private key of the certificate")
	flags.StringVar(&s.policies, "policies", "", "policy `files` to show, separated by commas")
	flags.StringVar(&s.recovery, "recovery", "", "the `folder` with the receipts of captured timeouts")
	return s.do(0, 0, "retryctl serve has no arguments", s.run)
}

// run serves the console until ctx ends.
func (s *serving) run(ctx context.Context, _ []string) error {
	c, err := s.config()
	if err != nil {
		return err
	}
	if c.Recovery != nil {
		defer c.Recovery.Close()
	}
	if (s.cert == "") != (s.key == "") {
		return usage("-cert and -key belong together: set both")
	}
	server, err := console.New(*c)
	if err != nil {
		return err
	}
	defer server.Close()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return err
	}
	scheme := "http"
	if s.cert != "" {
		scheme = "https"
	}
	fmt.Fprintf(s.stderr, "retryctl: the console is at %s://%s\n", scheme, l.Addr())
	if s.cert == "" && c.Token != "" && !console.IsLoopback(s.listen) {
		fmt.Fprintln(s.stderr, "retryctl: warning: whoever reads the network reads the token: "+
			"set -cert and -key, or put a proxy with TLS in front and listen on this machine")
	}
	return server.Serve(ctx, l, s.cert, s.key)
}

// config returns what the flags say.
func (s *serving) config() (*console.Config, error) {
	c := &console.Config{
		Client: s.client, Store: open.Redacted(cmp.Or(s.store, os.Getenv(open.Variable))), Namespace: s.space,
		Write: s.write, Values: s.values, UserHeader: s.header, Log: slog.New(slog.NewTextHandler(s.stderr, nil)),
	}
	var err error
	if c.Token, err = s.readToken(); err != nil {
		return nil, err
	}
	if c.Token == "" && c.UserHeader == "" && !console.IsLoopback(s.listen) {
		return nil, usage("-listen %s answers other machines: set -token, or -user-header with a proxy", s.listen)
	}
	for _, text := range strings.Split(s.proxies, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, usage("-proxies: %q is not a network: write one like 10.0.0.0/8", text)
		}
		c.Proxies = append(c.Proxies, prefix)
	}
	for name := range strings.SplitSeq(s.policies, ",") {
		if name == "" {
			continue
		}
		file, err := readPolicies(s.stderr, name)
		if err != nil {
			return nil, err
		}
		c.Policies = append(c.Policies, file)
	}
	if s.recovery != "" {
		if c.Recovery, err = os.OpenRoot(s.recovery); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// readToken returns the token of the file or the environment, or "".
func (s *serving) readToken() (string, error) {
	if s.token == "" {
		return os.Getenv(tokenVariable), nil
	}
	text, err := os.ReadFile(s.token)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("-token: the file %s is empty", s.token)
	}
	return token, nil
}

// readPolicies reads a policy file.
func readPolicies(stderr io.Writer, name string) (*policy.File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	file, problems := policy.Check(name, text)
	if file == nil {
		policy.Print(stderr, problems, map[string][]byte{name: text}, false)
		return nil, errors.New(policy.Summary(problems))
	}
	return file, nil
}
