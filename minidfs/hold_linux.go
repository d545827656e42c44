package minidfs

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// hold is a socket that is bound to a port for as long as the node lives. A life of the node makes it listen; between two
// lives it is bound and does not listen, so that dials are refused and nobody else gets the port.
//
// The socket must be bound without SO_REUSEADDR, or others who set it could bind too. It is set before listen, which
// would otherwise fail because of old connections of the port, and taken back afterwards.
type hold struct{ fd int }

func newHold(ip string, number int) (*hold, error) {
	addr := &syscall.SockaddrInet4{Port: number}
	copy(addr.Addr[:], net.ParseIP(ip).To4())
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	h := &hold{fd: fd}
	if err = syscall.Bind(fd, addr); errors.Is(err, syscall.EADDRINUSE) {
		// it may be in use by nothing but old connections of a process that is gone
		if err = h.reuse(1); err == nil {
			err = syscall.Bind(fd, addr)
		}
	}
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("bind", err), h.close())
	}
	return h, nil
}

func (h *hold) reuse(on int) error {
	return os.NewSyscallError("setsockopt", syscall.SetsockoptInt(h.fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, on))
}

func (h *hold) listen() (net.Listener, error) {
	if err := h.reuse(1); err != nil {
		return nil, err
	}
	if err := syscall.Listen(h.fd, syscall.SOMAXCONN); err != nil {
		return nil, os.NewSyscallError("listen", err)
	}
	syscall.ForkLock.RLock()
	fd, err := syscall.Dup(h.fd)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("dup", err), h.rest())
	}
	file := os.NewFile(uintptr(fd), "listener")
	l, err := net.FileListener(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(err, h.rest())
	}
	return &heldListener{Listener: l, hold: h}, nil
}

// rest ends the listening and keeps the port.
func (h *hold) rest() error {
	err := os.NewSyscallError("shutdown", syscall.Shutdown(h.fd, syscall.SHUT_RD))
	return errors.Join(err, h.reuse(0))
}

func (h *hold) close() error { return os.NewSyscallError("close", syscall.Close(h.fd)) }

// heldListener listens on a held port. Its Close ends the listening, which closing one of several descriptors does not.
type heldListener struct {
	net.Listener
	hold *hold
}

// SetDeadline makes a waiting Accept return.
func (l *heldListener) SetDeadline(t time.Time) error {
	return l.Listener.(*net.TCPListener).SetDeadline(t)
}

func (l *heldListener) Close() error {
	if err := l.Listener.Close(); err != nil {
		return err // closed before
	}
	return l.hold.rest()
}
