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

// room watches for the end of a full disk. The server goes on reading meanwhile; every write is refused and tells its caller.
type room struct {
	db     disk
	clock  engine.Clock
	period time.Duration
	log    *slog.Logger
	again  func(context.Context) error // what the start could not write
	owed   bool
	said   time.Time // that the disk is full; zero if it is not
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

// look tries a write while the disk is said to be full, and does what is owed from the start once there is room.
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
		r.log.Info("what the start could not store is stored: changed agents are served")
	} else if !noRoom(err) && ctx.Err() == nil {
		r.log.Warn("what could not be stored at the start, since the disk was full, cannot be stored now", "error", err)
	}
}

// say says it once in a while: the rest of the server is not heard about it, see [aboutRoom].
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

// aboutRoom keeps lines about a full disk from the log: everything that writes would say the same, several times a second. [room] says it
// for all of them.
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
