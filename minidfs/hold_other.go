//go:build !linux

package minidfs

import "net"

// hold is for systems that let a socket go back from listening to being bound; on others a node that comes back finds its
// port taken if another program has got it meanwhile, and says so.
type hold struct{}

func newHold(string, int) (*hold, error)      { return nil, nil }
func (h *hold) listen() (net.Listener, error) { return nil, net.ErrClosed }
func (h *hold) close() error                  { return nil }
