package clients

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/textproto"
	"os"
	"syscall"
	"testing"

	"github.com/go-ldap/ldap/v3"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// systemClients are the standard library and the clients of protocols older than
// HTTP.
func systemClients(t *testing.T) []client {
	network := func(op string, errno syscall.Errno) error {
		return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, errno)}
	}
	directory := func(code uint16) error { return ldap.NewError(code, errors.New("m")) }
	return []client{
		{"net", []failure{
			{"ECONNRESET", transient, network("read", syscall.ECONNRESET)},
			{"ECONNREFUSED", transient, network("connect", syscall.ECONNREFUSED)},
			{"DNS temporary", transient, &net.DNSError{Err: "server misbehaving", IsTemporary: true}},
			{"DNS NXDOMAIN", permanent, &net.DNSError{Err: "no such host", IsNotFound: true}},
			{"TLS unknown authority", permanent, &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}},
			{"ErrClosed", transient, &net.OpError{Op: "read", Err: net.ErrClosed}},
			{"missing port", permanent, &net.OpError{Op: "dial", Err: &net.AddrError{Err: "missing port in address"}}},
		}},
		{"context", []failure{{"deadline", transient, context.DeadlineExceeded}}},
		{"io/fs, os", []failure{
			{"ENOENT", permanent, &fs.PathError{Op: "open", Err: syscall.ENOENT}},
			{"EACCES", permanent, &fs.PathError{Op: "open", Err: syscall.EACCES}},
		}},
		{"ldap", []failure{
			{"32 no such object", permanent, directory(ldap.LDAPResultNoSuchObject)},
			{"51 busy", transient, directory(ldap.LDAPResultBusy)},
			{"52 unavailable", transient, directory(ldap.LDAPResultUnavailable)},
			{"49 credentials", permanent, directory(ldap.LDAPResultInvalidCredentials)},
			{"200 network", transient, directory(ldap.ErrorNetwork)},
		}},
		{"ssh", []failure{
			{"handshake auth", permanent, sshRefused(t)},
			{"exit 1", permanent, &ssh.ExitError{}},
			{"ExitMissing", transient, &ssh.ExitMissingError{}},
		}},
		{"sftp", []failure{
			{"2 no such file", permanent, &sftp.StatusError{Code: uint32(sftp.ErrSSHFxNoSuchFile)}},
			{"3 denied", permanent, &sftp.StatusError{Code: uint32(sftp.ErrSSHFxPermissionDenied)}},
			{"7 connection lost", transient, &sftp.StatusError{Code: uint32(sftp.ErrSSHFxConnectionLost)}},
		}},
		{"net/smtp", []failure{
			{"421", transient, &textproto.Error{Code: 421, Msg: "try later"}},
			{"450", transient, &textproto.Error{Code: 450, Msg: "mailbox unavailable"}},
			{"550", permanent, &textproto.Error{Code: 550, Msg: "no such user"}},
			{"535 auth", permanent, &textproto.Error{Code: 535, Msg: "auth"}},
		}},
	}
}
