package datanode

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"hash/crc32"
	"io"
	"syscall"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// put writes a block to datanodes.
func put(t testing.TB, dns []*DataNode, b dfs.Block, data []byte) {
	t.Helper()
	w := openWriter(t, dns, dfs.Block{ID: b.ID, GenStamp: b.GenStamp}, stageCreate, nil)
	w.all(0, data, 64512)
	w.Close()
}

func TestBlockChecksum(t *testing.T) {
	c := newCluster(t, 1, nil)
	data := random(1_050_000)
	put(t, c.dns, block(1, 1001, len(data)), data)
	put(t, c.dns, block(2, 1001, 0), nil)
	composite := &hdfspb.BlockChecksumOptionsProto{BlockChecksumType: hdfspb.BlockChecksumTypeProto_COMPOSITE_CRC.Enum(), StripeLength: ptr(uint64(0))}
	crc := func(p []byte) []byte {
		return binary.BigEndian.AppendUint32(nil, crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)))
	}
	sum := func(p []byte) []byte {
		s := md5.Sum(crc32c.Sum(nil, p))
		return s[:]
	}
	for _, tc := range []struct {
		name string
		b    dfs.Block
		o    *hdfspb.BlockChecksumOptionsProto
		want []byte
		crcs uint64
	}{
		{"all", block(1, 1001, len(data)), nil, sum(data), 2051},
		{"more than all", block(1, 1001, len(data)+1), nil, sum(data), 2051},
		{"whole chunks", block(1, 1001, 5120), nil, sum(data[:5120]), 10},
		{"a chunk cut", block(1, 1001, 5121), nil, sum(data[:5121]), 11},
		{"empty", block(2, 1001, 0), nil, sum(nil), 0},
		{"composite", block(1, 1001, len(data)), composite, crc(data), 2051},
		{"composite, a chunk cut", block(1, 1001, 777), composite, crc(data[:777]), 2},
		{"composite of nothing", block(2, 1001, 0), composite, crc(nil), 0},
		{"composite in stripes", block(1, 1001, 3000), &hdfspb.BlockChecksumOptionsProto{
			BlockChecksumType: hdfspb.BlockChecksumTypeProto_COMPOSITE_CRC.Enum(), StripeLength: ptr(uint64(1024)),
		}, append(append(crc(data[:1024]), crc(data[1024:2048])...), crc(data[2048:3000])...), 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn := connect(t, c.dns[0])
			conn.op(transfer.OpBlockChecksum, &hdfspb.OpBlockChecksumProto{Header: baseHeader(tc.b), BlockChecksumOptions: tc.o})
			r := conn.response()
			require.Equal(t, hdfspb.Status_SUCCESS, r.GetStatus(), r.GetMessage())
			k := r.GetChecksumResponse()
			require.Equal(t, tc.want, k.GetBlockChecksum())
			require.Equal(t, tc.crcs, k.GetCrcPerBlock())
			require.Equal(t, uint32(512), k.GetBytesPerCrc())
			require.Equal(t, hdfspb.ChecksumTypeProto_CHECKSUM_CRC32C, k.GetCrcType())
		})
	}
	conn := connect(t, c.dns[0])
	conn.op(transfer.OpBlockChecksum, &hdfspb.OpBlockChecksumProto{Header: baseHeader(block(9, 1, 1))})
	require.Equal(t, "Replica not found for blk_1073741833_1", conn.response().GetMessage())
}

