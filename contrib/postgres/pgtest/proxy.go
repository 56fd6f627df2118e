//go:build unix

package pgtest

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"regexp"
	"sync"
	"testing"
)

// A Proxy passes connections on to a server and can break them.
type Proxy struct {
	server   string // its address
	listener net.Listener

	mu     sync.Mutex
	conns  map[net.Conn]bool
	cut    int  // this many of the next replies to a commit
	frozen bool // nothing is passed on
	thaw   *sync.Cond
	all    sync.WaitGroup
}

// NewProxy starts a proxy for the server at rawURL. The proxy runs until the test ends.
// NewProxy also returns the URL that a client uses to reach the database through the
// proxy.
func NewProxy(t testing.TB, rawURL string) (*Proxy, string) {
	t.Helper()
	p, through, err := Listen(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, through
}

// Listen is [NewProxy] for a program that is not a test. The proxy runs until
// [Proxy.Close].
func Listen(rawURL string) (p *Proxy, through string, err error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	p = &Proxy{server: u.Host, listener: l, conns: map[net.Conn]bool{}}
	p.thaw = sync.NewCond(&p.mu)
	u.Host = l.Addr().String()
	p.all.Go(p.serve)
	return p, u.String(), nil
}

// Close stops the proxy and breaks its connections.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Freeze(false)
	p.Cut()
	p.all.Wait()
}

// Cut breaks all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// CutCommits breaks the connections of the next n commits, after the server has committed
// and before the client receives the reply. A statement that writes outside a transaction
// also counts as a commit.
func (p *Proxy) CutCommits(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = n
}

// Freeze(true) holds back everything that clients and servers send, like a network that
// loses all packets. Freeze(false) ends this.
func (p *Proxy) Freeze(frozen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = frozen
	p.thaw.Broadcast()
}

// serve passes on connections until the listener is closed.
func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil { // the server does not run
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		pass := func(f func()) {
			p.all.Go(func() {
				f()
				_, _ = client.Close(), server.Close()
				p.mu.Lock()
				defer p.mu.Unlock()
				delete(p.conns, client)
				delete(p.conns, server)
			})
		}
		pass(func() { _, _ = io.Copy(server, p.gate(client)) })
		pass(func() { p.replies(client, p.gate(server)) })
	}
}

// gate returns a reader that waits while the proxy is frozen.
func (p *Proxy) gate(r io.Reader) io.Reader { return &gate{p, r} }

type gate struct {
	p *Proxy
	r io.Reader
}

func (g *gate) Read(data []byte) (int, error) {
	n, err := g.r.Read(data)
	g.p.mu.Lock()
	defer g.p.mu.Unlock()
	for g.p.frozen {
		g.p.thaw.Wait()
	}
	return n, err
}

// replies passes on the messages of the server until one of them is to be cut. It holds
// back what follows a write until the server is ready for the next statement.
func (p *Proxy) replies(client io.Writer, server io.Reader) {
	var held []byte
	failed := false
	for {
		var head [5]byte // the type, and the length with itself
		_, err := io.ReadFull(server, head[:])
		var body []byte
		if err == nil {
			body = make([]byte, binary.BigEndian.Uint32(head[1:])-4)
			_, err = io.ReadFull(server, body)
		}
		if err != nil {
			_, _ = client.Write(held)
			return
		}
		message := append(head[:], body...)
		switch kind := head[0]; {
		case kind == 'Z': // ready: in a transaction or not
			if len(held) > 0 && body[0] == 'I' && !failed && p.cutsCommit() {
				return
			}
			message, held, failed = append(held, message...), nil, false
		case len(held) > 0 || kind == 'C' && writes.Match(body):
			held = append(held, message...)
			failed = failed || kind == 'E'
			continue
		}
		if _, err := client.Write(message); err != nil {
			return
		}
	}
}

// writes matches the tag of a statement that may have written something.
var writes = regexp.MustCompile(`^(COMMIT|INSERT|UPDATE|DELETE|MERGE)\b`)

func (p *Proxy) cutsCommit() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut == 0 {
		return false
	}
	p.cut--
	return true
}
