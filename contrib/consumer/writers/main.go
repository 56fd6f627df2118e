package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
)

var failed bool

func Write(ctx context.Context, to io.Writer) error {
	if !failed {
		failed = true
		io.WriteString(to, "01234")
		return errors.New("half of it: no connection")
	}
	io.WriteString(to, "0123456789")
	return nil
}

// A sink has its writer in a field.
type sink struct {
	name string
	to   struct{ out *os.File }
	w    io.WriteCloser
}

func Buffer(ctx context.Context, into *bytes.Buffer) error                         { return nil }
func Conn(ctx context.Context, c net.Conn) error                                   { return nil }
func Sink(ctx context.Context, s *sink) error                                      { return nil }
func Send(ctx context.Context, results chan<- int) error                           { return nil }
func Receive(ctx context.Context, jobs <-chan int) error                           { return nil }
func Each(ctx context.Context, _ iter.Seq[int]) error                              { return nil }
func Rows(ctx context.Context, from *sql.Rows) error                               { return nil }
func Once(ctx context.Context, to io.Writer) error                                 { return nil }
func Stop(ctx context.Context, stop <-chan struct{}) error                         { return nil }
func Log(ctx context.Context, log io.Writer, o struct{ ErrorLog io.Writer }) error { return nil }

// Upload reads a file, which is rewound.
func Upload(ctx context.Context, from *os.File) error { return nil }

func main() {
	var file bytes.Buffer
	err := RetryWrite(context.Background(), &file)
	fmt.Println(file.String(), err)
}
