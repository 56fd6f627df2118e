//go:build unix

package sqlite_test

func childLoad(args []string) {}
