package local

import (
	"context"
	"errors"
	"log/slog"
	"syscall"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// noRoom says whether err is that of a full disk, from the store or from the system.
func noRoom(err error) bool {
	return errors.Is(err, engine.ErrNoRoom) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// room finds out when a full disk has space again. Until then the server goes on reading and refuses every write with an error.
type room struct {
	db     disk
	clock  engine.Clock
	period time.Duration
	log    *slog.Logger
	again  func(context.Context) error // stores what the start could not store
	owed   bool                        // again has to be called
	said   time.Time                   // when the log last said that the disk is full; zero if it is not full
}

// disk is what is known of the room for the store: [sqlite.DB].
type disk interface {
	Full() bool
	Probe(ctx context.Context) error
}

func (r *room) run(ctx context.Context) {
	for {
		r.look(ctx)
		if engine.Sleep(ctx, r.clock, r.period) != nil {
			return
		}
	}
}

// look tries a write while the disk is full, and stores what the start could not store once there is space.
func (r *room) look(ctx context.Context) {
	if r.db.Full() {
		if err := r.db.Probe(ctx); err != nil {
			r.say(err)
			return
		}
		r.said = time.Time{}
		r.log.Info("there is room on the disk again; everything is served")
	}
	if !r.owed {
		return
	}
	err := r.again(ctx)
	if err == nil {
		r.owed = false
		r.log.Info("stored what the start could not store; changed agents are served")
	} else if !noRoom(err) && ctx.Err() == nil {
		r.log.Warn("cannot store what the start could not store on the full disk; it is tried again", "error", err)
	}
}

// say logs that the disk is full, at most every [fullAgain], for the whole server: see [aboutRoom].
func (r *room) say(err error) {
	now := r.clock.Now()
	if !r.said.IsZero() && now.Sub(r.said) < fullAgain {
		return
	}
	r.said = now
	r.log.Error("the disk is full: reads and the inbox are served, nothing can be stored until there is room", "error", err)
}

// fullAgain is how often the log says that the disk is full.
const fullAgain = 10 * time.Minute

// aboutRoom drops log lines about a full disk: everything that writes would log the same, several times a second. [room] logs it for all of
// them.
type aboutRoom struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h aboutRoom) Handle(ctx context.Context, rec slog.Record) error {
	full := false
	rec.Attrs(func(a slog.Attr) bool {
		err, is := a.Value.Any().(error)
		full = is && noRoom(err)
		return !full
	})
	if full {
		return nil
	}
	return h.Handler.Handle(ctx, rec)
}

// WithAttrs implements [slog.Handler].
func (h aboutRoom) WithAttrs(attrs []slog.Attr) slog.Handler {
	return aboutRoom{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h aboutRoom) WithGroup(name string) slog.Handler { return aboutRoom{h.Handler.WithGroup(name)} }
