package lambdahttp

import (
	"context"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Logger adds the ids of a request and of its invocation to each record logged with its context:
// request_id is the invocation's id, as in Lambda's own lines, and gateway_request_id is the
// gateway's.
func Logger(log *slog.Logger) *slog.Logger {
	if _, ok := log.Handler().(named); ok {
		return log
	}
	return slog.New(named{log.Handler()})
}

type named struct{ slog.Handler }

func (n named) Handle(ctx context.Context, r slog.Record) error {
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		r.AddAttrs(slog.String("request_id", invocation.AwsRequestID))
	}
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("gateway_request_id", id))
	}
	return n.Handler.Handle(ctx, r)
}

func (n named) WithAttrs(attrs []slog.Attr) slog.Handler { return named{n.Handler.WithAttrs(attrs)} }

func (n named) WithGroup(name string) slog.Handler { return named{n.Handler.WithGroup(name)} }
