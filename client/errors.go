package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// RemoteError is an error as a namenode or datanode sent it: its Class and its Message. It stands inside the
// *fs.PathError that a method returns; errors.Is asks it for its class (ErrSafeMode) and for the Go error the class stands
// for (fs.ErrNotExist).
type RemoteError = dfs.RemoteError

// Class is the name of a Java exception class, a string with its package. It is an error itself, for errors.Is.
type Class = dfs.Class

// ChecksumError says that data do not fit their checksums: at which Offset, what was Want and what Got.
type ChecksumError = transfer.ChecksumError

// The classes that callers ask for: errors.Is(err, client.ErrSafeMode).
const (
	ErrSafeMode            = dfs.ClassSafeMode
	ErrStandby             = dfs.ClassStandby
	ErrRetriable           = dfs.ClassRetriable
	ErrAlreadyBeingCreated = dfs.ClassAlreadyBeingCreated
	ErrRecoveryInProgress  = dfs.ClassRecoveryInProgress
	ErrLeaseExpired        = dfs.ClassLeaseExpired
	ErrNotReplicatedYet    = dfs.ClassNotReplicatedYet
	ErrNSQuotaExceeded     = dfs.ClassNSQuota
	ErrDSQuotaExceeded     = dfs.ClassDSQuota
	ErrSnapshot            = dfs.ClassSnapshot
	ErrSnapshotReadOnly    = dfs.ClassSnapshotAccess
	ErrXAttrNotFound       = dfs.ClassXAttrNotFound
	ErrACL                 = dfs.ClassACL
	ErrNotSupported        = dfs.ClassNoSuchMethod
)

var (
	// ErrClosed is in the chain of errors about a Client, Reader or Writer that was closed before.
	ErrClosed = fs.ErrClosed

	// ErrNoReplica is in the chain of the error of a read for which no datanode gave the data.
	ErrNoReplica = errors.New("no datanode gave the data")

	// ErrReplicating is in the chain of the error of a Close for which the last block was not reported in time.
	ErrReplicating = errors.New("the last block was not reported by enough datanodes")

	// ErrAppendOnly is in the chain of errors about changing bytes that are already in a file.
	ErrAppendOnly = fmt.Errorf("an HDFS file can only grow at its end: %w", errors.ErrUnsupported)
)

// closedError is why a Client was closed, where whoever closed it has said so.
type closedError struct{ error }

// Is says that it is an ErrClosed.
func (closedError) Is(target error) bool { return target == ErrClosed }

// Unwrap gives the reason.
func (e closedError) Unwrap() error { return e.error }

// NameNodesError is a call that no namenode answered in time.
type NameNodesError struct {
	Method   string
	Took     time.Duration
	Attempts int
	Tried    []*NodeError // what each namenode that was asked said last
}

func (e *NameNodesError) Error() string {
	s := make([]string, len(e.Tried))
	for i, t := range e.Tried {
		s[i] = t.Error()
	}
	return fmt.Sprintf("%s: no namenode answered in %v and %d attempts: %s", e.Method, e.Took.Round(time.Millisecond), e.Attempts, strings.Join(s, "; "))
}

// Unwrap gives what each namenode said.
func (e *NameNodesError) Unwrap() []error {
	errs := make([]error, len(e.Tried))
	for i, t := range e.Tried {
		errs[i] = t
	}
	return errs
}

// NodeError is what went wrong at one namenode or datanode.
type NodeError struct {
	Node string // host:port
	Err  error
}

func (e *NodeError) Error() string { return e.Node + ": " + e.Err.Error() }

// Unwrap gives Err.
func (e *NodeError) Unwrap() error { return e.Err }

// BlockError is a read that no replica could serve.
type BlockError struct {
	Block  Block
	Offset int64        // in the file, of the byte that could not be read
	Tried  []*NodeError // in order; empty where the namenode knows no replica
}

func (e *BlockError) Error() string {
	if len(e.Tried) == 0 {
		return fmt.Sprintf("block %v at offset %d: the namenode knows no datanode that has it", e.Block, e.Offset)
	}
	s := make([]string, len(e.Tried))
	for i, t := range e.Tried {
		s[i] = t.Error()
	}
	return fmt.Sprintf("block %v at offset %d: %v: %s", e.Block, e.Offset, ErrNoReplica, strings.Join(s, "; "))
}

// Unwrap gives ErrNoReplica and what each datanode said.
func (e *BlockError) Unwrap() []error {
	errs := []error{ErrNoReplica}
	for _, t := range e.Tried {
		errs = append(errs, t)
	}
	return errs
}

// onlyChecksums reports whether every replica that was tried turned out to be corrupt.
func (e *BlockError) onlyChecksums() bool {
	for _, t := range e.Tried {
		var c *ChecksumError
		if !errors.As(t, &c) {
			return false
		}
	}
	return len(e.Tried) > 0
}

// pathError wraps err once; nil and io.EOF stay what they are.
func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// cause tells why ctx ended: a closed client, or the caller's own reason.
func cause(ctx context.Context) error { return context.Cause(ctx) }

// errNotDir is ENOTDIR, as fs.PathErrors carry it.
const errNotDir = syscall.ENOTDIR
