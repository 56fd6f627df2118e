package sqlite

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// networkOf returns the name of the network drive that holds dir, or "".
func networkOf(dir string) (string, error) {
	volume := filepath.VolumeName(dir)
	root, err := windows.UTF16PtrFromString(volume + `\`)
	if err != nil {
		return "", err
	}
	if windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "network drive " + volume, nil
	}
	return "", nil
}
