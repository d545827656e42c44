package editlog

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// raftLogger gives what raft logs to a slog.Logger, two levels lower: raft cries out for every member that is away, and for
// its own end.
type raftLogger struct {
	to   *slog.Logger
	args []any
}

var _ hclog.Logger = raftLogger{}

func slogLevel(l hclog.Level) slog.Level {
	switch l {
	case hclog.Error:
		return slog.LevelInfo
	case hclog.Warn:
		return slog.LevelDebug
	}
	return slog.LevelDebug - 4
}

func (l raftLogger) Log(level hclog.Level, msg string, args ...any) {
	ctx, at := context.Background(), slogLevel(level)
	if !l.to.Enabled(ctx, at) {
		return
	}
	for i, arg := range args {
		if f, ok := arg.(hclog.Format); ok && len(f) > 0 {
			args[i] = fmt.Sprintf(fmt.Sprint(f[0]), f[1:]...)
		}
	}
	l.to.Log(ctx, at, "raft: "+msg, args...)
}

func (l raftLogger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l raftLogger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l raftLogger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l raftLogger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l raftLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l raftLogger) enabled(level hclog.Level) bool {
	return l.to.Enabled(context.Background(), slogLevel(level))
}

func (l raftLogger) IsTrace() bool { return l.enabled(hclog.Trace) }
func (l raftLogger) IsDebug() bool { return l.enabled(hclog.Debug) }
func (l raftLogger) IsInfo() bool  { return l.enabled(hclog.Info) }
func (l raftLogger) IsWarn() bool  { return l.enabled(hclog.Warn) }
func (l raftLogger) IsError() bool { return l.enabled(hclog.Error) }

func (l raftLogger) ImpliedArgs() []any { return l.args }

func (l raftLogger) With(args ...any) hclog.Logger {
	return raftLogger{l.to.With(args...), append(l.args[:len(l.args):len(l.args)], args...)}
}

// The name says raft already, and slog has the level.
func (l raftLogger) Name() string                   { return "" }
func (l raftLogger) Named(string) hclog.Logger      { return l }
func (l raftLogger) ResetNamed(string) hclog.Logger { return l }
func (l raftLogger) SetLevel(hclog.Level)           {}
func (l raftLogger) GetLevel() hclog.Level          { return hclog.NoLevel }

func (l raftLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(l.to.Handler(), slog.LevelDebug)
}

func (l raftLogger) StandardWriter(o *hclog.StandardLoggerOptions) io.Writer {
	return l.StandardLogger(o).Writer()
}
