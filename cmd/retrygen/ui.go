package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/playground"
	"github.com/retrygen/retrygen/playground/web"
)

func uiCommand() *cli.Command {
	return &cli.Command{
		Name: "ui", Args: "[file]", Short: "edit a policy file in the browser, and see what it does",
		Long: `
It serves the playground on this machine: a page that checks, explains and simulates
policies as you type, including those of other systems. The page begins with the text of
the file, or with an example. It never changes the file, and sends nothing to other machines.
Press Ctrl-C to stop it.`,
		Setup: ui, Files: true,
	}
}

// ui serves the playground until it is interrupted.
func ui(flags *flag.FlagSet) cli.Run {
	var u playgroundServer
	flags.StringVar(&u.addr, "addr", "127.0.0.1:0", "the `address` to listen on, by default a free port of 127.0.0.1")
	flags.BoolVar(&u.open, "open", false, "also open the page in the browser")
	cli.FolderFlag(flags)
	return func(args []string, stdout, stderr io.Writer) int {
		if len(args) > 1 {
			return fail(stderr, errors.New("ui takes one file: retrygen ui retry.yaml"))
		}
		if len(args) == 1 {
			name, text, err := readFile(args[0])
			if err != nil {
				return fail(stderr, err)
			}
			if args[0] == "-" {
				name = "retry.yaml"
			}
			u.start = &startFile{filepath.Base(name), string(text)}
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := u.serve(ctx, stdout, stderr); err != nil {
			return fail(stderr, err)
		}
		return cli.OK
	}
}

// A playgroundServer holds the flags of the command ui.
type playgroundServer struct {
	addr  string
	open  bool
	start *startFile // nil: the page begins with an example
}

// A startFile is the file with which the page begins, in JSON. It is read once.
type startFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// serve serves the page until ctx ends.
func (u *playgroundServer) serve(ctx context.Context, stdout, stderr io.Writer) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", u.addr)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	url := "http://" + l.Addr().String() + "/"
	fmt.Fprintf(stdout, "the playground is at %s; press Ctrl-C to stop\n", url)
	if ip, err := netip.ParseAddrPort(l.Addr().String()); err == nil && !ip.Addr().IsLoopback() {
		fmt.Fprintln(stderr, "retrygen: warning: other machines can open the page and read the file")
	}
	if u.open {
		if err := browse(url); err != nil {
			fmt.Fprintf(stderr, "retrygen: warning: the browser was not opened: %v\n", err)
		}
	}
	server := &http.Server{
		Handler: u.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	// A simulation has no end that somebody waits for.
	ending, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := server.Shutdown(ending); errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	} else if err != nil {
		return err
	}
	return nil
}

// maxQuestion is the size of the largest question. It contains a policy file of at most 4 MiB,
// each of whose bytes may be escaped.
const maxQuestion = 6*(4<<20) + 1<<10

// contentPolicy lets the page load its own files only. Images are drawn by the page itself.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// handler returns the handler of all requests.
func (u *playgroundServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(web.Files()))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, web.Files(), "local.html")
	})
	mux.HandleFunc("GET /start", func(w http.ResponseWriter, _ *http.Request) { writeAnswer(w, u.startJSON()) })
	mux.HandleFunc("POST /answer", func(w http.ResponseWriter, r *http.Request) {
		question, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion))
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			http.Error(w, "the file is larger than a policy file may be", http.StatusRequestEntityTooLarge)
			return
		} else if err != nil {
			return // nobody reads an answer
		}
		writeAnswer(w, playground.Answer(question))
	})
	protected := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !u.isOurs(r.Host) {
			http.Error(w, "open the page by the address that retrygen ui has printed", http.StatusForbidden)
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// isOurs reports whether a request for a host may be meant for this server. A page of a
// foreign site whose name resolves to this machine could read the file: only addresses,
// localhost and the name in -addr are answered.
func (u *playgroundServer) isOurs(address string) bool {
	host := hostOf(address)
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost") || strings.EqualFold(host, hostOf(u.addr))
}

// hostOf returns the host of an address with or without a port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return strings.Trim(host, "[]")
}

// startJSON returns the file with which the page begins, or null.
func (u *playgroundServer) startJSON() []byte {
	text, _ := json.Marshal(u.start) // texts are always encoded
	return text
}

func writeAnswer(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // whoever has gone needs no answer
}

// browse opens a URL in the browser of the user.
func browse(url string) error {
	command := []string{"xdg-open", url}
	switch runtime.GOOS {
	case "darwin":
		command[0] = "open"
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	c := exec.Command(command[0], command[1:]...)
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }()
	return nil
}