func TestReadRefusals(t *testing.T) {
	c := newCluster(t, 1, nil)
	put(t, c.dns, block(1, 1001, 1000), random(1000))
	for _, tc := range []struct {
		name   string
		b      dfs.Block
		off, n int64
		err    string
	}{
		{"missing", block(9, 1001, 0), 0, 1, "ERROR: Replica not found for blk_1073741833_1001"},
		{"older", block(1, 1002, 0), 0, 1, "ERROR: Replica gen stamp < block genstamp, block=blk_1073741825_1002, replica=blk_1073741825_1001 (FINALIZED, 1000 bytes)"},
		{"beyond the end", block(1, 1001, 0), 1001, 0, "ERROR: Offset 1001 and length 0 don't match block blk_1073741825_1001 ( blockLen 1000 )"},
		{"too long", block(1, 1001, 0), 1, 1000, "ERROR: Offset 1 and length 1000 don't match block blk_1073741825_1001 ( blockLen 1000 )"},
		{"longer than anything", block(1, 1001, 0), 1, -1, "ERROR: Offset 0 and length 9223372036854775807 don't match block blk_1073741825_1001 ( blockLen 1000 )"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := read(t, c.dns[0], tc.b, tc.off, tc.n)
			require.EqualError(t, err, tc.err)
		})
	}
	got, err := read(t, c.dns[0], block(1, 1001, 0), 1000, 0)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestReadWithoutChecksums(t *testing.T) {
	c := newCluster(t, 1, nil)
	put(t, c.dns, block(1, 1001, 200_000), random(200_000))
	conn := connect(t, c.dns[0])
	conn.op(transfer.OpReadBlock, &hdfspb.OpReadBlockProto{
		Header: clientHeader(block(1, 1001, 0), "c"), Offset: ptr(uint64(5)), Len: ptr(uint64(199_995)), SendChecksums: ptr(false),
	})
	r := conn.response().GetReadOpChecksumInfo()
	require.Equal(t, hdfspb.ChecksumTypeProto_CHECKSUM_NULL, r.GetChecksum().GetType())
	require.Equal(t, uint32(512), r.GetChecksum().GetBytesPerChecksum())
	require.Zero(t, r.GetChunkOffset())
	var got []byte
	packets := transfer.NewPacketReader(conn.r)
	for {
		p, err := packets.Next()
		require.NoError(t, err)
		require.Empty(t, p.Sums)
		if p.Last {
			break
		}
		got = append(got, p.Data...)
	}
	require.Equal(t, random(200_000), got)
}

func TestCopyBlock(t *testing.T) {
	c := newCluster(t, 1, nil)
	data := random(100_000)
	put(t, c.dns, block(1, 1001, len(data)), data)
	conn := connect(t, c.dns[0])
	conn.op(transfer.OpCopyBlock, &hdfspb.OpCopyBlockProto{Header: baseHeader(block(1, 1001, 0))})
	require.Equal(t, hdfspb.Status_SUCCESS, conn.response().GetStatus())
	var got []byte
	packets := transfer.NewPacketReader(conn.r)
	for {
		p, err := packets.Next()
		require.NoError(t, err)
		got = append(got, p.Data...)
		if p.Last {
			break
		}
	}
	require.Equal(t, data, got)
	rest, err := io.ReadAll(conn.r)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 'd'}, rest)
}

func TestReplaceBlock(t *testing.T) {
	c := newCluster(t, 2, nil)
	data := random(100_000)
	b := block(1, 1001, len(data))
	put(t, c.dns[:1], b, data)
	conn := connect(t, c.dns[1])
	conn.op(transfer.OpReplaceBlock, &hdfspb.OpReplaceBlockProto{Header: baseHeader(b), DelHint: ptr("hint"), Source: targets(c.dns[0])[0]})
	r := conn.response()
	require.Equal(t, hdfspb.Status_SUCCESS, r.GetStatus(), r.GetMessage())
	mustRead(t, c.dns[1], b, data)
	c.nn.until(t, "the copy is reported", func() bool { return c.nn.count(b, received) == 2 })
	c.nn.mu.Lock()
	for _, k := range c.nn.changes {
		if k.uuid == c.dns[1].ID().UUID {
			require.Equal(t, "hint", k.hint)
		}
	}
	c.nn.mu.Unlock()

	conn = connect(t, c.dns[1])
	conn.op(transfer.OpReplaceBlock, &hdfspb.OpReplaceBlockProto{Header: baseHeader(block(7, 1, 0)), DelHint: ptr(""), Source: targets(c.dns[0])[0]})
	r = conn.response()
	require.Equal(t, hdfspb.Status_ERROR, r.GetStatus())
	require.Contains(t, r.GetMessage(), "Replica not found for blk_1073741831_1")
}

func TestReplaceAcrossStorages(t *testing.T) {
	c := newCluster(t, 1, func(_ int, o *Options) {
		disk := faultfs.NewDisk(faultfs.Options{})
		o.Volumes = []Volume{{FS: disk, Dir: "/d", Capacity: 1 << 30}, {FS: disk, Dir: "/s", Type: dfs.StorageSSD, Capacity: 1 << 30}}
	})
	d := c.dns[0]
	data := random(100_000)
	b := block(1, 1001, len(data))
	put(t, c.dns, b, data)
	conn := connect(t, d)
	conn.op(transfer.OpReplaceBlock, &hdfspb.OpReplaceBlockProto{
		Header: baseHeader(b), DelHint: ptr(d.ID().UUID), Source: targets(d)[0], StorageType: hdfspb.StorageTypeProto_SSD.Enum(),
	})
	require.Equal(t, hdfspb.Status_SUCCESS, conn.response().GetStatus())
	require.Equal(t, d.Storages()[1].ID, d.Replicas()[0].Storage)
	mustRead(t, d, b, data)
}

