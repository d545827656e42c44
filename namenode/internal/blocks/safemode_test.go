package blocks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

const (
	textManual = `It was turned on manually. Use "hdfs dfsadmin -safemode leave" to turn safe mode off.`
	textOff    = "Safe mode will be turned off automatically "
)

// The texts are those of a Hadoop 3.4.1 with 11 blocks.
func TestSafeModeStartup(t *testing.T) {
	for _, c := range []struct {
		name                        string
		nodes                       int
		none, some, one, two, later string // "" means off
	}{
		{"blocks only", 0,
			"The reported blocks 0 needs additional 10 blocks to reach the threshold 0.9990 of total blocks 11.\nThe minimum number of live datanodes is not required. " + textOff + "once the thresholds have been reached.",
			"The reported blocks 9 needs additional 1 blocks to reach the threshold 0.9990 of total blocks 11.\nThe minimum number of live datanodes is not required. " + textOff + "once the thresholds have been reached.",
			"The reported blocks 11 has reached the threshold 0.9990 of total blocks 11. The minimum number of live datanodes is not required. In safe mode extension. " + textOff + "in 30 seconds.",
			"The reported blocks 11 has reached the threshold 0.9990 of total blocks 11. The minimum number of live datanodes is not required. In safe mode extension. " + textOff + "in 20 seconds.",
			""},
		{"two datanodes", 2,
			"The reported blocks 0 needs additional 10 blocks to reach the threshold 0.9990 of total blocks 11.\nThe number of live datanodes is not calculated since reported blocks hasn't reached the threshold. " + textOff + "once the thresholds have been reached.",
			"The reported blocks 9 needs additional 1 blocks to reach the threshold 0.9990 of total blocks 11.\nThe number of live datanodes is not calculated since reported blocks hasn't reached the threshold. " + textOff + "once the thresholds have been reached.",
			"The reported blocks 11 has reached the threshold 0.9990 of total blocks 11. The number of live datanodes 1 needs an additional 1 live datanodes to reach the minimum number 2.\n" + textOff + "once the thresholds have been reached.",
			"The reported blocks 11 has reached the threshold 0.9990 of total blocks 11. The number of live datanodes 2 has reached the minimum number 2. In safe mode extension. " + textOff + "in 30 seconds.",
			"The reported blocks 11 has reached the threshold 0.9990 of total blocks 11. The number of live datanodes 2 has reached the minimum number 2. In safe mode extension. " + textOff + "in 9 seconds."},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := New(Options{SafeMode: SafeModeOptions{MinDatanodes: c.nodes, Extension: 30 * time.Second}})
			w := &world{Manager: m, t: t, now: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
			want := func(tip string) {
				t.Helper()
				require.Equal(t, SafeModeStatus{On: tip != "", Startup: tip != "", Tip: tip}, m.SafeMode(w.now))
				require.Equal(t, tip != "", m.InSafeMode())
			}
			require.True(t, m.InSafeMode())
			for i := range 11 {
				m.PutBlock(info(blk(int(id)+i, 1001, 10), dfs.BlockComplete, 1))
			}
			m.PutBlock(info(blk(int(id)+11, 1001, 0), dfs.BlockUnderConstruction, 1)) // does not count
			m.Tick(w.now)
			require.True(t, m.InSafeMode())
			m.Loaded(w.now)
			want(c.none)
			w.join(1)
			for i := range 9 {
				w.received(blk(int(id)+i, 1001, 10), 1)
			}
			want(c.some)
			require.Zero(t, m.Stats().Missing, "nobody knows yet")
			w.received(blk(int(id)+9, 1001, 10), 1)
			w.received(blk(int(id)+10, 1001, 10), 1)
			want(c.one)
			w.tick(10 * time.Second)
			w.join(2)
			want(c.two)
			w.tick(20*time.Second + time.Millisecond)
			want(c.later)
			w.tick(10 * time.Second)
			want("")
			w.tick(time.Hour)
			want("") // with all datanodes dead
			require.Equal(t, 11, m.Stats().Missing)
		})
	}
}

func TestSafeModeEmpty(t *testing.T) {
	m := New(Options{SafeMode: SafeModeOptions{Extension: time.Hour}})
	m.Loaded(time.Now())
	require.False(t, m.InSafeMode(), "nothing to wait for")

	m = New(Options{SafeMode: SafeModeOptions{Threshold: -1}})
	m.PutBlock(info(blk(int(id), 1001, 10), dfs.BlockComplete, 1))
	m.Loaded(time.Now())
	require.False(t, m.InSafeMode())
}

// The extension is left only while the thresholds hold; blocks that are deleted meanwhile count neither way.
func TestSafeModeExtension(t *testing.T) {
	m := New(Options{SafeMode: SafeModeOptions{Extension: 30 * time.Second, MinDatanodes: 1}})
	w := &world{Manager: m, t: t, now: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	a, b := blk(int(id), 1001, 10), blk(int(id)+1, 1001, 10)
	m.PutBlock(info(a, dfs.BlockComplete, 1))
	m.PutBlock(info(b, dfs.BlockComplete, 1))
	m.Loaded(w.now)
	w.join(1)
	w.received(a, 1)
	w.received(b, 1)
	require.NoError(t, m.ErrorReport(reg(1), ErrorFatalDisk, "gone"))
	w.tick(31 * time.Second)
	require.True(t, m.InSafeMode())
	m.RemoveBlock(b.ID)
	w.tick(time.Second)
	require.True(t, m.InSafeMode())
	w.join(1)
	w.received(a, 1)
	require.False(t, m.InSafeMode())
}

func TestSafeModeByHand(t *testing.T) {
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	m := New(Options{SafeMode: SafeModeOptions{MinDatanodes: 1}})
	m.Loaded(now)
	require.True(t, m.SetSafeMode(SafeModeGet, now))
	require.True(t, m.SetSafeMode(SafeModeEnter, now))
	require.Equal(t, SafeModeStatus{On: true, Tip: textManual}, m.SafeMode(now))
	require.False(t, m.SetSafeMode(SafeModeLeave, now), "start-up is over with it")
	require.Equal(t, SafeModeStatus{}, m.SafeMode(now))
	require.False(t, m.SetSafeMode(SafeModeGet, now))
	require.True(t, m.SetSafeMode(SafeModeEnter, now))
	require.False(t, m.SetSafeMode(SafeModeForceExit, now))
	m.ResourcesLow(now)
	require.Equal(t, SafeModeStatus{On: true, Tip: "Resources are low on NN. Please add or free up more resourcesthen turn off safe mode manually. NOTE:  If you turn off safe mode before adding resources, the NN will immediately return to safe mode. Use \"hdfs dfsadmin -safemode leave\" to turn safe mode off."}, m.SafeMode(now))
	require.False(t, m.SetSafeMode(SafeModeLeave, now))
}
