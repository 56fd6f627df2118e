package genapi

import (
	"fmt"
	"io"

	retry "github.com/retrygen/retrygen/runtime"
)

// A Position is the offset of an argument that attempts read, such as a file to
// upload, when the call began. Before a retry, the argument is rewound to it. The
// zero Position is that of no argument.
type Position struct {
	seeker io.Seeker
	offset int64
	err    error // why the offset is not known
}

// PositionOf returns the current position of s, which may be nil. If s has none,
// as a pipe, Rewind returns the error. PositionOf allocates nothing.
func PositionOf(s io.Seeker) Position {
	if s == nil {
		return Position{}
	}
	offset, err := s.Seek(0, io.SeekCurrent)
	return Position{s, offset, err}
}

// Rewind seeks the argument back to p after a failed attempt, or returns why that
// is not possible, as for a pipe. The failed attempt was then the last one: the
// error is for [retry.Call.Spend], or for [Spent] in a durable step.
func (p Position) Rewind() error {
	if p.err == nil && p.seeker != nil {
		_, p.err = p.seeker.Seek(p.offset, io.SeekStart)
	}
	return p.err
}

// Spent returns the error of an attempt of a durable step. If cause is nil, that is
// err itself. Otherwise the attempt has used up an argument of the call, and cause
// is why it cannot be restored: the result is marked so that no further attempt
// follows, and matches err, [retry.ErrSpent] and cause.
func Spent(err, cause error) error {
	if cause == nil {
		return err
	}
	return retry.Permanent(fmt.Errorf("%w (%w: %w)", err, retry.ErrSpent, cause))
}
