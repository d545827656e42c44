package volume

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/afero"
)

const (
	layoutVersion  = -57
	storageType    = "DATA_NODE"
	maxVersionFile = 64 << 10
)

// ErrBadVersion is in the chain of every error about a VERSION file that makes no sense.
var ErrBadVersion = errors.New("corrupt VERSION file")

// Pool is the file system that a set of volumes belongs to, as its namenodes name it.
type Pool struct {
	ID          string // BP-...
	ClusterID   string
	NamespaceID uint32
	CTime       uint64
}

// properties is the content of a VERSION file: lines of key=value.
type properties map[string]string

// parseProperties decodes a Java properties file as far as VERSION files use it.
func parseProperties(b []byte) (properties, error) {
	p := make(properties)
	for i, line := range strings.Split(string(b), "\n") {
		line = strings.Trim(line, " \t\r\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, ok := cutUnescaped(line)
		if !ok {
			return nil, fmt.Errorf("line %d: expected key=value, read %.80q: %w", i+1, line, ErrBadVersion)
		}
		if _, twice := p[key]; twice {
			return nil, fmt.Errorf("line %d: key %.80q stands there twice: %w", i+1, key, ErrBadVersion)
		}
		p[key] = value
	}
	return p, nil
}

// cutUnescaped splits at the first = or : that no backslash protects, and drops the backslashes.
func cutUnescaped(line string) (key, value string, ok bool) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=', ':':
			return unescape(strings.TrimRight(line[:i], " \t")), unescape(strings.TrimLeft(line[i+1:], " \t")), i > 0
		}
	}
	return "", "", false
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// encode gives the file, in the order of keys.
func (p properties) encode() []byte {
	keys := make([]string, 0, len(p))
	for k := range p {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	esc := strings.NewReplacer(`\`, `\\`, `=`, `\=`, `:`, `\:`, `#`, `\#`, `!`, `\!`)
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(esc.Replace(k) + "=" + esc.Replace(p[k]) + "\n")
	}
	return []byte(b.String())
}

// uint gives a number that has to be there.
func (p properties) uint(key string, bits int) (uint64, error) {
	n, err := strconv.ParseUint(p[key], 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%s is %.40q, expected a number: %w", key, p[key], ErrBadVersion)
	}
	return n, nil
}

// checkLayout refuses what another version of HDFS may have laid out differently.
func (p properties) checkLayout() error {
	if v := p["layoutVersion"]; v != strconv.Itoa(layoutVersion) {
		return fmt.Errorf("layoutVersion is %.40q, expected %d: %w", v, layoutVersion, ErrBadVersion)
	}
	return nil
}

// readProperties reads a VERSION file; the error of one that is not there is fs.ErrNotExist.
func readProperties(fs afero.Fs, name string) (properties, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxVersionFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxVersionFile {
		return nil, fmt.Errorf("volume: %s is longer than %d bytes: %w", name, maxVersionFile, ErrBadVersion)
	}
	p, err := parseProperties(b)
	if err == nil {
		err = p.checkLayout()
	}
	if err != nil {
		return nil, fmt.Errorf("volume: %s: %w", name, err)
	}
	return p, nil
}

// writeProperties writes a VERSION file so that a crash leaves the old one or the new one.
func writeProperties(fs afero.Fs, name string, p properties) error {
	tmp := name + ".tmp"
	f, err := fs.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(p.encode())
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = fs.Rename(tmp, name)
	}
	return err
}
