package console

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/runtime/durable/admin"
)

// A Config is what a console shows, and to whom.
type Config struct {
	Client    *admin.Client
	Store     string // the name of the store on the pages, without a password
	Namespace string

	// Write allows changes. Without it, all forms are refused.
	Write bool
	// Values shows inputs and results, as [admin.Client.Values] returns them.
	Values bool
	// Token is what users log in with. "" means that they need not, which [New] only
	// allows for requests to this machine.
	Token string
	// UserHeader is the header in which a reverse proxy passes on the name of the
	// user, whom it has authenticated. "" means that there is none. It is only
	// accepted from Proxies: from others, requests are refused.
	UserHeader string
	Proxies    []netip.Prefix

	// Policies are policy files whose policies are shown.
	Policies []*policy.File
	// Recovery is the folder with the receipts of captured timeouts, or nil.
	Recovery *os.Root
	// Log receives changes and errors. Nil means none. It never receives a token, a
	// cookie, a body or the query of a URL.
	Log *slog.Logger
}

// Limits on requests.
const (
	maxBody     = 1 << 20 // bytes of a form
	maxStreams  = 64      // live pages at a time
	readTimeout = 10 * time.Second
	pageTimeout = 10 * time.Second // for all that a page asks of the store
	// writeTimeout is for a page. A live page extends it with each update.
	writeTimeout = 30 * time.Second
)

// A Server is the console of one store. Its methods may be called concurrently.
type Server struct {
	Config
	pages    *template.Template
	handler  http.Handler
	counter  *counter
	storms   storms
	tasks    tasks
	sessions *sessions
	refusals *throttle
	streams  chan struct{}   // one element for each live page
	ctx      context.Context // until Close
	cancel   context.CancelFunc
}

//go:embed templates static
var files embed.FS

// New returns a console. The caller closes it.
func New(c Config) (*Server, error) {
	if c.Token != "" && len(c.Token) < minToken {
		return nil, fmt.Errorf("the token has %d bytes: use at least %d, as from: openssl rand -hex 16",
			len(c.Token), minToken)
	}
	if c.UserHeader != "" && c.Token != "" {
		return nil, errors.New("users log in with a token or at a proxy, not both: set one of them")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{Config: c, streams: make(chan struct{}, maxStreams)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.sessions, s.refusals = newSessions(c.Token), newThrottle()
	s.counter = newCounter(c.Client, c.Log)
	s.tasks.init(s.ctx)
	pages, err := template.New("").Funcs(functions).ParseFS(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	s.pages = pages
	s.handler = s.routes()
	s.tasks.running.Go(func() { s.counter.run(s.ctx) })
	return s, nil
}

// Close ends live pages and what the console does in the background.
func (s *Server) Close() {
	s.cancel()
	s.tasks.running.Wait()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Serve answers requests on l until ctx ends, and closes the console. With a file of
// a certificate, and one of its key, it uses TLS.
func (s *Server) Serve(ctx context.Context, l net.Listener, cert, key string) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelError),
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		s.cancel() // live pages end
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(grace)
	})
	var err error
	if cert != "" {
		err = server.ServeTLS(l, cert, key)
	} else {
		err = server.Serve(l)
	}
	if !stop() {
		err = <-stopped
	}
	s.Close()
	return err
}

