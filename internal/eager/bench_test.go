package eager

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// echoEnv makes the test binary an echo server, "below" or "eager", that prints its address and ends with its connection.
const echoEnv = "MINIDFS_TEST_ECHO"

func TestMain(m *testing.M) {
	kind := os.Getenv(echoEnv)
	if kind == "" {
		os.Exit(m.Run())
	}
	l, err := listenAs(kind)
	if err == nil {
		fmt.Println(l.Addr())
		err = echo(l)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func listenAs(kind string) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil && kind == "eager" {
		l = Listen(l)
	}
	return l, err
}

// echo serves one connection.
func echo(l net.Listener) error {
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	p := make([]byte, 100)
	for {
		n, err := c.Read(p)
		if n == 0 || err != nil {
			return nil
		}
		if _, err = c.Write(p[:n]); err != nil {
			return err
		}
	}
}

// BenchmarkRoundTrip asks and waits for the answer, as a client without others does. A client in the server's own process
// is woken without the kernel's help, and looking only keeps the processor from it.
func BenchmarkRoundTrip(b *testing.B) {
	for _, kind := range []string{"below", "eager"} {
		b.Run("process=same/"+kind, func(b *testing.B) {
			l, err := listenAs(kind)
			require.NoError(b, err)
			done := make(chan error, 1)
			go func() { done <- echo(l) }()
			ask(b, l.Addr().String())
			require.NoError(b, <-done)
			require.NoError(b, l.Close())
		})
		b.Run("process=other/"+kind, func(b *testing.B) {
			server := exec.Command(os.Args[0])
			server.Env = append(os.Environ(), echoEnv+"="+kind)
			server.Stderr = os.Stderr
			out, err := server.StdoutPipe()
			require.NoError(b, err)
			require.NoError(b, server.Start())
			addr, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(b, err)
			ask(b, strings.TrimSpace(addr))
			require.NoError(b, server.Wait())
		})
	}
}

func ask(b *testing.B, addr string) {
	c, err := net.Dial("tcp", addr)
	require.NoError(b, err)
	p := make([]byte, 100)
	for b.Loop() {
		_, err := c.Write(p)
		require.NoError(b, err)
		_, err = c.Read(p)
		require.NoError(b, err)
	}
	require.NoError(b, c.Close())
}
