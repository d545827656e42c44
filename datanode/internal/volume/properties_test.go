package volume

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProperties(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     properties
		err      string
	}{
		{"as Hadoop writes it", "#Tue Dec 01 05:22:44 UTC 2026\nstorageID=DS-1\nclusterID=CID-a\\:b\ncTime=0\nlayoutVersion=-57\n",
			properties{"storageID": "DS-1", "clusterID": "CID-a:b", "cTime": "0", "layoutVersion": "-57"}, ""},
		{"blanks and colons", "  a : b \r\n!c\n\n", properties{"a": "b"}, ""},
		{"empty", "", properties{}, ""},
		{"an empty value", "a=", properties{"a": ""}, ""},
		{"no value", "a=b\nabc", nil, `line 2: expected key=value, read "abc": corrupt VERSION file`},
		{"no key", "=b", nil, `line 1: expected key=value, read "=b": corrupt VERSION file`},
		{"twice", "a=1\na=2", nil, `line 2: key "a" stands there twice: corrupt VERSION file`},
		{"a backslash at the end", `a=b\`, properties{"a": `b\`}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := parseProperties([]byte(tc.in))
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, p)
		})
	}
}

func FuzzProperties(f *testing.F) {
	f.Add([]byte("#x\nstorageID=DS-1\nclusterID=CID\\:b\n"))
	f.Add([]byte("a=\\"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseProperties(b)
		if err != nil {
			require.ErrorIs(t, err, ErrBadVersion)
			return
		}
		for k, v := range p {
			for _, s := range []string{k, v} {
				for _, c := range s {
					if c == '\n' || c == '\\' || c == ' ' || c == '\t' || c == '\r' || c == '\f' {
						return // never written
					}
				}
			}
		}
		q, err := parseProperties(p.encode())
		require.NoError(t, err)
		require.Equal(t, p, q)
	})
}

func FuzzName(f *testing.F) {
	f.Add("blk_1073741825")
	f.Add("blk_1073741825_1001.meta")
	f.Add("blk_-1_-2.meta")
	f.Fuzz(func(t *testing.T, name string) {
		id, gs, meta, ok := parseName(name)
		switch {
		case !ok:
		case meta:
			id2, gs2, meta2, ok2 := parseName(metaName(id, gs))
			require.True(t, ok2 && meta2 && id == id2 && gs == gs2)
		default:
			id2, _, meta2, ok2 := parseName(dataName(id))
			require.True(t, ok2 && !meta2 && id == id2)
		}
	})
}
