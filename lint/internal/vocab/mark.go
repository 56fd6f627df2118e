package vocab

import (
	"go/types"
	"regexp"
	"slices"
)

// A Mark describes a function that marks an error of an operation. The library that retries the
// operation then does what the mark means. Other libraries, and other versions of the same
// library, do not recognize the mark.
type Mark struct {
	Pkg, Name string // as in a Row
	Means     Meaning
	Known     []string // the types, variables and functions by which other code recognizes the mark
}

// A Meaning describes what a mark means for an error.
type Meaning uint8

// The meanings.
const (
	NotAgain Meaning = iota // the operation is not retried
	Later                   // the operation is retried after a given time
	Again                   // the operation is retried, and errors without the mark are not retried
)

// MarkOf returns the mark that a function puts on errors, or nil.
func MarkOf(fn *types.Func) *Mark {
	if rows := marksByName.all(NameOf(fn)); len(rows) > 0 {
		return rows[0]
	}
	return nil
}

// SaysFinal reports whether a function marks an error that is not retried: one that MarkOf knows,
// or one of another package that has the name of such a function.
func SaysFinal(fn *types.Func) bool {
	return slices.ContainsFunc(marks, func(m Mark) bool { return m.Means == NotAgain && m.Name == fn.Name() })
}

// IsMarking reports whether a package has functions that mark errors.
func IsMarking(path string) bool {
	return slices.ContainsFunc(marksByName.compiled(), func(r [3]*regexp.Regexp) bool { return r[0].MatchString(path) })
}

// MarkIn returns the name of the function with which operations of a library mark errors, or
// "". path is the import path of the library.
func MarkIn(path string, means Meaning) string {
	for i, r := range marksByName.compiled() {
		if m := &marks[i]; m.Means == means && r[0].MatchString(path) {
			return m.Name
		}
	}
	return ""
}

var marks = []Mark{
	{cenkaltiAll, "Permanent", NotAgain, []string{"PermanentError", "ErrPermanent"}},
	{cenkaltiV5, "RetryAfter", Later, []string{"RetryAfterError"}},
	{avastAll, "Unrecoverable", NotAgain, []string{"IsRecoverable"}},
	{sethvargo, "RetryableError", Again, nil},
	{runtime, "Permanent", NotAgain, nil},
	{runtime, "After", Later, nil},
}

var marksByName = index[Mark]{rows: marks, pattern: func(m Mark) Name { return Name{m.Pkg, "", m.Name} }}
