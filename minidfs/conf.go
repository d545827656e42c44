package minidfs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/namenode"
)

// settings are what HDFS's configuration keys turn into.
type settings struct {
	namenode    namenode.Options // the parts that keys set; the rest is filled in at start
	replication int16            // 0: min(3, datanodes)

	heartbeat   time.Duration
	blockReport time.Duration
	syncOnClose bool
	given       map[string]string // every key that was set: the site files of other clients have them too
}

// key is one honoured HDFS key.
type key struct {
	name string
	note string // what it sets, for the README and --help
	set  func(s *settings, value string) error
}

// keys are the HDFS keys that a cluster honours, sorted by name.
func keys() []key {
	nn := func(s *settings) *namenode.Options { return &s.namenode }
	all := []key{
		{"dfs.blocksize", "default block size, bytes or 16m", func(s *settings, v string) error { return size(v, &nn(s).Defaults.BlockSize) }},
		{"dfs.bytes-per-checksum", "bytes under one checksum", func(s *settings, v string) error { return integer(v, &nn(s).Defaults.BytesPerChecksum, 1, 1<<20) }},
		{"dfs.client-write-packet-size", "bytes a packet", func(s *settings, v string) error { return integer(v, &nn(s).Defaults.PacketSize, 512, 16<<20) }},
		{"dfs.checksum.type", "NULL, CRC32 or CRC32C", func(s *settings, v string) error { return checksumType(v, &nn(s).Defaults.Checksum) }},
		{"dfs.replication", "default replicas of a file", func(s *settings, v string) error { return integer(v, &s.replication, 1, 512) }},
		{"dfs.replication.max", "most replicas of a file", func(s *settings, v string) error { return integer(v, &nn(s).Limits.MaxReplication, 1, math.MaxInt16) }},
		{"dfs.namenode.replication.min", "replicas that complete a block", func(s *settings, v string) error { return integer(v, &nn(s).Limits.MinReplication, 1, 512) }},
		{"io.file.buffer.size", "buffer size told to clients", func(s *settings, v string) error { return integer(v, &nn(s).Defaults.BufferSize, 1, 1<<30) }},
		{"fs.trash.interval", "minutes until trash is emptied, told to clients", func(s *settings, v string) error {
			return duration(v, time.Minute, &nn(s).Defaults.TrashInterval)
		}},
		{"dfs.permissions.enabled", "true or false", func(s *settings, v string) error {
			var on bool
			err := boolean(v, &on)
			nn(s).NoPermissions = !on
			return err
		}},
		{"dfs.permissions.superusergroup", "the group of superusers", func(s *settings, v string) error { return name(v, &nn(s).Supergroup) }},
		{"hadoop.user.group.static.mapping.overrides", "groups of users: alice=staff,dev;bob=", groupMapping},
		{"dfs.namenode.fs-limits.min-block-size", "smallest block size", func(s *settings, v string) error { return size(v, &nn(s).Limits.MinBlockSize) }},
		{"dfs.namenode.fs-limits.max-blocks-per-file", "most blocks of a file", func(s *settings, v string) error { return integer(v, &nn(s).Limits.MaxBlocksPerFile, 1, math.MaxInt32) }},
		{"dfs.namenode.fs-limits.max-component-length", "longest name, bytes", func(s *settings, v string) error { return integer(v, &nn(s).Limits.MaxNameLen, 1, math.MaxInt32) }},
		{"dfs.namenode.fs-limits.max-directory-items", "most children of a directory", func(s *settings, v string) error { return integer(v, &nn(s).Limits.MaxDirItems, 1, 6_400_000) }},
		{"dfs.namenode.fs-limits.max-xattrs-per-inode", "most extended attributes", func(s *settings, v string) error { return integer(v, &nn(s).Limits.MaxXAttrs, 1, math.MaxInt32) }},
		{"dfs.namenode.fs-limits.max-xattr-size", "longest extended attribute, bytes", func(s *settings, v string) error { return integer(v, &nn(s).Limits.MaxXAttrSize, 1, 32<<10) }},
		{"dfs.ls.limit", "entries of one listing call", func(s *settings, v string) error { return integer(v, &nn(s).Limits.ListLimit, 1, 1_000_000) }},
		{"dfs.namenode.accesstime.precision", "access times are kept this exactly; 0: not at all", func(s *settings, v string) error {
			err := duration(v, time.Millisecond, &nn(s).AccessPrecision)
			if nn(s).AccessPrecision == 0 {
				nn(s).AccessPrecision = -1
			}
			return err
		}},
		{"dfs.namenode.safemode.threshold-pct", "share of blocks that must be reported", func(s *settings, v string) error {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil || !(f <= 1.5) {
				return fmt.Errorf("a share such as 0.999 is wanted")
			}
			if f <= 0 {
				f = -1
			}
			nn(s).SafeModeThreshold = f
			return nil
		}},
		{"dfs.namenode.safemode.min.datanodes", "live datanodes to wait for", func(s *settings, v string) error { return integer(v, &nn(s).SafeModeDatanodes, 0, math.MaxInt32) }},
		{"dfs.namenode.safemode.extension", "time in safe mode after the threshold", func(s *settings, v string) error {
			return duration(v, time.Millisecond, &nn(s).SafeModeExtension)
		}},
		{"dfs.heartbeat.interval", "between heartbeats of a datanode", func(s *settings, v string) error {
			err := duration(v, time.Second, &s.heartbeat)
			nn(s).Heartbeat = s.heartbeat
			return err
		}},
		{"dfs.namenode.heartbeat.recheck-interval", "a datanode is dead after twice this and ten heartbeats", func(s *settings, v string) error {
			return duration(v, time.Millisecond, &nn(s).RecheckInterval)
		}},
		{"dfs.namenode.stale.datanode.interval", "a datanode is stale after", func(s *settings, v string) error { return duration(v, time.Millisecond, &nn(s).StaleAfter) }},
		{"dfs.blockreport.intervalMsec", "between full block reports", func(s *settings, v string) error { return duration(v, time.Millisecond, &s.blockReport) }},
		{"dfs.datanode.synconclose", "true: datanodes sync every block when it is finished", func(s *settings, v string) error { return boolean(v, &s.syncOnClose) }},
		{"dfs.namenode.lease-hard-limit-sec", "a lease is recovered after", func(s *settings, v string) error { return duration(v, time.Second, &nn(s).HardLimit) }},
		{"dfs.namenode.checkpoint.txns", "edits between two images", func(s *settings, v string) error { return integer(v, &nn(s).CheckpointOps, 1, math.MaxInt32) }},
		{"fs.permissions.umask-mode", "umask of clients", func(_ *settings, v string) error { return umask(v) }},
	}
	slices.SortFunc(all, func(a, b key) int { return strings.Compare(a.name, b.name) })
	return all
}

