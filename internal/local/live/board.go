// Package live keeps what models are saying just now, for readers in the same process who look on.
// It is lost with the process, is not shared between processes, and nothing depends on it: what was
// said is true once the turn is committed, and the journal brings it then.
package live

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// What a board holds at most. What goes beyond is not shown while it is said; its readers get it
// with the commit.
const (
	threadBytes = 256 << 10 // said in one attempt
	threads     = 256       // that speak at once
)

// Board holds, for each thread that speaks, all that the present attempt has said. It implements
// [engine.Live] for those who write and is read with [Board.Spoken]. Safe for concurrent use; no
// method waits.
type Board struct {
	clock engine.Clock

	mu       sync.Mutex
	speaking map[place]*speech
	watchers map[place]map[chan struct{}]bool
}

type place struct{ tenant, thread string }

// speech is one attempt. full: no more of it is taken, since what came next would leave a gap.
type speech struct {
	engine.Attempt
	text, reasoning strings.Builder
	notes           []engine.Note
	at              time.Time
	full            bool
}

var _ engine.Live = (*Board)(nil)

// NewBoard makes an empty board, which tells the time of what is said by clock.
func NewBoard(clock engine.Clock) *Board {
	return &Board{clock: clock, speaking: map[place]*speech{}, watchers: map[place]map[chan struct{}]bool{}}
}

// Begin implements [engine.Live]. An attempt that is older than the one which speaks is ignored:
// its owner crashed or lost its lease.
func (b *Board) Begin(a engine.Attempt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := placeOf(a)
	old, there := b.speaking[at]
	if there && newer(old.Attempt, a) || !there && len(b.speaking) >= threads {
		return
	}
	b.speaking[at] = &speech{Attempt: a, at: b.clock.Now()}
	b.tell(at)
}

// Say implements [engine.Live].
func (b *Board) Say(a engine.Attempt, p engine.Piece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := placeOf(a)
	s, there := b.speaking[at]
	if !there || s.Attempt != a || s.full {
		return
	}
	to := &s.text
	if p.Kind == core.ReasoningPart {
		to = &s.reasoning
	}
	if p.Offset != to.Len() || s.text.Len()+s.reasoning.Len()+len(p.Text) > threadBytes {
		s.full = true
		return
	}
	to.WriteString(p.Text)
	s.at = b.clock.Now()
	b.tell(at)
}

// Note implements [engine.Live]. Of one call it keeps that its body began, and the last progress.
func (b *Board) Note(a engine.Attempt, n engine.Note) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := placeOf(a)
	s, there := b.speaking[at]
	if !there || s.Attempt != a {
		return
	}
	s.notes = append(slices.DeleteFunc(slices.Clone(s.notes), func(old engine.Note) bool {
		return old.Call.ID == n.Call.ID && (old.Progress == nil) == (n.Progress == nil)
	}), n)
	s.at = b.clock.Now()
	b.tell(at)
}

// End implements [engine.Live].
func (b *Board) End(a engine.Attempt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := placeOf(a)
	if s, there := b.speaking[at]; there && s.Attempt == a {
		delete(b.speaking, at)
		b.tell(at)
	}
}

// Spoken is what is being said in the thread now; false if nothing is, or none of it is known here.
func (b *Board) Spoken(_ context.Context, tenant, thread string) (engine.Speech, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, there := b.speaking[place{tenant, thread}]
	if !there {
		return engine.Speech{}, false
	}
	return engine.Speech{Attempt: s.Attempt, Text: s.text.String(), Reasoning: s.reasoning.String(), Notes: s.notes, At: s.at}, true
}

// Watch returns a channel that holds a signal once something was said in the thread, or what was
// said is over, since the last receive. Call stop when done.
func (b *Board) Watch(tenant, thread string) (changed <-chan struct{}, stop func()) {
	at, signal := place{tenant, thread}, make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchers[at] == nil {
		b.watchers[at] = map[chan struct{}]bool{}
	}
	b.watchers[at][signal] = true
	return signal, func() { b.leave(at, signal) }
}

func (b *Board) leave(at place, signal chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.watchers[at], signal)
	if len(b.watchers[at]) == 0 {
		delete(b.watchers, at)
	}
}

func (b *Board) tell(at place) {
	for signal := range b.watchers[at] {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
}

func placeOf(a engine.Attempt) place { return place{a.Tenant, a.Thread} }

func newer(a, b engine.Attempt) bool {
	return a.Epoch > b.Epoch || a.Epoch == b.Epoch && a.Restart > b.Restart
}
