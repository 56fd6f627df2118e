package sqlite

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestNetwork opens databases on file systems that are there on every machine,
// as if they were in the list.
func TestNetwork(t *testing.T) {
	if name, err := networkOf(t.TempDir()); name != "" || err != nil {
		t.Errorf("the folder for temporary files is on %q, %v", name, err)
	}
	const procfs = 0x9fa0 // PROC_SUPER_MAGIC
	networks[procfs] = "test file system"
	defer delete(networks, procfs)
	_, err := Open("/proc/self/task/state.db")
	want := "SQLite cannot lock files on test file system"
	if !errors.Is(err, storage.ErrStore) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if _, err := networkOf("/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestNetworks checks the numbers against those of the kernel's headers for the
// file systems that users meet most.
func TestNetworks(t *testing.T) {
	for name, magic := range map[string]uint32{
		"NFS": 0x6969, "CIFS": 0xff534d42, "SMB2": 0xfe534d42, "9P": 0x01021997, "FUSE": 0x65735546, "Ceph": 0x00c36400,
	} {
		if networks[magic] != name {
			t.Errorf("%#x is %q, want %q", magic, networks[magic], name)
		}
	}
	for name, magic := range map[string]uint32{
		"ext4": 0xef53, "XFS": 0x58465342, "Btrfs": 0x9123683e, "tmpfs": 0x01021994, "ZFS": 0x2fc12fc1, "overlay": 0x794c7630,
	} {
		if networks[magic] != "" {
			t.Errorf("%s is refused as %s", name, networks[magic])
		}
	}
}
