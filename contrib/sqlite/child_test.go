package sqlite_test

// children are what this program does as the child of a test, by the value of
// SQLITE_CHILD.
var children = map[string]func(args []string){}
