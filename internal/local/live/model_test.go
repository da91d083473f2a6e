package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// begin starts an activation, and waits until its model is asked or it is over. One that has the
// run already loses it, and does not know.
func (s *stage) begin() {
	if len(s.working) == 0 {
		s.clock.Advance(20 * time.Minute) // what may stand between two tries
	}
	if _, err := s.db.FreeLeases(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	w := &working{asked: make(chan engine.Prompt), do: make(chan func()), over: make(chan struct{})}
	ctx, eng := context.WithValue(s.t.Context(), workingKey{}, w), s.engine
	go func() {
		defer close(w.over)
		_, _ = eng.Step(ctx, engine.Wakeup{Tenant: anna.Tenant, Thread: s.run.ThreadID})
	}()
	select {
	case p := <-w.asked:
		w.say, w.epoch = p.Say, s.head().Epoch
		s.note("activation %d asks for step %d", w.epoch, p.Step)
		s.working = append(s.working, w)
	case <-w.over:
	}
}

// working is an activation whose model is asked, and does one thing after the other as it is told.
type working struct {
	asked chan engine.Prompt
	do    chan func()
	over  chan struct{} // closed when the activation has returned
	say   func(engine.Delta)
	epoch int64

	text, thoughts string // what it said since it began anew
	done           bool
	turn           core.Turn
	err            error
}

type workingKey struct{}

// Ask implements [engine.Model].
func (s *stage) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	w := ctx.Value(workingKey{}).(*working)
	w.asked <- p
	for !w.done {
		f := <-w.do
		f()
	}
	return w.turn, w.err
}

// tell lets the model do f, and waits until it has.
func (w *working) tell(f func()) {
	done := make(chan struct{})
	w.do <- func() {
		defer close(done)
		f()
	}
	<-done
}

func (s *stage) end(w *working, turn core.Turn, err error) {
	w.tell(func() { w.turn, w.err, w.done = turn, err, true })
	<-w.over
	s.working = slices.DeleteFunc(s.working, func(o *working) bool { return o == w })
	s.note("activation %d is over: %v", w.epoch, err)
}

// abandon loses every activation as it stands.
func (s *stage) abandon() {
	for len(s.working) > 0 {
		s.lost = true
		s.end(s.working[0], core.Turn{Text: "lost"}, nil)
	}
	s.lost = false
}

// act lets a model do something: mostly, say something.
func (s *stage) act(w *working) {
	switch n := s.random.IntN(28); {
	case n < 15:
		kind := core.TextPart
		if s.one(3) {
			kind = core.ReasoningPart
		}
		s.speak(w, kind, strings.Repeat(string(rune('a'+s.random.IntN(26)))+"ü", s.random.IntN(200)))
	case n < 22:
		s.clock.Advance(100 * time.Millisecond)
		s.note("some time passes")
	case n == 22:
		s.note("activation %d: the model begins anew", w.epoch)
		w.tell(func() { w.say(engine.Delta{Restart: true}) })
		w.text, w.thoughts = "", ""
	case n == 23:
		s.end(w, core.Turn{}, &engine.TryLater{Detail: "busy", Busy: true})
	case n == 24:
		s.note("its commit is lost")
		s.lost = true
		s.end(w, core.Turn{Text: "never committed"}, nil)
		s.lost = false
	case n == 25 && s.one(6):
		s.end(w, core.Turn{}, errors.New("for good"))
	default:
		s.end(w, s.turn(w), nil)
	}
}

func (s *stage) speak(w *working, kind, text string) {
	s.note("activation %d says %d bytes of %s", w.epoch, len(text), kind)
	w.tell(func() { w.say(engine.Delta{Kind: kind, Text: text}) })
	if kind == core.TextPart {
		w.text += text
	} else {
		w.thoughts += text
	}
}

// turn is what the model said, most of the time: what was shown is not what counts.
func (s *stage) turn(w *working) core.Turn {
	text, thoughts := w.text, w.thoughts
	if s.one(5) {
		text = "quite another text"
	}
	if s.one(5) {
		text = ""
	}
	if s.one(5) {
		thoughts = ""
	}
	turn := core.Turn{Text: text}
	if thoughts != "" {
		turn.Content = append([]core.Part{{Type: core.PartReasoning, Text: thoughts}}, core.TextParts(text)...)
	}
	if text == "" || !s.one(4) {
		turn.Calls = []core.ToolCall{{ID: fmt.Sprint("call_", w.epoch), Name: "echo", Arguments: json.RawMessage(`{}`)}}
	}
	return turn
}

// heard is a board whose readers are held to what it was told.
type heard struct {
	engine.Live
	s *stage
}

func (h heard) Say(a engine.Attempt, p engine.Piece) {
	h.s.truth.add(fmt.Sprintf("%d.%d %s", a.Epoch, a.Restart, p.Kind), p.Text)
	h.Live.Say(a, p)
}

func (h heard) End(a engine.Attempt) {
	h.s.look()
	h.Live.End(a)
	h.s.look()
}

// agents have one agent, which is the stage.
type agents struct{ s *stage }

func (a agents) Load(context.Context, engine.Pin) (engine.Agent, error) {
	return engine.Agent{Rules: rules{}, Offered: []core.ToolSpec{{Name: "echo"}}, Model: a.s, Tools: map[string]engine.Tool{"echo": echo{}}}, nil
}

func (a agents) Newest(context.Context, string, string) (string, error) { return "v1", nil }

type rules struct{}

func (rules) Tool(name string) (core.ToolSpec, bool) {
	return core.ToolSpec{Name: name}, name == "echo"
}
func (rules) Check(core.ToolCall) error                              { return nil }
func (rules) Gate(core.ToolCall, core.State) core.Verdict            { return core.Verdict{Effect: core.Allow} }
func (rules) Deadline(core.ToolCall, core.Kind) (none core.Deadline) { return none }
func (rules) Times(*vote.Policy, int, int64) core.Times              { return core.Times{} }

func (rules) Child(core.ToolCall) (none core.ChildSpec, is bool) { return none, false }
func (rules) Terms() (none core.Terms)                           { return none }

type echo struct{}

func (echo) Run(context.Context, engine.ToolRequest) (core.Outcome, error) {
	return core.Outcome{Text: "echoed"}, nil
}
