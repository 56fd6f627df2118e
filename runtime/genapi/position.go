package genapi

import (
	"fmt"
	"io"

	retry "github.com/retrygen/retrygen/runtime"
)

// A Position records the offset that an argument read by attempts, such as a file to
// upload, had at the start of a call. Before a retry, the argument is rewound to this
// offset. The zero Position does not belong to an argument.
type Position struct {
	seeker io.Seeker
	offset int64
	err    error // why the offset is not known
}

// PositionOf returns the current position of s, which may be nil. If s has no position,
// as with a pipe, Rewind returns the error. PositionOf allocates nothing.
func PositionOf(s io.Seeker) Position {
	if s == nil {
		return Position{}
	}
	offset, err := s.Seek(0, io.SeekCurrent)
	return Position{s, offset, err}
}

// Rewind seeks the argument back to p after a failed attempt. If that is not possible, as
// with a pipe, it returns an error, and the failed attempt is the last one. Pass the
// error to [retry.Call.Spend] or, in a durable step, to [Spent].
func (p Position) Rewind() error {
	if p.err == nil && p.seeker != nil {
		_, p.err = p.seeker.Seek(p.offset, io.SeekStart)
	}
	return p.err
}

// Spent returns the error of an attempt of a durable step. If cause is nil, this is err
// itself. Otherwise the attempt has used up an argument of the call, and cause explains
// why the argument cannot be restored. In this case, the returned error is marked so that
// no further attempt follows. It matches err, [retry.ErrSpent] and cause.
func Spent(err, cause error) error {
	if cause == nil {
		return err
	}
	return retry.Permanent(fmt.Errorf("%w (%w: %w)", err, retry.ErrSpent, cause))
}
