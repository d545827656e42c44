package editlog

import (
	"context"
	"fmt"

	"github.com/spf13/afero"
)

func ExampleOpenLocal() {
	ctx := context.Background()
	o := LocalOptions{FS: afero.NewMemMapFs(), Dir: "/nn", Identity: Identity{ClusterID: "CID-example"}}
	j, err := OpenLocal(ctx, newMachine(), o)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		result, err := j.Append(ctx, addOp{key: "visits", n: 1})
		fmt.Println(result, err)
	}
	j.Kill()

	again := newMachine()
	j, err = OpenLocal(ctx, again, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(again.counters["visits"], j.Identity().ClusterID, j.Close())
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
	// 3 CID-example <nil>
}
