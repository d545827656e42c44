package editlog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strconv"

	"github.com/spf13/afero"
)

// formatSeen gives the text of the seen_txid file: the number, as in Hadoop's file of that name, and its checksum.
func formatSeen(txid uint64) []byte {
	b := fmt.Appendf(nil, "%d\n", txid)
	return fmt.Appendf(b, "checksum=%08x\n", crc32.Checksum(b, castagnoli))
}

// parseSeen reverses formatSeen, and nothing but it.
func parseSeen(text []byte) (uint64, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	txid, err := strconv.ParseUint(string(line), 10, 64)
	if err != nil || !bytes.Equal(text, formatSeen(txid)) {
		return 0, errors.New("its checksum does not match its content")
	}
	return txid, nil
}

// seen gives the first transaction id of a segment that the directory must hold, that one or a later one; 0 if none was
// noted.
func (s *store) seen() (uint64, error) {
	text, err := afero.ReadFile(s.fs, s.path(seenName))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("editlog: cannot read %s: %w", s.path(seenName), err)
	}
	txid, err := parseSeen(text)
	if err != nil {
		return 0, fmt.Errorf("editlog: cannot use %s: %w; restore the directory from a copy, "+
			"or remove this file to start with the edits that are there", s.path(seenName), err)
	}
	return txid, nil
}

// see notes the segment that begins with txid: after it is durable, before an edit goes into it.
func (s *store) see(txid uint64) error { return s.write(seenName, writeBytes(formatSeen(txid))) }
