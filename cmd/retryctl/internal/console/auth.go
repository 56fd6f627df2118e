package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	minToken      = 16 // bytes: too many to guess
	sessionTime   = 12 * time.Hour
	sessionCookie = "retryctl-session"
	nameCookie    = "retryctl-by" // what the user has entered as their name
)

// sessions makes and checks the cookies of users who have logged in. A cookie is the
// time at which it ends, with a message authentication code: nothing is kept.
type sessions struct {
	token [sha256.Size]byte // its digest: comparing digests reveals no length
	key   []byte            // of this process: sessions end with it
}

func newSessions(token string) *sessions {
	s := &sessions{token: sha256.Sum256([]byte(token)), key: make([]byte, 32)}
	_, _ = rand.Read(s.key) // which never returns an error
	return s
}

// matches reports whether token is the one to log in with.
func (s *sessions) matches(token string) bool {
	digest := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(digest[:], s.token[:]) == 1
}

// cookie returns the value of a cookie that is valid until end.
func (s *sessions) cookie(end time.Time) string {
	value := binary.BigEndian.AppendUint64(nil, uint64(end.Unix()))
	return base64.RawURLEncoding.EncodeToString(append(value, s.code(value)...))
}

func (s *sessions) code(value []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(value)
	return mac.Sum(nil)
}

// valid reports whether the value of a cookie is one of these sessions.
func (s *sessions) valid(cookie string, now time.Time) bool {
	value, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil || len(value) != 8+sha256.Size || !hmac.Equal(value[8:], s.code(value[:8])) {
		return false
	}
	return now.Before(time.Unix(int64(binary.BigEndian.Uint64(value)), 0))
}

// A user is who makes a request.
type user struct {
	Name     string // from the proxy, or as entered before, or ""
	Fixed    bool   // the proxy has authenticated the name
	LoggedIn bool   // with the token
}

type userKey struct{}

// userOf returns the user of a request.
func userOf(r *http.Request) user {
	u, _ := r.Context().Value(userKey{}).(user)
	return u
}

// local refuses requests for another host, if nobody has to log in: a page of a
// foreign site whose name resolves to this machine could read the answers.
func (s *Server) local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Token == "" && s.UserHeader == "" && !isLoopback(r.Host) {
			s.problem(w, r, &problem{http.StatusForbidden, "The console only answers on this machine",
				"Open it as http://localhost or http://127.0.0.1, or start it with a token."})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether an address, with or without a port, is that of this
// machine for itself.
func isLoopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// IsLoopback reports whether a console that listens on address only answers on this
// machine, so that nobody has to log in.
func IsLoopback(address string) bool { return isLoopback(address) }

// authenticate calls next for users who may see the pages.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var u user
		if c, err := r.Cookie(nameCookie); err == nil {
			if name, err := base64.RawURLEncoding.DecodeString(c.Value); err == nil {
				u.Name = string(name)
			}
		}
		switch {
		case s.UserHeader != "":
			u = user{Name: r.Header.Get(s.UserHeader), Fixed: true}
			if !s.fromProxy(r) || u.Name == "" {
				s.problem(w, r, &problem{http.StatusForbidden, "The request did not come through the proxy",
					"Open the console at the address of the reverse proxy, and log in there."})
				return
			}
		case s.Token != "":
			c, err := r.Cookie(sessionCookie)
			if err != nil || !s.sessions.valid(c.Value, time.Now()) {
				s.askToken(w, r)
				return
			}
			u.LoggedIn = true
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, u)))
	})
}

// fromProxy reports whether a request comes from a proxy that is trusted.
func (s *Server) fromProxy(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	for _, prefix := range s.Proxies {
		if prefix.Contains(peer.Addr().Unmap()) {
			return true
		}
	}
	return false
}

// askToken sends a user to the login page, and scripts away.
func (s *Server) askToken(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path, "/live") {
		s.problem(w, r, &problem{http.StatusUnauthorized, "You are not logged in", "Log in, and try again."})
		return
	}
	http.Redirect(w, r, "/login?"+url.Values{"next": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
}

// loginData is what the login page shows.
type loginData struct {
	Next    string
	Wrong   bool
	TooMany bool // wrong tokens from this address
}

func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) {
	s.sendLogin(w, http.StatusOK, loginData{Next: localPath(r.URL.Query().Get("next"))})
}

func (s *Server) sendLogin(w http.ResponseWriter, status int, data loginData) {
	body, err := s.execute("page", &page{Name: "login", Title: "Log in", Data: data, Server: s})
	if err != nil {
		http.Error(w, "Log in", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// login starts a session.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.problem(w, r, formError(err))
		return
	}
	next := localPath(r.PostForm.Get("next"))
	if s.Token == "" || !s.sessions.matches(r.PostForm.Get("token")) {
		// The right token is never refused: all users of a proxy share its address.
		if wait := s.refusals.admit(r.RemoteAddr, time.Now()); wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
			s.sendLogin(w, http.StatusTooManyRequests, loginData{Next: next, TooMany: true})
			return
		}
		s.Log.Warn("login refused", "peer", r.RemoteAddr)
		s.sendLogin(w, http.StatusForbidden, loginData{Next: next, Wrong: true})
		return
	}
	setCookie(w, r, sessionCookie, s.sessions.cookie(time.Now().Add(sessionTime)), sessionTime)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// logout ends the session of a browser.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	setCookie(w, r, sessionCookie, "", -time.Second)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// setCookie sets a cookie that scripts do not see, and forms of other sites do not send.
func setCookie(w http.ResponseWriter, r *http.Request, name, value string, lifetime time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(lifetime.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

// localPath returns a path of this console: next, or the overview if next leads
// elsewhere.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") || u.Path == "/login" {
		return "/"
	}
	return next
}
