package clients

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// answer returns the URL of a server that answers every request with a status and
// a body.
func answer(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "0")
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// redisServer returns the address of a server that speaks the protocol of Redis,
// and answers GET with reply.
func redisServer(t *testing.T, reply string) string {
	t.Helper()
	l := listen(t)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveRedis(c, reply)
		}
	}()
	return l.Addr().String()
}

// serveRedis answers the commands of one connection.
func serveRedis(c net.Conn, reply string) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for {
		var words int
		if line, err := in.ReadString('\n'); err != nil {
			return
		} else if n, _ := fmt.Sscanf(line, "*%d", &words); n == 0 {
			continue
		}
		var command string
		for i := range words {
			_, _ = in.ReadString('\n') // its length
			if word, _ := in.ReadString('\n'); i == 0 {
				command = strings.ToUpper(strings.TrimSpace(word))
			}
		}
		switch command {
		case "HELLO":
			_, _ = fmt.Fprint(c, "*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n")
		case "GET":
			_, _ = fmt.Fprint(c, reply, "\r\n")
		default:
			_, _ = fmt.Fprint(c, "+OK\r\n")
		}
	}
}

// sshRefused returns the error of an SSH client whose password is wrong.
func sshRefused(t *testing.T) error {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{
		PasswordCallback: func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return nil, errors.New("wrong") },
	}
	config.AddHostKey(signer)
	l := listen(t)
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _, _, _ = ssh.NewServerConn(c, config)
			_ = c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _, _, err = ssh.NewClientConn(c, "x", &ssh.ClientConfig{
		User: "u", Auth: []ssh.AuthMethod{ssh.Password("p")}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	return err
}

// listen returns a listener on a free port of this machine.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}
