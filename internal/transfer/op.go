package transfer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"
)

// Version is the only version of the protocol in use since Hadoop 2.
const Version = 28

// saslMagic takes the version's place when a client wants to negotiate protection first.
const saslMagic = 0xdead

// Op is an operation code.
type Op byte

// The operations.
const (
	OpWriteBlock             Op = 80
	OpReadBlock              Op = 81
	OpReadMetadata           Op = 82
	OpReplaceBlock           Op = 83
	OpCopyBlock              Op = 84
	OpBlockChecksum          Op = 85
	OpTransferBlock          Op = 86
	OpRequestShortCircuitFDs Op = 87
	OpReleaseShortCircuitFDs Op = 88
	OpRequestShortCircuitShm Op = 89
	OpBlockGroupChecksum     Op = 90
)

const opHeaderLen = 3

var opNames = [...]string{
	"WRITE_BLOCK", "READ_BLOCK", "READ_METADATA", "REPLACE_BLOCK", "COPY_BLOCK", "BLOCK_CHECKSUM", "TRANSFER_BLOCK",
	"REQUEST_SHORT_CIRCUIT_FDS", "RELEASE_SHORT_CIRCUIT_FDS", "REQUEST_SHORT_CIRCUIT_SHM", "BLOCK_GROUP_CHECKSUM",
}

// String gives HDFS's spelling.
func (o Op) String() string {
	if i := int(o) - int(OpWriteBlock); i >= 0 && i < len(opNames) {
		return opNames[i]
	}
	return fmt.Sprintf("Op(%d)", byte(o))
}

// ErrMalformed is in the chain of every error about bytes that were read but make no sense.
var ErrMalformed = errors.New("malformed data transfer")

// VersionError says that the peer speaks something else: another version, or another protocol altogether.
type VersionError struct{ Got uint16 }

func (e *VersionError) Error() string {
	if e.Got == saslMagic {
		return "transfer: the peer wants to negotiate SASL, which is off: expected version 28, read de ad"
	}
	return fmt.Sprintf("transfer: expected version %d, read %d", Version, int16(e.Got))
}

// Unwrap gives ErrMalformed.
func (e *VersionError) Unwrap() error { return ErrMalformed }

// ReadOp reads the version and the operation code. The error is io.EOF, bare, where the peer closed between operations.
func ReadOp(r *bufio.Reader) (Op, error) {
	b, err := r.Peek(opHeaderLen)
	if len(b) >= 2 {
		if v := binary.BigEndian.Uint16(b); v != Version {
			return 0, &VersionError{Got: v}
		}
	}
	if err != nil {
		if len(b) == 0 {
			return 0, err
		}
		return 0, short("operation", len(b), opHeaderLen, err)
	}
	op := Op(b[2])
	_, err = r.Discard(opHeaderLen)
	return op, err
}

// WriteOp writes the version, the operation code and its message in one Write.
func WriteOp(w io.Writer, op Op, m proto.Message) error {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 256), Version)
	b, err := AppendMessage(append(b, byte(op)), m)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// short is the error for a connection that ended, or failed, inside something.
func short(what string, got, want int, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("transfer: %s: read %d of %d bytes: %w", what, got, want, err)
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("transfer: %s: %w", fmt.Sprintf(format, args...), ErrMalformed)
}
