package faultfs_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"

	"github.com/spf13/afero"

	"github.com/minidfs/go-minidfs/internal/faultfs"
)

func ExampleFS_Inject() {
	disk := faultfs.Wrap(faultfs.NewDisk(faultfs.Options{}))
	fault := disk.Inject(faultfs.Rule{
		Kinds: faultfs.Write,
		Match: faultfs.Base("*.meta"),
		After: 1, // the second write fails, and is torn
		Err:   syscall.EIO,
		Torn:  2,
	})

	f, _ := disk.Create("/blk_1.meta")
	f.WriteString("head")
	n, err := f.WriteString("sums")
	fmt.Println(n, err, errors.Is(err, syscall.EIO))

	fault.Remove()
	n, err = f.WriteString("ms")
	fmt.Println(n, err)
	// Output:
	// 2 write /blk_1.meta: input/output error true
	// 2 <nil>
}

func ExampleDisk_PowerLoss() {
	disk := faultfs.NewDisk(faultfs.Options{})
	f, _ := disk.Create("/log")
	f.WriteString("synced")
	f.Sync()
	f.WriteString(" and not synced")

	for _, loss := range disk.PowerLoss(rand.New(rand.NewPCG(8, 0))) {
		fmt.Println(loss)
	}
	b, _ := afero.ReadFile(disk, "/log")
	fmt.Printf("%q\n", b)
	// Output:
	// /log: dropped (6 bytes synced, 21 written, 6 left)
	// "synced"
}
