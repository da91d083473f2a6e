package stack

import (
	"context"
	"io"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// logKeys maps the keys of other packages to those of a function's log. Lambda expects timestamp,
// level and message.
var logKeys = map[string]string{slog.TimeKey: "timestamp", slog.MessageKey: "message",
	"message": "message_id", "run": "run_id", "thread": "thread_id"}

// level converts Lambda's log level. TRACE means DEBUG, and levels above INFO mean INFO, because
// metrics are log lines, too.
func level(name string) slog.Level {
	if name == "TRACE" || name == "DEBUG" {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// Logger writes a line of JSON for each record of LogLevel or above. The keys are run_id,
// thread_id, step, epoch, attempt, request_id and function. No line contains prompts or arguments
// of calls.
func (s Settings) Logger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: s.LogLevel, ReplaceAttr: renamed})).With("function", s.Function, "version", s.Version)
}

func renamed(groups []string, a slog.Attr) slog.Attr {
	if name, ok := logKeys[a.Key]; ok && len(groups) == 0 {
		a.Key = name
	}
	return a
}

// Requested returns the logger of one invocation.
func Requested(ctx context.Context, log *slog.Logger) *slog.Logger {
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		return log.With("request_id", invocation.AwsRequestID)
	}
	return log
}
