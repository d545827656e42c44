package memnet

import (
	"io"
	"net"
	"testing"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// The sockets of the system, bare, to compare with.
func benchKinds(b *testing.B, f func(b *testing.B, near, far net.Conn)) {
	for _, kind := range []string{"memory", "wrapped", "tcp"} {
		b.Run(kind, func(b *testing.B) {
			n := New(Options{})
			defer n.Close()
			from, to := n.Host("a"), n.Host("b")
			if kind != "memory" {
				from, to = n.Wrap("a", dfs.NetDial, net.Listen), n.Wrap("b", dfs.NetDial, net.Listen)
			}
			near, far := connect(b, from, to)
			defer near.Close()
			defer far.Close()
			if kind == "tcp" {
				near, far = near.(*WrappedConn).raw, far.(*WrappedConn).raw
			}
			f(b, near, far)
		})
	}
}

func BenchmarkStream(b *testing.B) {
	benchKinds(b, func(b *testing.B, near, far net.Conn) {
		done := make(chan error, 1)
		go func() {
			buf := make([]byte, 64<<10)
			for {
				if _, err := io.ReadFull(far, buf); err != nil {
					done <- err
					return
				}
			}
		}()
		buf := make([]byte, 64<<10)
		b.SetBytes(int64(len(buf)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := near.Write(buf); err != nil {
				b.Fatal(err)
			}
		}
		near.Close()
		<-done
	})
}

func BenchmarkPingPong(b *testing.B) {
	benchKinds(b, func(b *testing.B, near, far net.Conn) {
		done := make(chan error, 1)
		go func() {
			_, err := io.CopyBuffer(struct{ io.Writer }{far}, struct{ io.Reader }{far}, make([]byte, 64))
			done <- err
		}()
		buf := make([]byte, 32)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := near.Write(buf); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(near, buf); err != nil {
				b.Fatal(err)
			}
		}
		near.Close()
		<-done
	})
}
