package rpc

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func TestHook(t *testing.T) {
	safeMode := dfs.Errorf(dfs.ClassSafeMode, "Name node is in safe mode.")
	tests := []struct {
		name  string
		hook  Hook
		check func(t *testing.T, path string, err error, took time.Duration, runs int32)
	}{
		{"pass", func(ctx context.Context, c *Call, next Next) (proto.Message, error) { return next(ctx) },
			func(t *testing.T, path string, err error, took time.Duration, runs int32) {
				require.NoError(t, err)
				require.Equal(t, "/f", path)
				require.Equal(t, int32(1), runs)
			}},
		{"fail", func(context.Context, *Call, Next) (proto.Message, error) { return nil, safeMode },
			func(t *testing.T, path string, err error, took time.Duration, runs int32) {
				require.Equal(t, safeMode, err)
				require.Zero(t, runs)
			}},
		{"fail after the fact", func(ctx context.Context, c *Call, next Next) (proto.Message, error) {
			next(ctx)
			return nil, safeMode
		}, func(t *testing.T, path string, err error, took time.Duration, runs int32) {
			require.Equal(t, safeMode, err)
			require.Equal(t, int32(1), runs)
		}},
		{"delay", func(ctx context.Context, c *Call, next Next) (proto.Message, error) {
			c.Yield()
			time.Sleep(3 * time.Second)
			return next(ctx)
		}, func(t *testing.T, path string, err error, took time.Duration, runs int32) {
			require.NoError(t, err)
			require.Equal(t, 3*time.Second, took)
		}},
		{"hold", func(ctx context.Context, c *Call, next Next) (proto.Message, error) {
			c.Yield()
			<-ctx.Done()
			return nil, ctx.Err()
		}, func(t *testing.T, path string, err error, took time.Duration, runs int32) {
			require.Equal(t, context.DeadlineExceeded, err)
			require.Equal(t, time.Minute, took)
		}},
		{"drop", func(context.Context, *Call, Next) (proto.Message, error) { return nil, ErrDrop },
			func(t *testing.T, path string, err error, took time.Duration, runs int32) {
				requireConnError(t, err, "getFileInfo", true, io.EOF)
				require.Zero(t, runs)
			}},
		{"by hand", func(_ context.Context, c *Call, _ Next) (proto.Message, error) {
			return &fileInfoResp{Fs: fileStatus(c.Request.(*fileInfoReq).GetSrc()+c.Method, c.User)}, nil
		}, func(t *testing.T, path string, err error, took time.Duration, runs int32) {
			require.NoError(t, err)
			require.Equal(t, "/fgetFileInfo", path)
			require.Zero(t, runs)
		}},
		{"twice", func(ctx context.Context, c *Call, next Next) (proto.Message, error) {
			next(ctx)
			return next(ctx)
		}, func(t *testing.T, path string, err error, took time.Duration, runs int32) {
			require.NoError(t, err)
			require.Equal(t, "/f", path)
			require.Equal(t, int32(2), runs)
		}},
		{"panic", func(context.Context, *Call, Next) (proto.Message, error) { panic(errTest) },
			func(t *testing.T, path string, err error, took time.Duration, runs int32) {
				require.Equal(t, dfs.Errorf(dfs.ClassRuntime, "broken for the test"), err)
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs, hooked atomic.Int32
				p := newPair(t, ServerOptions{Hook: func(ctx context.Context, c *Call, next Next) (proto.Message, error) {
					hooked.Add(1)
					return test.hook(ctx, c, next)
				}}, Protocol{Name: protocolName, Version: 1, Methods: []Method{
					Handle("getFileInfo", func(_ context.Context, c *Call, req *fileInfoReq) (*fileInfoResp, error) {
						runs.Add(1)
						return &fileInfoResp{Fs: fileStatus(req.GetSrc(), c.User)}, nil
					}).Quick(),
				}}, ClientOptions{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				path, err := p.stat(ctx, "/f")
				test.check(t, path, err, time.Since(start), runs.Load())
				require.Equal(t, int32(1), hooked.Load())
			})
		})
	}
}