// routes returns the handler of all requests.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	static, _ := fs.Sub(files, "static")
	mux.Handle("GET /static/", http.StripPrefix("/static/", cached(http.FileServerFS(static))))
	mux.HandleFunc("GET /login", s.showLogin)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)

	inside := http.NewServeMux()
	for pattern, v := range map[string]view{
		"/{$}": s.overview, "/runs": s.runs, "/run": s.run, "/group": s.group, "/step": s.step, "/dead": s.dead,
		"/shared": s.shared, "/policies": s.policies, "/policy": s.policy, "/task": s.task,
	} {
		inside.Handle("GET "+pattern, s.page(v))
		inside.Handle("GET /live"+pattern, s.live(v))
	}
	inside.HandleFunc("GET /picture", s.picture)
	inside.HandleFunc("GET /storm", s.storm)
	for pattern, f := range map[string]change{
		"/run": s.changeRun, "/step": s.changeStep, "/dead": s.changeDead, "/shared": s.changeShared, "/task": s.stopTask,
		"/override": s.changeOverride,
	} {
		inside.Handle("POST "+pattern, s.change(f))
	}
	inside.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, &problem{http.StatusNotFound, "There is no such page",
			"Check the address, or start at the overview."})
	})
	mux.Handle("/", s.authenticate(inside))
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, &problem{http.StatusForbidden, "The form comes from another site",
			"Changes are only accepted from the pages of this console. Open it, and use its forms."})
	}))
	return headers(s.local(http.MaxBytesHandler(protection.Handler(mux), maxBody)))
}

// headers sets the headers of all responses.
func headers(next http.Handler) http.Handler {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
		"trusted-types console"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer") // URLs contain ids
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// cached lets browsers keep the files of the console: see asset.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		next.ServeHTTP(w, r)
	})
}

// A view returns what a page shows.
type view func(ctx context.Context, r *http.Request) (*page, error)

// A page is the data of the templates.
type page struct {
	Name   string // of the template, and of the entry in the navigation
	Title  string
	Data   any
	Live   bool // it is updated when the store has changed
	Notice string

	Content template.HTML // what the template of the page has made of Data
	Version string        // identifies Content

	Server *Server
	User   user
	URL    string
	Now    time.Time
}

// page returns the handler of a view.
func (s *Server) page(v view) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		body, err := s.render(r, v, "page")
		if err != nil {
			s.problem(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Server-Timing", fmt.Sprintf("page;dur=%.1f", float64(time.Since(start).Microseconds())/1000))
		_, _ = w.Write(body)
	})
}

// render returns a view as HTML: a whole page with the template "page", or only what
// is live with "content".
func (s *Server) render(r *http.Request, v view, template string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	p, err := v(ctx, r)
	if err != nil {
		return nil, err
	}
	p.Server, p.User, p.Now = s, userOf(r), time.Now()
	p.URL = strings.TrimPrefix(r.URL.RequestURI(), "/live")
	p.Notice = notices[r.URL.Query().Get("done")]
	return s.execute(template, p)
}

// execute executes the template of a page, and puts the result into another one.
func (s *Server) execute(outer string, p *page) ([]byte, error) {
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, p.Name, p); err != nil {
		return nil, err
	}
	if outer == "content" {
		return b.Bytes(), nil
	}
	p.Content, p.Version = template.HTML(b.String()), version(b.Bytes()) // it was escaped
	b.Reset()
	err := s.pages.ExecuteTemplate(&b, outer, p)
	return b.Bytes(), err
}

// picture sends the schedule of a policy.
func (s *Server) picture(w http.ResponseWriter, r *http.Request) {
	s.draw(w, r, func(_ *policy.File, p *policy.Policy) ([]byte, error) {
		var b bytes.Buffer
		err := p.Picture(&b)
		return b.Bytes(), err
	})
}

// storm draws what a policy does in the default storm.
func (s *Server) storm(w http.ResponseWriter, r *http.Request) { s.draw(w, r, s.storms.picture) }

// draw sends a picture of the policy that a request names.
func (s *Server) draw(
	w http.ResponseWriter, r *http.Request, picture func(*policy.File, *policy.Policy) ([]byte, error),
) {
	f, p := s.findPolicy(r.URL.Query().Get("file"), r.URL.Query().Get("name"))
	if p == nil {
		s.problem(w, r, &problem{http.StatusNotFound, "There is no such policy", "The page of policies lists all."})
		return
	}
	svg, err := picture(f, p)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write(svg)
}
