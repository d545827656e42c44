package datanode

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/afero"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Replica is what a datanode knows of a replica.
type Replica struct {
	Block   dfs.Block
	State   dfs.ReplicaState
	Visible int64 // bytes that readers may ask for, -1 for none
	Storage string

	// The two files, for tests that damage them.
	FS         afero.Fs
	Data, Meta string
}

// Replicas lists the replicas, by block id.
func (d *DataNode) Replicas() []Replica {
	byID := make(map[string]afero.Fs)
	for _, v := range d.set.Volumes() {
		byID[v.ID()] = v.FS()
	}
	var out []Replica
	for _, i := range d.set.Replicas() {
		out = append(out, Replica{
			Block: i.Block, State: i.State, Visible: i.Visible, Storage: i.Storage, FS: byID[i.Storage], Data: i.Data, Meta: i.Meta,
		})
	}
	return out
}

// Storage is what a datanode knows of a volume.
type Storage struct {
	ID       string
	Dir      string
	Type     dfs.StorageType
	Capacity int64
	Used     int64 // by block and checksum files
	Reserved int64 // by replicas being written
	Room     int64 // for new replicas
	Blocks   int
	Failure  error // why it was given up; the numbers are then 0
}

// Storages lists the volumes in use, then those that were given up.
func (d *DataNode) Storages() []Storage {
	var out []Storage
	for _, u := range d.set.Usage() {
		v := u.Volume
		out = append(out, Storage{
			ID: v.ID(), Dir: v.Dir(), Type: v.Type(), Capacity: u.Capacity, Used: u.Used, Reserved: v.Reserved(), Room: u.Room, Blocks: d.set.Count(v),
		})
	}
	for _, f := range d.set.Failures() {
		out = append(out, Storage{ID: f.Storage, Dir: f.Dir, Failure: f.Err})
	}
	return out
}

// CheckVolumes tries every volume and gives up those that cannot be used.
func (d *DataNode) CheckVolumes() { d.set.Check() }

// AddVolume puts a volume into service, a new one or a repaired one, and tells the namenodes what it holds.
func (d *DataNode) AddVolume(ctx context.Context, v Volume) error {
	if _, err := d.set.Add(v.config()); err != nil {
		return err
	}
	return d.TriggerBlockReport(ctx)
}

// RemoveVolume takes a volume out of service and tells the namenodes. Its files stay.
func (d *DataNode) RemoveVolume(ctx context.Context, storage string) error {
	if len(d.set.Volumes()) == 1 {
		return errors.New("datanode: cannot remove the last volume")
	}
	if err := d.set.Remove(storage); err != nil {
		return err
	}
	return d.TriggerBlockReport(ctx)
}

// Verify reads every finalized replica against its checksums, and tells the namenodes which are corrupt.
func (d *DataNode) Verify(ctx context.Context) error {
	var bad []error
	for _, i := range d.set.Replicas() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if i.State != dfs.ReplicaFinalized {
			continue
		}
		err := d.set.Verify(ctx, i.Block)
		switch {
		case err == nil || errors.Is(err, dfs.ClassReplicaNotFound):
			continue
		case errors.Is(err, volume.ErrMissing):
			d.lost(i.Block)
		default:
			d.reportBad(i.Block)
		}
		bad = append(bad, fmt.Errorf("datanode: %s: %w", i.Block, err))
	}
	return errors.Join(bad...)
}
