package dfs

// Perm is an HDFS permission: nine bits and the sticky bit (01777).
type Perm uint16

// The permission bits.
const (
	PermSticky Perm = 0o1000
	PermMask   Perm = 0o1777
)

// Access is what a caller wants to do, as in the three bits of one permission class.
type Access uint8

// The accesses.
const (
	AccessExecute Access = 1
	AccessWrite   Access = 2
	AccessRead    Access = 4
)

// String gives HDFS's spelling, as error messages carry it: READ_EXECUTE, ALL, ...
func (a Access) String() string {
	return [...]string{"NONE", "EXECUTE", "WRITE", "WRITE_EXECUTE", "READ", "READ_EXECUTE", "READ_WRITE", "ALL"}[a&7]
}

// String gives the nine letters of ls, with t or T in the last place for the sticky bit.
func (p Perm) String() string {
	var b [9]byte
	for i := range b {
		b[i] = '-'
		if p&(1<<(8-i)) != 0 {
			b[i] = "rwx"[i%3]
		}
	}
	if p&PermSticky != 0 {
		if b[8] == 'x' {
			b[8] = 't'
		} else {
			b[8] = 'T'
		}
	}
	return string(b[:])
}

// Caller is who a call is made for, as the namenode has authenticated it.
type Caller struct {
	User   string
	Groups []string
	Host   string // the client's IP address
}
