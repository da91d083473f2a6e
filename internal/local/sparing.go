package local

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// noRoom says whether err is that of a full disk, from the store or from the system.
func noRoom(err error) bool {
	return errors.Is(err, engine.ErrNoRoom) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// sparing drops log lines about a store that fails as a whole: everything that uses it would log
// the same, several times a second. [upkeep] logs it for all of them. Lines about damage, which may
// be one run's, pass once in a while.
type sparing struct {
	slog.Handler
	last *lastSaid
}

// damageAgain is how often a line about damage is logged, by its message.
const damageAgain = 10 * time.Second

type lastSaid struct {
	mu sync.Mutex
	at map[string]time.Time
}

func newSparing(h slog.Handler) sparing { return sparing{h, &lastSaid{at: map[string]time.Time{}}} }

// Handle implements [slog.Handler].
func (h sparing) Handle(ctx context.Context, rec slog.Record) error {
	var about error
	rec.Attrs(func(a slog.Attr) bool {
		if err, is := a.Value.Any().(error); is {
			about = err
		}
		return about == nil
	})
	switch {
	case noRoom(about), errors.Is(about, engine.ErrDisk), errors.Is(about, engine.ErrGone):
		return nil
	case errors.Is(about, engine.ErrDamaged) && !h.last.due(rec.Message, rec.Time):
		return nil
	}
	return h.Handler.Handle(ctx, rec)
}

func (l *lastSaid) due(message string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.at[message]; ok && now.Sub(last) < damageAgain {
		return false
	}
	l.at[message] = now
	return true
}

// WithAttrs implements [slog.Handler].
func (h sparing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return sparing{h.Handler.WithAttrs(attrs), h.last}
}

// WithGroup implements [slog.Handler].
func (h sparing) WithGroup(name string) slog.Handler {
	return sparing{h.Handler.WithGroup(name), h.last}
}
