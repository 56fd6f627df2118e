package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
)

var errBusy = errors.New("busy: no connection")

// fetch reads all of body, and fails unless it is called for the third time.
func fetch(body io.Reader) (string, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return "", err
	}
	calls++
	if calls%3 != 0 {
		return "", errBusy
	}
	return string(text), nil
}

var calls int

func Put(ctx context.Context, body io.ReadSeeker) (string, error) {
	if body == nil {
		return "nothing", nil
	}
	return fetch(body)
}

// An Input is uploaded.
type Input struct {
	Name  string
	Parts *Parts
}

// Parts are the parts of an Input.
type Parts struct {
	Head *bytes.Reader
	Body io.ReadSeekCloser
	Log  io.ReadSeeker
}

func Upload(start *Input) (string, error) {
	if start == nil || start.Parts == nil || start.Parts.Body == nil {
		return "nothing", nil
	}
	head, _ := io.ReadAll(start.Parts.Head)
	body, err := fetch(start.Parts.Body)
	return string(head) + body, err
}

func Generic[R io.ReadSeeker](from R) (string, error) { return fetch(from) }

type Bucket struct{}

func (*Bucket) Put(ctx context.Context, call *strings.Reader, retry *os.File) (string, error) {
	text, _ := io.ReadAll(retry)
	s, err := fetch(call)
	return s + string(text), err
}

type Store interface {
	Put(ctx context.Context, body io.ReadSeeker) (string, error)
}

type store struct{}

func (store) Put(_ context.Context, body io.ReadSeeker) (string, error) { return fetch(body) }

func Both(ctx context.Context, body io.ReadSeeker) (string, error) { return fetch(body) }

func Read(ctx context.Context, in *Input) error { return nil }

func Keep(ctx context.Context, body io.ReadSeeker) error { return nil }

// body returns a reader whose first four bytes have been read.
func body() *strings.Reader {
	r := strings.NewReader("0123456789")
	r.Seek(4, io.SeekStart)
	return r
}

type closer struct{ *strings.Reader }

func (closer) Close() error { return nil }

func main() {
	ctx := context.Background()
	fmt.Println(RetryPut(ctx, body()))
	fmt.Println(RetryPut(ctx, nil))
	fmt.Println(RetryUpload(&Input{Parts: &Parts{Head: bytes.NewReader([]byte("head")), Body: closer{body()}}}))
	fmt.Println(RetryUpload(&Input{Parts: &Parts{}}))
	fmt.Println(RetryUpload(nil))
	fmt.Println(RetryGeneric(body()))
	f, _ := os.Open("data")
	f.Seek(3, io.SeekStart)
	fmt.Println(new(Bucket).RetryPut(ctx, body(), f))
	fmt.Println(NewRetryStore(store{}, nil).Put(ctx, body()))
	fmt.Println(RetryBoth(ctx, body()))

	// A pipe cannot be rewound. The bytes that were read from it are lost.
	r, w, _ := os.Pipe()
	w.WriteString("piped")
	w.Close()
	calls = 0
	_, err := RetryPut(ctx, r)
	fmt.Println(calls, errors.Is(err, errBusy), errors.Is(err, retry.ErrSpent))

	// A success allocates nothing.
	in, text := &Input{Parts: &Parts{Head: bytes.NewReader(nil), Body: closer{body()}}}, body()
	fmt.Println(testing.AllocsPerRun(100, func() {
		if RetryRead(ctx, in) != nil || RetryKeep(ctx, text) != nil {
			panic("failed")
		}
	}))
}