func TestUnsupportedOperations(t *testing.T) {
	c := newCluster(t, 1, nil)
	for op, want := range map[transfer.Op]hdfspb.Status{
		transfer.OpRequestShortCircuitFDs: hdfspb.Status_ERROR_UNSUPPORTED,
		transfer.OpRequestShortCircuitShm: hdfspb.Status_ERROR_UNSUPPORTED,
		transfer.OpBlockGroupChecksum:     hdfspb.Status_ERROR_UNSUPPORTED,
		transfer.OpReadMetadata:           hdfspb.Status_ERROR,
		transfer.Op(7):                    hdfspb.Status_ERROR,
	} {
		conn := connect(t, c.dns[0])
		_, err := conn.Write([]byte{0, 28, byte(op)})
		require.NoError(t, err)
		require.Equal(t, want, conn.response().GetStatus(), op.String())
	}
}

// TestReadError has a disk that cannot read one replica: the namenode hears of it, and the volume stays.
func TestReadError(t *testing.T) {
	fs := faultfs.Wrap(faultfs.NewDisk(faultfs.Options{}))
	c := newCluster(t, 1, func(_ int, o *Options) { o.Volumes = []Volume{{FS: fs, Dir: "/d", Capacity: 1 << 30}} })
	b := block(1, 1001, 300_000)
	put(t, c.dns, b, random(300_000))
	fs.Inject(faultfs.Rule{Kinds: faultfs.Read, Match: func(op faultfs.Op) bool {
		return faultfs.Base("blk_1073741825")(op) && op.Offset >= 200_000
	}, Err: syscall.EIO})
	got, err := read(t, c.dns[0], b, 0, 1000)
	require.NoError(t, err)
	require.Equal(t, random(300_000)[:1000], got)
	_, err = read(t, c.dns[0], b, 0, 300_000)
	require.Error(t, err)
	c.nn.until(t, "the replica is reported", func() bool { return len(c.nn.bad) == 1 })
	require.NoError(t, c.dns[0].Storages()[0].Failure)
}

// TestDamage breaks a replica's files: the reader hears of it, and so does the namenode.
func TestDamage(t *testing.T) {
	data := random(9000)
	b := block(1, 1001, len(data))
	for _, tc := range []struct {
		name    string
		damage  func(r Replica)
		err     string
		bad     bool
		deleted bool
	}{
		{"data", func(r Replica) {
			p, _ := afero.ReadFile(r.FS, r.Data)
			p[5000] ^= 1
			_ = afero.WriteFile(r.FS, r.Data, p, 0o644)
		}, "transfer: checksum error at byte 4608", false, false},
		{"sums", func(r Replica) {
			p, _ := afero.ReadFile(r.FS, r.Meta)
			p[7] ^= 1
			_ = afero.WriteFile(r.FS, r.Meta, p, 0o644)
		}, "transfer: checksum error at byte 0", false, false},
		{"header", func(r Replica) {
			p, _ := afero.ReadFile(r.FS, r.Meta)
			p[0] ^= 1
			_ = afero.WriteFile(r.FS, r.Meta, p, 0o644)
		}, "corrupt checksum file", true, false},
		{"block file gone", func(r Replica) { _ = r.FS.Remove(r.Data) }, "the files of the replica are missing", false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, 1, nil)
			put(t, c.dns, b, data)
			tc.damage(c.dns[0].Replicas()[0])
			_, err := read(t, c.dns[0], b, 0, 9000)
			require.ErrorContains(t, err, tc.err)
			if !tc.deleted {
				require.Error(t, c.dns[0].Verify(context.Background()))
				c.nn.until(t, "the corrupt replica is reported", func() bool { return len(c.nn.bad) > 0 })
				c.nn.mu.Lock()
				require.Equal(t, b, blockOf(c.nn.bad[0].GetB()).Block)
				require.Equal(t, c.dns[0].ID().UUID, c.nn.bad[0].Locs[0].GetId().GetDatanodeUuid())
				c.nn.mu.Unlock()
				return
			}
			until(t, func() bool { return len(c.dns[0].Replicas()) == 0 })
		})
	}
}
