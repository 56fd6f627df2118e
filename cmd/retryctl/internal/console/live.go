package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"
)

// The times of live pages. A page is rendered again after leastPoll, and for a tenth
// of the time at most.
const (
	leastPoll  = 2 * time.Second
	pollRatio  = 10
	heartbeat  = 15 * time.Second // distinguishes a lost connection from a store that does not change
	streamTime = 30 * time.Minute // then the browser connects again, and has to be logged in
)

// version identifies the content of a page.
func version(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// live returns the handler of the stream that updates the pages of a view: an event
// with the content of the page whenever that has changed, by whomever. Polling works
// with all stores, and a page costs the same as if it was reloaded.
func (s *Server) live(v view) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.streams <- struct{}{}:
			defer func() { <-s.streams }()
		default:
			w.Header().Set("Retry-After", "30")
			http.Error(w, "too many live pages: reload the page instead", http.StatusServiceUnavailable)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), streamTime)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		out := &stream{w: w, control: http.NewResponseController(w)}
		_ = out.control.SetReadDeadline(time.Time{}) // that of the request is over
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no") // of proxies
		_ = out.send("", "", nil)                 // the browser knows that it is connected
		last := r.Header.Get("Last-Event-ID")
		if last == "" {
			last = r.URL.Query().Get("live")
		}
		s.follow(ctx, r.WithContext(ctx), v, last, out)
	})
}

// follow sends the content of a page when it is not the last one, until ctx ends.
func (s *Server) follow(ctx context.Context, r *http.Request, v view, last string, out *stream) {
	quiet := time.Now()
	for {
		start := time.Now()
		content, err := s.render(r, v, "content")
		switch now := version(content); {
		case ctx.Err() != nil:
			return
		case err != nil: // the page keeps what it shows
			err = out.send("problem", "", []byte("the store does not answer"))
		case now != last:
			err = out.send("content", now, content)
			last, quiet = now, time.Now()
		case time.Since(quiet) > heartbeat:
			err = out.send("heartbeat", "", nil)
			quiet = time.Now()
		}
		if err != nil {
			return
		}
		select {
		case <-time.After(max(leastPoll, pollRatio*time.Since(start))):
		case <-ctx.Done():
			return
		}
	}
}

// A stream is a response of server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// send sends an event.
func (s *stream) send(event, id string, data []byte) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\n", event)
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	for line := range bytes.Lines(bytes.ReplaceAll(data, []byte("\r"), nil)) {
		fmt.Fprintf(&b, "data: %s\n", bytes.TrimSuffix(line, []byte("\n")))
	}
	b.WriteString("\n")
	if len(data) == 0 {
		b.Reset()
		b.WriteString(": \n\n")
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := s.w.Write(b.Bytes()); err != nil {
		return err
	}
	return s.control.Flush()
}