// apply sets one key, or says which honoured key comes nearest.
func (s *settings) apply(name, value string) error {
	all := keys()
	for _, k := range all {
		if k.name == name {
			if err := k.set(s, strings.TrimSpace(value)); err != nil {
				return fmt.Errorf("minidfs: %s=%s: %w", name, value, err)
			}
			s.given[name] = strings.TrimSpace(value)
			return nil
		}
	}
	nearest := slices.MinFunc(all, func(a, b key) int { return distance(name, a.name) - distance(name, b.name) })
	return fmt.Errorf("minidfs: the key %s is not honoured; the nearest that is: %s (%s)", name, nearest.name, nearest.note)
}

// HonouredKeys lists the HDFS keys that Conf and `serve -D` take, as name and note, sorted by name.
func HonouredKeys() [][2]string {
	var list [][2]string
	for _, k := range keys() {
		list = append(list, [2]string{k.name, k.note})
	}
	return list
}

func groupMapping(s *settings, value string) error {
	groups := map[string][]string{}
	for _, entry := range strings.Split(value, ";") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		user, list, ok := strings.Cut(entry, "=")
		if !ok || user == "" {
			return fmt.Errorf("%q is not user=group,group", entry)
		}
		groups[user] = nil
		for _, g := range strings.Split(list, ",") {
			if g = strings.TrimSpace(g); g != "" {
				groups[user] = append(groups[user], g)
			}
		}
	}
	for user, list := range groups {
		s.namenode.Groups[user] = list
	}
	return nil
}

func name(v string, to *string) error {
	if v == "" {
		return fmt.Errorf("a name is wanted")
	}
	*to = v
	return nil
}

// umask accepts an octal mask, which other clients read from the site files.
func umask(v string) error {
	if n, err := strconv.ParseUint(v, 8, 32); err != nil || n > 0o777 {
		return fmt.Errorf("an octal mask such as 022 is wanted")
	}
	return nil
}

func boolean(v string, to *bool) error {
	switch strings.ToLower(v) {
	case "true":
		*to = true
	case "false":
		*to = false
	default:
		return fmt.Errorf("true or false is wanted")
	}
	return nil
}

func integer[T int | int16 | int64](v string, to *T, least, most int64) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("a whole number from %d to %d is wanted", least, most)
	}
	*to = T(n)
	return nil
}

// size reads a number of bytes with HDFS's suffixes k m g t p e (powers of 1,024).
func size(v string, to *int64) error {
	digits, shift := v, 0
	if v != "" {
		if i := strings.IndexByte("kmgtpe", v[len(v)-1]|0x20); i >= 0 {
			digits, shift = v[:len(v)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("a size such as 1048576, 16m or 1g is wanted")
	}
	*to = n << shift
	return nil
}

// duration reads HDFS's times: a bare number counts in unit, else ns us ms s m h d.
func duration(v string, unit time.Duration, to *time.Duration) error {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		if n < 0 || n > int64(math.MaxInt64/unit) {
			return fmt.Errorf("a time from 0 up is wanted")
		}
		*to = time.Duration(n) * unit
		return nil
	}
	if days, ok := strings.CutSuffix(v, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			*to = time.Duration(n) * 24 * time.Hour
			return nil
		}
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return fmt.Errorf("a time such as 30s, 5m or 1h is wanted")
	}
	*to = d
	return nil
}

func checksumType(v string, to *dfs.ChecksumType) error {
	switch v {
	case "NULL":
		*to = dfs.ChecksumNull
	case "CRC32":
		*to = dfs.ChecksumCRC32
	case "CRC32C":
		*to = dfs.ChecksumCRC32C
	default:
		return fmt.Errorf("NULL, CRC32 or CRC32C is wanted")
	}
	return nil
}

// distance is the edit distance of two strings.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
