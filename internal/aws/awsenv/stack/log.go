package stack

import (
	"context"
	"io"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// logKeys are what other packages call what every line of a function calls thus. The platform looks
// for timestamp, level and message.
var logKeys = map[string]string{slog.TimeKey: "timestamp", slog.MessageKey: "message",
	"message": "message_id", "run": "run_id", "thread": "thread_id"}

// level is that of the platform's setting. Its TRACE is no more than DEBUG here, and what is above
// INFO is not left out: a metric is a line, too.
func level(name string) slog.Level {
	if name == "TRACE" || name == "DEBUG" {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// Logger writes a line of JSON for each record of LogLevel or above. The keys are run_id,
// thread_id, step, epoch, attempt, request_id and function. What a model was asked, and what a call
// was given, is in no line of ours.
func (s Settings) Logger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: s.LogLevel, ReplaceAttr: renamed})).With("function", s.Function, "version", s.Version)
}

func renamed(groups []string, a slog.Attr) slog.Attr {
	if name, ok := logKeys[a.Key]; ok && len(groups) == 0 {
		a.Key = name
	}
	return a
}

// Requested is the logger of one invocation.
func Requested(ctx context.Context, log *slog.Logger) *slog.Logger {
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		return log.With("request_id", invocation.AwsRequestID)
	}
	return log
}
