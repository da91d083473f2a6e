package livetext

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

const (
	// firstPause is how long the first item waits: a short answer is committed sooner, and
	// costs no item.
	firstPause = 100 * time.Millisecond

	// mostSaid is what is kept of one attempt. What it says beyond comes with its commit.
	mostSaid = 256 << 10

	// mostItem is the most text of one kind in one item.
	mostItem = 32 << 10

	// itemTime limits the request that writes an item.
	itemTime = 2 * time.Second

	// After a failed write the pause doubles, up to longestPause. After mostFailures in a row
	// the attempt falls silent.
	longestPause = 5 * time.Second
	mostFailures = 8
)

// attempt is what an attempt of this process's step has said, and how much of it is written.
type attempt struct {
	engine.Attempt
	place   place
	text    []byte
	thought []byte
	notes   []engine.Note

	written  struct{ text, thought, notes int }
	items    int // begun
	failures int // in a row
	pause    time.Duration
	stop     func()    // of the timer that writes next; nil: it does not run
	after    time.Time // when the next item may be written
	full     bool      // nothing more is taken
	over     bool      // nothing more is written

	ctx    context.Context // of the writes
	cancel context.CancelFunc
	writes bool // a write is under way
}

// Begin implements [engine.Live].
func (t *Text) Begin(a engine.Attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := place{a.Tenant, a.Thread}
	t.end(at)
	made := &attempt{Attempt: a, place: at, pause: t.o.Pause, after: t.o.Clock.Now().Add(firstPause)}
	made.ctx, made.cancel = context.WithCancel(context.Background())
	t.spoken[at] = made
}

// Say implements [engine.Live].
func (t *Text) Say(a engine.Attempt, p engine.Piece) {
	t.change(a, func(now *attempt) {
		to := &now.text
		if p.Kind == core.ReasoningPart {
			to = &now.thought
		}
		if now.full = now.full || p.Offset != len(*to) || len(now.text)+len(now.thought)+len(p.Text) > mostSaid; !now.full {
			*to = append(*to, p.Text...)
		}
	})
}

// Note implements [engine.Live]. Of one call it keeps that its body began, and the last progress.
func (t *Text) Note(a engine.Attempt, n engine.Note) {
	t.change(a, func(now *attempt) {
		now.notes = append(slices.DeleteFunc(now.notes, replacedBy(n)), n)
	})
}

// End implements [engine.Live]. A write that is under way is given up: the commit has what it says.
func (t *Text) End(a engine.Attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := place{a.Tenant, a.Thread}
	if now := t.spoken[at]; now != nil && now.Attempt == a {
		t.end(at)
	}
}

func (t *Text) end(at place) {
	a := t.spoken[at]
	if a == nil {
		return
	}
	delete(t.spoken, at)
	a.over = true
	a.cancel()
	if a.stop != nil {
		a.stop()
	}
}

func (t *Text) change(a engine.Attempt, do func(*attempt)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.spoken[place{a.Tenant, a.Thread}]; now != nil && now.Attempt == a {
		do(now)
		t.schedule(now)
	}
}

// schedule sets the timer for the next item, if there is something to write and someone watches.
func (t *Text) schedule(a *attempt) {
	now := t.o.Clock.Now()
	if a.over || a.writes || a.stop != nil || !a.unwritten() || !t.heads[a.place].watched.After(now) {
		return
	}
	a.stop = t.o.Clock.AfterFunc(max(a.after.Sub(now), 0), func() { t.write(a) })
}

func (a *attempt) unwritten() bool {
	return len(a.text) > a.written.text || len(a.thought) > a.written.thought || len(a.notes) > 0 && a.notes[len(a.notes)-1].Version > a.written.notes
}

// write writes an item. One is under way at a time, in the timer's goroutine.
func (t *Text) write(a *attempt) {
	defer func() { _ = recover() }() // live text must not stop the process
	it, ok := t.next(a)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(a.ctx, itemTime)
	defer cancel()
	_, err := t.o.API.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.o.Table, Item: it.item}, once)
	t.mu.Lock()
	defer t.mu.Unlock()
	a.writes, a.after = false, t.o.Clock.Now().Add(a.pause)
	if err == nil {
		a.written, a.failures, a.pause = it.written, 0, t.o.Pause
	} else if a.failures++; a.failures >= mostFailures {
		a.over = true
	} else {
		a.pause = min(2*a.pause, longestPause)
		a.after = t.o.Clock.Now().Add(a.pause)
	}
	t.schedule(a)
}

// once sends a request once: an item that is late is of no use.
func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// unsent is an item, and what is written once it is.
type unsent struct {
	item    item
	written struct{ text, thought, notes int }
}

// next is the next item of an attempt: all that is not known to be written.
func (t *Text) next(a *attempt) (it unsent, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.o.Clock.Now()
	a.stop = nil
	if a.over || a.writes || !t.heads[a.place].watched.After(now) {
		return it, false
	}
	s := said{Run: a.Run, Turn: a.Turn, Step: a.Step, Restart: a.Restart, Event: a.Event, First: a.items == 0, At: now.UnixMilli(),
		From: a.written.text, ThoughtFrom: a.written.thought}
	s.Text, s.Thought = cut(a.text[a.written.text:]), cut(a.thought[a.written.thought:])
	it.written = a.written
	it.written.text += len(s.Text)
	it.written.thought += len(s.Thought)
	for _, n := range a.notes {
		if n.Version > a.written.notes {
			s.Notes, it.written.notes = append(s.Notes, noteOf(n)), n.Version
		}
	}
	a.items++
	a.writes = true
	k := t.heads[a.place]
	k.position = k.position.after(a.Seq, a.Epoch)
	t.heads[a.place] = k
	it.item = a.place.item(k.position, s, now)
	return it, true
}

// after is the position of the next item, of an attempt under that claim.
func (p position) after(seq, epoch int64) position {
	if p.seq == seq && p.epoch == epoch {
		return position{seq, epoch, p.n + 1}
	}
	return position{seq: seq, epoch: epoch}
}

// cut returns as much as fits an item, in whole characters.
func cut(text []byte) string {
	n := min(len(text), mostItem)
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.Clone(string(text[:n]))
}
