package engine

import (
	"math"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Progress is how far a tool is, as it says itself.
type Progress struct {
	Done  float64
	Total float64 // 0: not known
	Text  string  // what it is doing; untrusted
}

// Note is what a body does just now: it began, or it says how far it is.
type Note struct {
	// counts the notes of an attempt from 1; a later note of the same sort on the same call
	// takes the place of an earlier one
	Version  int
	Call     core.ToolCall
	At       int64
	Progress *Progress // nil: the body began
}

// mostProgressText bounds what a tool says of its progress.
const mostProgressText = 500

// bodyWatch sends readers live events about bodies. Safe for concurrent use. The nil bodyWatch
// does nothing.
type bodyWatch struct {
	live  Live
	clock Clock

	mu      sync.Mutex
	attempt Attempt
	begun   bool
	notes   int
	over    bool
}

// watchBodies is for the bodies that run between two commits.
func (a *activation) watchBodies() *bodyWatch {
	if a.e.o.Live == nil || a.bodies != nil && a.bodies.attempt.Seq == a.view.Head.Seq {
		return a.bodies
	}
	a.bodies.end()
	a.bodies = &bodyWatch{live: a.e.o.Live, clock: a.e.o.Clock, attempt: a.attempt()}
	return a.bodies
}

// attempt names what follows the last commit.
func (a *activation) attempt() Attempt {
	h := a.view.Head
	return Attempt{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Turn: h.Turn, Step: h.Step, Epoch: h.Epoch, Seq: h.Seq, Event: h.Ev}
}

// began says that a body begins whose start is not committed.
func (w *bodyWatch) began(call core.ToolCall) { w.note(Note{Call: call}) }

// says is how far a body is.
func (w *bodyWatch) says(call core.ToolCall, p Progress) {
	if math.IsNaN(p.Done+p.Total) || math.IsInf(p.Done+p.Total, 0) {
		return // JSON has no such number
	}
	text := strings.ToValidUTF8(p.Text, "\ufffd")
	for len(text) > mostProgressText {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	p.Text = text
	w.note(Note{Call: call, Progress: &p})
}

func (w *bodyWatch) note(n Note) {
	if w == nil {
		return
	}
	defer harmless()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(n)
}

func (w *bodyWatch) tell(n Note) {
	if w.over {
		return
	}
	if !w.begun {
		w.begun = true
		w.live.Begin(w.attempt)
	}
	w.notes++
	n.Version = w.notes
	if n.At == 0 {
		n.At = w.clock.Now().UnixMilli()
	}
	w.live.Note(w.attempt, n)
}

// end says that the bodies' outcomes are committed, or given up.
func (w *bodyWatch) end() {
	if w == nil {
		return
	}
	defer harmless()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over = true; w.begun {
		w.begun = false
		w.live.End(w.attempt)
	}
}

// goOn moves bodies that still run past a commit: their notes now belong to the next one. Starts
// that no commit contains are noted again, for readers that begin there.
func (w *bodyWatch) goOn(next Attempt, begun []Note) {
	if w == nil {
		return
	}
	defer harmless()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun {
		w.live.End(w.attempt)
	}
	w.attempt, w.notes, w.begun = next, 0, false
	for _, n := range begun {
		w.tell(n)
	}
}
