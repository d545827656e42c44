package dfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// Class is a Java exception class by its full name: HDFS's errors travel as a class and a message. A Class is itself
// an error, so that errors.Is(err, dfs.ClassSafeMode) asks for it.
type Class string

// The classes that HDFS's protocols use.
const (
	ClassIO                  Class = "java.io.IOException"
	ClassEOF                 Class = "java.io.EOFException"
	ClassFileNotFound        Class = "java.io.FileNotFoundException"
	ClassUnsupported         Class = "java.lang.UnsupportedOperationException"
	ClassIllegalArgument     Class = "java.lang.IllegalArgumentException"
	ClassNullPointer         Class = "java.lang.NullPointerException"
	ClassRuntime             Class = "java.lang.RuntimeException"
	ClassHadoopIllegal       Class = "org.apache.hadoop.HadoopIllegalArgumentException"
	ClassAccessControl       Class = "org.apache.hadoop.security.AccessControlException"
	ClassAuthorization       Class = "org.apache.hadoop.security.authorize.AuthorizationException"
	ClassFileAlreadyExists   Class = "org.apache.hadoop.fs.FileAlreadyExistsException"
	ClassParentNotDirectory  Class = "org.apache.hadoop.fs.ParentNotDirectoryException"
	ClassPathIsNotDirectory  Class = "org.apache.hadoop.fs.PathIsNotDirectoryException"
	ClassPathIsNotEmpty      Class = "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"
	ClassInvalidPath         Class = "org.apache.hadoop.fs.InvalidPathException"
	ClassXAttrNotFound       Class = "org.apache.hadoop.hdfs.protocol.XAttrNotFoundException"
	ClassUnresolvedPath      Class = "org.apache.hadoop.hdfs.protocol.UnresolvedPathException"
	ClassAlreadyBeingCreated Class = "org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException"
	ClassRecoveryInProgress  Class = "org.apache.hadoop.hdfs.protocol.RecoveryInProgressException"
	ClassUnregisteredNode    Class = "org.apache.hadoop.hdfs.protocol.UnregisteredNodeException"
	ClassComponentTooLong    Class = "org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException"
	ClassTooManyItems        Class = "org.apache.hadoop.hdfs.protocol.FSLimitException$MaxDirectoryItemsExceededException"
	ClassNSQuota             Class = "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException"
	ClassDSQuota             Class = "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException"
	ClassSnapshot            Class = "org.apache.hadoop.hdfs.protocol.SnapshotException"
	ClassSnapshotAccess      Class = "org.apache.hadoop.hdfs.protocol.SnapshotAccessControlException"
	ClassACL                 Class = "org.apache.hadoop.hdfs.protocol.AclException"
	ClassLeaseExpired        Class = "org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException"
	ClassNotReplicatedYet    Class = "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"
	ClassSafeMode            Class = "org.apache.hadoop.hdfs.server.namenode.SafeModeException"
	ClassRetryStartFile      Class = "org.apache.hadoop.hdfs.server.namenode.RetryStartFileException"
	ClassUnsupportedAction   Class = "org.apache.hadoop.hdfs.server.namenode.UnsupportedActionException"
	ClassReplicaNotFound     Class = "org.apache.hadoop.hdfs.server.datanode.ReplicaNotFoundException"
	ClassReplicaExists       Class = "org.apache.hadoop.hdfs.server.datanode.ReplicaAlreadyExistsException"
	ClassDisallowedDatanode  Class = "org.apache.hadoop.hdfs.server.protocol.DisallowedDatanodeException"
	ClassInvalidReportLease  Class = "org.apache.hadoop.hdfs.server.protocol.InvalidBlockReportLeaseException"
	ClassIncorrectVersion    Class = "org.apache.hadoop.hdfs.server.common.IncorrectVersionException"
	ClassStandby             Class = "org.apache.hadoop.ipc.StandbyException"
	ClassRetriable           Class = "org.apache.hadoop.ipc.RetriableException"
	ClassNoSuchMethod        Class = "org.apache.hadoop.ipc.RpcNoSuchMethodException"
	ClassNoSuchProtocol      Class = "org.apache.hadoop.ipc.RpcNoSuchProtocolException"
	ClassRPCServer           Class = "org.apache.hadoop.ipc.RpcServerException"
	ClassVersionMismatch     Class = "org.apache.hadoop.ipc.RPC$VersionMismatch"
	ClassServiceFailed       Class = "org.apache.hadoop.ha.ServiceFailedException"
	ClassHealthCheckFailed   Class = "org.apache.hadoop.ha.HealthCheckFailedException"
)

// Error gives the full class name.
func (c Class) Error() string { return string(c) }

// Short gives the name without its package.
func (c Class) Short() string { return string(c)[strings.LastIndexAny(string(c), ".$")+1:] }

// Native gives the Go error that callers know for the class, or nil: fs.ErrNotExist for a FileNotFoundException.
func (c Class) Native() error {
	switch c {
	case ClassFileNotFound, ClassReplicaNotFound:
		return fs.ErrNotExist
	case ClassFileAlreadyExists, ClassAlreadyBeingCreated:
		return fs.ErrExist
	case ClassAccessControl, ClassSnapshotAccess, ClassAuthorization:
		return fs.ErrPermission
	case ClassPathIsNotEmpty:
		return syscall.ENOTEMPTY
	case ClassParentNotDirectory, ClassPathIsNotDirectory:
		return syscall.ENOTDIR
	case ClassHadoopIllegal, ClassIllegalArgument, ClassInvalidPath:
		return fs.ErrInvalid
	case ClassUnsupported, ClassUnsupportedAction, ClassNoSuchMethod, ClassNoSuchProtocol:
		return errors.ErrUnsupported
	}
	return nil
}

// RemoteError is an error as HDFS sends it. Servers return it to choose the class; clients get it back from the wire.
type RemoteError struct {
	Class   Class
	Message string
}

// Errorf makes a RemoteError. Errors that are no RemoteError travel as java.io.IOException.
func Errorf(class Class, format string, args ...any) *RemoteError {
	return &RemoteError{Class: class, Message: fmt.Sprintf(format, args...)}
}

// Error gives the message and the short class name.
func (e *RemoteError) Error() string { return e.Message + " (" + e.Class.Short() + ")" }

// Unwrap gives the class, and the Go error that it stands for where there is one.
func (e *RemoteError) Unwrap() []error {
	if n := e.Class.Native(); n != nil {
		return []error{e.Class, n}
	}
	return []error{e.Class}
}

// AsRemote gives err as it travels: the RemoteError inside it, or a java.io.IOException with its text.
func AsRemote(err error) *RemoteError {
	var r *RemoteError
	if errors.As(err, &r) {
		return r
	}
	return &RemoteError{Class: ClassIO, Message: err.Error()}
}
