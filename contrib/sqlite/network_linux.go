package sqlite

import (
	"fmt"
	"syscall"
)

// networks maps the magic numbers of statfs(2) to network file systems. On these,
// several machines, or a machine and its guests, share files, but not the memory
// and the locks that SQLite needs in WAL mode. FUSE is included because sshfs, s3fs
// and virtiofs cannot be distinguished from local file systems.
var networks = map[uint32]string{
	0x00006969: "NFS",
	0x0000517b: "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x0000564c: "NCP",
	0x01021997: "9P",
	0x5346414f: "AFS",
	0x6b414653: "AFS",
	0x73757245: "Coda",
	0x00c36400: "Ceph",
	0x0bd00bd0: "Lustre",
	0x01161970: "GFS2",
	0x7461636f: "OCFS2",
	0x47504653: "GPFS",
	0xa501fcf5: "VXFS",
	0x786f4256: "VirtualBox shared folder",
	0xbacbacbc: "VMware shared folder",
	0x65735546: "FUSE",
}

// networkOf returns the name of the network file system that holds dir, or "".
func networkOf(dir string) (string, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return "", fmt.Errorf("statfs %s: %w", dir, err)
	}
	return networks[uint32(stat.Type)], nil
}
