package vocab

import (
	"go/types"
	"regexp"
	"slices"
)

// A Mark describes a function that marks an error of an operation: the library that retries the
// operation does what the mark means. Other libraries, and other versions of the same one, do not
// recognize the mark.
type Mark struct {
	Pkg, Name string // as in a Row
	Means     Meaning
	Known     []string // what others recognize the mark by: types, variables, functions
}

// A Meaning is what a mark says about an error.
type Meaning uint8

// The meanings.
const (
	NotAgain Meaning = iota // it is not retried
	Later                   // it is retried after a given time
	Again                   // it is retried, and errors without the mark are not
)

// MarkOf returns what a function marks errors with, or nil.
func MarkOf(fn *types.Func) *Mark {
	if rows := marksByName.all(NameOf(fn)); len(rows) > 0 {
		return rows[0]
	}
	return nil
}

// IsMarking reports whether a package has functions that mark errors.
func IsMarking(path string) bool {
	return slices.ContainsFunc(marksByName.compiled(), func(r [3]*regexp.Regexp) bool { return r[0].MatchString(path) })
}

// MarkIn returns the name of the function with which the operations of a library, a package, mark
// errors, or "".
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
