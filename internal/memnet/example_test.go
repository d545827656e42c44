package memnet_test

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/minidfs/go-minidfs/internal/memnet"
)

func ExampleNetwork() {
	n := memnet.New(memnet.Options{})
	defer n.Close()
	l, err := n.Host("dn1").Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	near, err := n.Host("client").Dial(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	far, err := l.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}

	n.Partition([]string{"client"}, []string{"dn1"})
	fmt.Fprint(near, "held")
	far.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err = far.Read(make([]byte, 4))
	fmt.Println(err)

	n.Heal()
	near.Close()
	far.SetReadDeadline(time.Time{})
	b, err := io.ReadAll(far)
	fmt.Printf("%s %v\n", b, err)

	// Output:
	// read tcp 127.0.0.1:20000->127.0.0.1:20001: i/o timeout
	// held <nil>
}
