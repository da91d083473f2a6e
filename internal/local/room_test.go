package local

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

// crammed is a disk that has no room until it has.
type crammed struct{ full, room bool }

func (c *crammed) Full() bool { return c.full }

func (c *crammed) Probe(context.Context) error {
	if !c.room {
		return engine.ErrNoRoom
	}
	c.full = false
	return nil
}

func TestAFullDiskIsSaidOnceInAWhileAndWhenItIsOver(t *testing.T) {
	clock, disk, log, owed := enginetest.AtMilli(1000), &crammed{full: true}, &lines{}, 0
	r := &room{db: disk, clock: clock, log: slog.New(slog.NewTextHandler(log, nil)), owed: true, again: func(context.Context) error {
		owed++
		return nil
	}}
	said := func(errors, infos, done int) {
		t.Helper()
		if e, i := strings.Count(log.text(), "level=ERROR"), strings.Count(log.text(), "level=INFO"); e != errors || i != infos || owed != done {
			t.Errorf("%d errors, %d infos, done %d times; want %d, %d, %d: %s", e, i, owed, errors, infos, done, log.text())
		}
	}
	for range 5 {
		r.look(t.Context())
		clock.Advance(5 * time.Second)
	}
	said(1, 0, 0)
	clock.Advance(fullAgain)
	r.look(t.Context())
	said(2, 0, 0)
	disk.room = true
	for range 3 {
		r.look(t.Context())
	}
	said(2, 2, 1) // that there is room, and that what was owed is done
	disk.full, disk.room = true, false
	r.look(t.Context())
	said(3, 2, 1)
}

func TestWhatEveryWriterSaysOfAFullDiskIsNotLogged(t *testing.T) {
	said := &lines{}
	log := slog.New(aboutRoom{slog.NewTextHandler(said, nil)}).With("thread", "thr_a")
	for range 3 {
		log.Warn("receiving failed", "error", fmt.Errorf("claiming: %w", engine.ErrNoRoom))
	}
	log.Warn("receiving failed", "error", engine.ErrUnavailable)
	if text := said.text(); strings.Count(text, "receiving failed") != 1 || !strings.Contains(text, "thread=thr_a") {
		t.Errorf("logged: %s", text)
	}
}
