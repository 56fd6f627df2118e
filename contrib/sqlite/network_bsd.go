//go:build darwin || freebsd

package sqlite

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// networkOf returns the name of the network file system that holds dir, or "".
func networkOf(dir string) (string, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return "", fmt.Errorf("statfs %s: %w", dir, err)
	}
	if uint64(stat.Flags)&unix.MNT_LOCAL != 0 {
		return "", nil
	}
	return unix.ByteSliceToString(stat.Fstypename[:]), nil
}
