package local

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

// recorder adds every run that this process ends to a file. It looks at what the engine commits and
// reads the conversation as callers do, when the run is done; so nothing waits for it, and a run
// whose process dies between the two is not in the file.
//
//	commit: done ── noted ── the next activation begins
//	                  └───── read by the frontend ── line in the file
type recorder struct {
	engine.Store
	file  string
	log   *slog.Logger
	front *query.Reader
	bell  chan struct{}

	mu      sync.Mutex
	ended   []endedRun
	refused sync.Once
}

type endedRun struct{ tenant, thread, run string }

// recordTo wraps the store of an engine. Without a file it records nothing.
func recordTo(file string, store engine.Store, log *slog.Logger) *recorder {
	return &recorder{Store: store, file: file, log: log, bell: make(chan struct{}, 1)}
}

// Commit implements [engine.Store].
func (r *recorder) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	w, err := r.Store.Commit(ctx, req)
	if err == nil && req.Next.Status == core.RunDone {
		r.note(req.Next)
	}
	return w, err
}

// Start implements [engine.Store]: a run that a held message begins ends the one before it.
func (r *recorder) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	w, err := r.Store.Start(ctx, req)
	if err == nil && req.Owned && req.Prior != nil {
		r.note(*req.Prior)
	}
	return w, err
}

func (r *recorder) note(h core.Head) {
	if r.file == "" {
		return
	}
	r.mu.Lock()
	r.ended = append(r.ended, endedRun{h.Tenant, h.Thread, h.Run})
	r.mu.Unlock()
	select {
	case r.bell <- struct{}{}:
	default:
	}
}

// run records until ctx ends.
func (r *recorder) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.bell:
			r.write(ctx)
		}
	}
}

// finish records the remaining runs after the last run has ended.
func (r *recorder) finish() {
	ctx, cancel := context.WithTimeoutCause(context.Background(), drainTime, errDrained)
	defer cancel()
	r.write(ctx)
}

// errDrained: the time to record runs at shutdown is over.
var errDrained = errors.New("the server is stopping, and the recording file was not available in time")

func (r *recorder) write(ctx context.Context) {
	for ctx.Err() == nil {
		r.mu.Lock()
		if len(r.ended) == 0 {
			r.mu.Unlock()
			return
		}
		next := r.ended[0]
		r.ended = r.ended[1:]
		r.mu.Unlock()
		if err := r.record(ctx, next); err != nil && ctx.Err() != nil {
			r.mu.Lock()
			r.ended = slices.Insert(r.ended, 0, next) // for finish
			r.mu.Unlock()
		}
	}
}

// record adds one run. A failure to record it does not affect the run. A file that cannot be
// written is logged once.
func (r *recorder) record(ctx context.Context, e endedRun) error {
	c, err := r.conversation(ctx, e)
	if err != nil {
		if ctx.Err() == nil {
			r.log.Warn("a run is not recorded", "run", e.run, "error", err)
		}
		return err
	}
	if err := r.add(ctx, c); err != nil {
		if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errDrained) {
			return err // finish tries once more
		}
		r.refused.Do(func() {
			r.log.Error("cannot write the recording: runs continue but are missing from it; add them later with the command runs record",
				"file", r.file, "run", e.run, "error", err)
		})
	}
	return nil
}

// add stops waiting at the end of ctx: another process may hold the file, and a pipe may be full,
// indefinitely. A write that completes later leaves a duplicate or a partial line.
func (r *recorder) add(ctx context.Context, c recording.Conversation) error {
	added := make(chan error, 1)
	go func() { added <- recording.Append(r.file, c) }()
	select {
	case err := <-added:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *recorder) conversation(ctx context.Context, e endedRun) (none recording.Conversation, err error) {
	caller := frontend.Caller{Tenant: e.tenant}
	run, err := r.front.Run(ctx, caller, e.run)
	if err != nil {
		return none, err
	}
	var messages []wire.Message
	for list := (query.List{Data: true}); ; {
		page, err := r.front.Messages(ctx, caller, e.thread, list)
		var refused *refusal.Error
		// busy with callers, who come first
		if errors.As(err, &refused) && refused.RetryAfter > 0 {
			if err := machine.Sleep(ctx, refused.RetryAfter); err != nil {
				return none, err
			}
			continue
		}
		if err != nil {
			return none, err
		}
		messages = append(messages, page.Items...)
		if list.Cursor = page.Next; list.Cursor == "" {
			break
		}
	}
	system := ""
	if agent, err := r.front.Agent(ctx, caller, run.Agent); err == nil && agent.Version == run.AgentVersion {
		system = agent.Instructions
	}
	return recording.FromThread(e.thread, e.run, system, messages)
}
