package volume

import (
	"context"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// TestAudit finds each kind of damage, and nothing in a sound set.
func TestAudit(t *testing.T) {
	disks(t, func(t *testing.T, cfg Config) {
		s := openOne(t, cfg)
		data := random(1000)
		done, open := block(1, 1001, 1000), block(2, 1002, 0)
		put(t, s, done, data)
		w := create(t, s, open)
		write(t, w, 0, data[:512])
		require.NoError(t, s.Audit(t.Context()), "a replica that is being written is left out")
		require.NoError(t, w.Close())
		require.NoError(t, s.Audit(t.Context()))

		over, cancel := context.WithCancel(t.Context())
		cancel() // what does not fit is looked at once
		info, ok := s.Replica(done.ID)
		require.True(t, ok)
		for _, test := range []struct {
			name         string
			damage, mend func() error
			want         string
		}{
			{"longer", func() error { return afero.WriteFile(cfg.FS, info.Data, random(1001), 0o644) },
				func() error { return afero.WriteFile(cfg.FS, info.Data, data, 0o644) }, "has 1001 bytes, should have 1000"},
			{"gone", func() error { return cfg.FS.Rename(info.Meta, info.Data+".x") },
				func() error { return cfg.FS.Rename(info.Data+".x", info.Meta) }, "is missing, of a replica that is FINALIZED"},
			{"stray", func() error { return afero.WriteFile(cfg.FS, info.Data+"9", nil, 0o644) },
				func() error { return cfg.FS.Remove(info.Data + "9") }, "belongs to no replica"},
			{"used", func() error { s.Volumes()[0].used.Add(5); return nil },
				func() error { s.Volumes()[0].used.Add(-5); return nil }, "bytes are counted as used, the replicas have"},
		} {
			require.NoError(t, test.damage(), test.name)
			require.ErrorContains(t, s.Audit(over), test.want, test.name)
			require.NoError(t, test.mend(), test.name)
			require.NoError(t, s.Audit(over), test.name)
		}
		require.Empty(t, s.Invalidate(dfs.Block{ID: done.ID, GenStamp: done.GenStamp}))
		require.NoError(t, s.Audit(t.Context()))
	})
}
