package dfs

import (
	"fmt"
	"net"
	"strconv"
)

// StorageType is the kind of medium behind a volume.
type StorageType uint8

// The storage types, numbered as on the wire.
const (
	StorageDisk StorageType = iota + 1
	StorageSSD
	StorageArchive
	StorageRAMDisk
	StorageProvided
	StorageNVDIMM
)

// String gives HDFS's spelling.
func (t StorageType) String() string {
	switch t {
	case StorageDisk:
		return "DISK"
	case StorageSSD:
		return "SSD"
	case StorageArchive:
		return "ARCHIVE"
	case StorageRAMDisk:
		return "RAM_DISK"
	case StorageProvided:
		return "PROVIDED"
	case StorageNVDIMM:
		return "NVDIMM"
	}
	return fmt.Sprintf("StorageType(%d)", uint8(t))
}

// ReplicaState is a replica's state at its datanode, numbered as on the wire and on disk.
type ReplicaState uint8

// The replica states.
const (
	ReplicaFinalized ReplicaState = iota // complete, never changes under this generation stamp
	ReplicaRBW                           // being written by a client
	ReplicaRWR                           // was being written when the datanode stopped
	ReplicaRUR                           // under recovery
	ReplicaTemporary                     // being copied from another datanode
)

// String gives HDFS's spelling.
func (s ReplicaState) String() string {
	switch s {
	case ReplicaFinalized:
		return "FINALIZED"
	case ReplicaRBW:
		return "RBW"
	case ReplicaRWR:
		return "RWR"
	case ReplicaRUR:
		return "RUR"
	case ReplicaTemporary:
		return "TEMPORARY"
	}
	return fmt.Sprintf("ReplicaState(%d)", uint8(s))
}

// DatanodeID says who a datanode is (UUID, kept across restarts) and where it listens.
type DatanodeID struct {
	UUID           string
	IP             string
	Host           string
	XferPort       int // DataTransferProtocol
	IPCPort        int // Hadoop RPC
	InfoPort       int // HTTP in HDFS; 0 here
	InfoSecurePort int
}

// XferAddr is the ip:port that clients and datanodes transfer data to.
func (d DatanodeID) XferAddr() string { return net.JoinHostPort(d.IP, strconv.Itoa(d.XferPort)) }

// IPCAddr is the ip:port of the datanode's RPC server.
func (d DatanodeID) IPCAddr() string { return net.JoinHostPort(d.IP, strconv.Itoa(d.IPCPort)) }

// String gives HDFS's spelling, ip:xferPort.
func (d DatanodeID) String() string { return d.XferAddr() }
