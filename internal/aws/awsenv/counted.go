package awsenv

import (
	"context"
	"log/slog"

	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// countedStarts is the store of a function that serves callers. It counts the runs that are
// started, each once: a start that is repeated under its key is refused by the store. Runs that
// follow in a conversation with queued messages are started by steps and not counted.
type countedStarts struct {
	*dynamo.Store
	metrics *emf.Metrics
	log     *slog.Logger
}

func (c countedStarts) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	w, err := c.Store.Start(ctx, req)
	if err != nil {
		return w, err
	}
	if err := c.metrics.Write(emf.Counts{emf.RunsStarted: 1}); err != nil {
		c.log.ErrorContext(ctx, "cannot write metrics", "error", err)
	}
	return w, nil
}
