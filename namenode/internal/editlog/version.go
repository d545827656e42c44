package editlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// layoutVersion is the version of everything below the directory: VERSION, segments and images.
const layoutVersion = 1

// maxVersionFile bounds VERSION: four short fields.
const maxVersionFile = 16 << 10

// Identity says whose journal it is. It is given by whoever makes a directory and kept in the VERSION file.
type Identity struct {
	ClusterID   string
	NamespaceID int32
	BlockPoolID string
	CTime       int64
}

// check refuses what the VERSION file cannot hold.
func (id Identity) check() error {
	for _, s := range []string{id.ClusterID, id.BlockPoolID} {
		if len(s) > 1024 || strings.ContainsAny(s, "\r\n") || strings.TrimSpace(s) != s {
			return fmt.Errorf("editlog: identity %q: give at most 1024 bytes in one line without blanks around", s)
		}
	}
	return nil
}

// sum ties segments and images to the directory they were written in.
func (id Identity) sum() uint32 { return crc32.Checksum(versionFields(id), castagnoli) }

func versionFields(id Identity) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "software=minidfs\nstorageType=NAME_NODE\nlayoutVersion=%d\n", layoutVersion)
	fmt.Fprintf(&b, "namespaceID=%d\nclusterID=%s\nblockpoolID=%s\ncTime=%d\n",
		id.NamespaceID, id.ClusterID, id.BlockPoolID, id.CTime)
	return b.Bytes()
}

// formatVersion gives the text of the VERSION file.
func formatVersion(id Identity) []byte {
	b := versionFields(id)
	return fmt.Appendf(b, "checksum=%08x\n", crc32.Checksum(b, castagnoli))
}

// parseVersion reverses formatVersion, and nothing but it.
func parseVersion(text []byte) (Identity, error) {
	var id Identity
	fields, err := versionMap(text)
	if err != nil {
		return id, err
	}
	if got := fields["software"]; got != "minidfs" {
		return id, errors.New("it was not made by minidfs; give another directory")
	}
	if got := fields["layoutVersion"]; got != strconv.Itoa(layoutVersion) {
		return id, fmt.Errorf("its layout version is %q, this program knows %d; use the program that wrote it", got, layoutVersion)
	}
	namespace, err := strconv.ParseInt(fields["namespaceID"], 10, 32)
	if err != nil {
		return id, fmt.Errorf("namespaceID is %q, no number", fields["namespaceID"])
	}
	ctime, err := strconv.ParseInt(fields["cTime"], 10, 64)
	if err != nil {
		return id, fmt.Errorf("cTime is %q, no number", fields["cTime"])
	}
	id = Identity{
		ClusterID:   fields["clusterID"],
		NamespaceID: int32(namespace),
		BlockPoolID: fields["blockpoolID"],
		CTime:       ctime,
	}
	if !bytes.Equal(text, formatVersion(id)) {
		return Identity{}, errors.New("its checksum does not match its content; restore the directory from a copy")
	}
	return id, nil
}

// versionMap splits key=value lines; # begins a comment, as in Hadoop's file of that name.
func versionMap(text []byte) (map[string]string, error) {
	if len(text) > maxVersionFile {
		return nil, fmt.Errorf("it is longer than %d bytes", maxVersionFile)
	}
	fields := make(map[string]string)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxVersionFile+1)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("line %d is %q, not key=value", n, line)
		}
		fields[key] = value
	}
	return fields, lines.Err()
}
