package client

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// truncatePoll is the longest wait between two looks at a file that is being truncated.
const truncatePoll = 500 * time.Millisecond

// Truncate cuts a closed file to size, which may not be above its length. When the cut is not at the border of a block,
// done is false: the length is the new one already, but the file is closed, and can be appended to, only once the last
// block has been recovered. TruncateWait waits for that.
func (c *Client) Truncate(ctx context.Context, path string, size int64) (done bool, err error) {
	var resp hdfspb.TruncateResponseProto
	err = c.call(ctx, "truncate", path, "truncate", &hdfspb.TruncateRequestProto{
		Src:        proto.String(c.abs(path)),
		NewLength:  proto.Uint64(uint64(size)),
		ClientName: &c.name,
	}, &resp)
	return resp.GetResult(), err
}

// TruncateWait is Truncate, and waits until the file is closed.
func (c *Client) TruncateWait(ctx context.Context, path string, size int64) error {
	done, err := c.Truncate(ctx, path, size)
	if err != nil || done {
		return err
	}
	return c.waitClosed(ctx, "truncate", path)
}

// waitClosed waits until nobody has the file open.
func (c *Client) waitClosed(ctx context.Context, op, path string) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, truncatePoll) {
		if err := sleep(ctx, wait); err != nil {
			return &fs.PathError{Op: op, Path: path, Err: fmt.Errorf("the last block is still being recovered: %w", err)}
		}
		closed, err := c.IsFileClosed(ctx, path)
		if err != nil || closed {
			return err
		}
	}
}

// Concat moves the blocks of the sources to the end of target and removes the sources. All must be closed files of the
// same directory.
func (c *Client) Concat(ctx context.Context, target string, sources ...string) error {
	req := &hdfspb.ConcatRequestProto{Trg: proto.String(c.abs(target))}
	for _, s := range sources {
		req.Srcs = append(req.Srcs, c.abs(s))
	}
	return c.call(ctx, "concat", target, "concat", req, &hdfspb.ConcatResponseProto{})
}
