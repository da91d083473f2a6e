package engine

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Live receives what models say and what bodies report while they run, for readers who follow
// along. It is not durable: what Live loses, the commit delivers. Every method returns immediately,
// without errors or panics; the engine survives a panic.
//
//	Begin(1)  Say(1) Say(1) ...  committed  End(1)
//	Begin(1)  Say(1)  the model restarts  End(1)  Begin(2)  Say(2) ...  committed  End(2)
//	Begin(1)  Say(1)  the worker crashes: no further calls for 1
type Live interface {
	// Begin starts an attempt. Earlier attempts of the thread are void.
	Begin(a Attempt)

	// Say is what it says next. Offsets of one kind follow one another without gaps, and no
	// piece ends within a character.
	Say(a Attempt, p Piece)

	// Note is what a body of the attempt's step does. Versions grow by one.
	Note(a Attempt, n Note)

	// End says that the attempt is over: its turn is committed, or the engine gave it up. It
	// comes after that commit, so a reader who no longer finds the attempt finds the commit, if
	// there is one.
	End(a Attempt)
}

// Attempt is one try of a model at a step's turn, or of the bodies that run between two commits.
type Attempt struct {
	Tenant, Thread, Run string
	Turn, Step          int

	// Epoch and Restart name the attempt among those of its thread: the claim it is made under,
	// and how often the model restarted in it.
	Epoch   int64
	Restart int

	// the segment that was the last one when the model was asked: the attempt's turn would be
	// in the next
	Seq   int64
	Event int64 // and the last event
}

// Piece is a piece of what is said.
type Piece struct {
	Kind   string // [core.TextPart] or [core.ReasoningPart]
	Offset int    // of Text in all that was said of the kind, in bytes
	Text   string // whole characters
}

// Speech is what an attempt has said so far.
type Speech struct {
	Attempt
	Text, Reasoning string
	Notes           []Note    // in order of their versions
	At              time.Time // when the last of it was said
}

// How much is gathered, and for how long at most, before it is handed over.
const (
	pieceBytes = 256
	pieceTime  = 100 * time.Millisecond
)

// speaker gathers the model's output into pieces and hands them to Live. Safe for concurrent use: a
// timer hands over the output so far of a model that pauses, and a model that the engine no longer
// waits for may still produce output, which is dropped.
type speaker struct {
	live  Live
	clock Clock

	mu      sync.Mutex
	attempt Attempt
	begun   bool           // Begin was called for the attempt
	said    map[string]int // bytes that were handed over, by kind
	kind    string         // of what is held
	held    []byte         // what is not handed over yet
	stop    func()         // of the timer; nil: it does not run
	over    bool           // nothing more is taken
}

// speak is the speaker of an attempt that begins now; nil if the engine has no Live.
func (a *activation) speak(step int) *speaker {
	if a.e.o.Live == nil {
		return nil
	}
	attempt := a.attempt()
	attempt.Step = step
	return &speaker{live: a.e.o.Live, clock: a.e.o.Clock, said: map[string]int{}, attempt: attempt}
}

// take is [Prompt.Say].
func (s *speaker) take(d Delta) {
	if s == nil {
		return
	}
	defer harmless()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
	case d.Restart:
		s.restart()
	case d.Text != "" && (d.Kind == core.TextPart || d.Kind == core.ReasoningPart):
		s.add(d)
	}
}

func (s *speaker) add(d Delta) {
	if s.kind != d.Kind {
		s.flush(true)
	}
	s.kind = d.Kind
	s.held = append(s.held, d.Text...)
	if len(s.held) >= pieceBytes {
		s.flush(false)
	}
	if len(s.held) > 0 && s.stop == nil {
		s.stop = s.clock.AfterFunc(pieceTime, s.late)
	}
}

// late is called by the timer.
func (s *speaker) late() {
	defer harmless()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop = nil; !s.over {
		s.flush(false)
	}
}

// restart drops the output so far. An attempt that Live has not begun yet continues unchanged.
func (s *speaker) restart() {
	s.quiet()
	s.held = nil
	if s.begun {
		void := s.attempt
		s.attempt.Restart++
		s.begun, s.said = false, map[string]int{}
		s.live.End(void)
	}
}

// flush hands over what is held: all of it, or all except the first bytes of a character whose last
// bytes may still come.
func (s *speaker) flush(all bool) {
	n := len(s.held)
	if !all {
		n = wholeCharacters(s.held)
	}
	if n == 0 {
		return
	}
	s.quiet()
	text := strings.ToValidUTF8(string(s.held[:n]), "\ufffd")
	s.held = append(s.held[:0], s.held[n:]...)
	if !s.begun {
		s.begun = true
		s.live.Begin(s.attempt)
	}
	offset := s.said[s.kind]
	s.said[s.kind] += len(text)
	s.live.Say(s.attempt, Piece{Kind: s.kind, Offset: offset, Text: text})
}

// wholeCharacters is the length of text without an incomplete last character, in bytes.
func wholeCharacters(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if at := len(text) - n; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}

func (s *speaker) quiet() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// rest hands over what is left of a complete turn, and drops that of an incomplete one. The speaker
// takes nothing after it.
func (s *speaker) rest(whole bool) {
	if s == nil {
		return
	}
	defer harmless()
	s.mu.Lock()
	defer s.mu.Unlock()
	if whole && !s.over {
		s.flush(true)
	}
	s.quiet()
	s.over = true
}

// end says that the attempt is over, if Live knows of it.
func (s *speaker) end() {
	if s == nil {
		return
	}
	s.rest(false)
	defer harmless()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		s.begun = false
		s.live.End(s.attempt)
	}
}

// harmless recovers from a panic of Live, which must stop neither the model nor the process.
func harmless() { _ = recover() }

// endLive ends the live text of the activation's model and the live notes of its bodies: they are
// committed, or the activation is given up. Bodies in flight continue with notes of the next
// commit.
func (a *activation) endLive() {
	a.speaker.end()
	a.speaker = nil
	if a.flight != nil {
		a.bodies.goOn(a.attempt(), a.flight.unsaid(a.view.Head))
		return
	}
	a.bodies.end()
	a.bodies = nil
}

// patient reports whether the run may soon wait for a person or a client: a tool offered to the
// model runs in the client, or the rules don't allow all its calls. It asks the gate once for each
// tool, with unreadable arguments, so that every condition that asks or refuses counts as met. It
// thus finds a tool that needs an approval for some arguments only. A tool that the rules refuse
// for some arguments counts as well, which only costs a more expensive cache entry. Hooks'
// questions and bodies' waits cannot be known in advance.
func (a *activation) patient(offered []core.ToolSpec) bool {
	for _, tool := range offered {
		if tool.Client {
			return true
		}
		switch a.agent.Rules.Gate(core.ToolCall{Name: tool.Name}, a.view.State).Effect {
		case core.Ask, core.Deny, core.Block:
			return true
		}
	}
	return false
}
