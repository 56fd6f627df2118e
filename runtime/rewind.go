package retry

import (
	"fmt"
	"io"
)

// A Position is the offset of an argument that attempts read, such as a file to
// upload, when the call began. Before a retry, the argument is rewound to it. The
// zero Position is that of no argument. Only generated code uses it.
type Position struct {
	seeker io.Seeker
	offset int64
	err    error // why the offset is not known
}

// PositionOf returns the current position of s, which may be nil. If s has none,
// as a pipe, Rewind reports the error. PositionOf allocates nothing.
func PositionOf(s io.Seeker) Position {
	if s == nil {
		return Position{}
	}
	offset, err := s.Seek(0, io.SeekCurrent)
	return Position{s, offset, err}
}

// Rewind seeks an argument back to p after a failed attempt. If that is not
// possible, as for a pipe, the failed attempt was the last one: see [Call.Spend].
func (c *Call) Rewind(p Position) {
	if err := p.seek(); err != nil {
		c.Spend(err)
	}
}

// Rewind seeks an argument back to p after an attempt of a durable step that
// failed with err, and returns err. If that is not possible, the failed attempt
// was the last one, and Rewind returns the error of [Spent].
func (p Position) Rewind(err error) error {
	if cause := p.seek(); cause != nil {
		return Spent(err, cause)
	}
	return err
}

// seek seeks to the position, or returns why that is not possible.
func (p Position) seek() error {
	if p.err == nil && p.seeker != nil {
		_, p.err = p.seeker.Seek(p.offset, io.SeekStart)
	}
	return p.err
}

// Spent returns the error of an attempt of a durable step, marked so that no
// further attempt follows, because the attempt has used up an argument of the
// call. cause is why the argument cannot be restored. The result matches err,
// [ErrSpent] and cause.
func Spent(err, cause error) error { return Permanent(fmt.Errorf("%w (%w: %w)", err, ErrSpent, cause)) }

// Spend makes the failed attempt the last one, because it has used up an argument
// of the call. cause is why the argument cannot be restored. If the policy would
// have tried again, [Call.Next] returns an [*Error] with [ErrSpent] and the cause.
func (c *Call) Spend(cause error) { c.spent = cause }
