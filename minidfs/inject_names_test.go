package minidfs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInjectUnknownNames refuses faults that could never apply: the test would prove nothing.
func TestInjectUnknownNames(t *testing.T) {
	for _, tt := range []struct {
		fault Fault
		want  string
	}{
		{Fault{Method: "adBlock"}, `minidfs: Inject: Fault.Method: there is no "adBlock"; the nearest is "addBlock"`},
		{Fault{Method: "addBlock", Node: "dn9"}, `minidfs: Inject: Fault.Node: there is no "dn9"; the nearest is "dn1"`},
		{Fault{}, "minidfs: Inject: a Fault names either a Method or a kind of Data"},
	} {
		var fake fakeT
		fake.run(func() { Start(&fake).Inject(tt.fault) })
		require.Equal(t, tt.want, fake.text())
	}
}
