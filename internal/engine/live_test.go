package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// listener writes down what it is told.
type listener struct {
	mu    sync.Mutex
	told  []string
	at    []engine.Attempt // of Begin
	do    func()           // at each call
	atEnd func(engine.Attempt)
}

func (l *listener) heardThat(format string, args ...any) {
	l.mu.Lock()
	l.told = append(l.told, fmt.Sprintf(format, args...))
	l.mu.Unlock()
	if l.do != nil {
		l.do()
	}
}

func (l *listener) Begin(a engine.Attempt) {
	l.mu.Lock()
	l.at = append(l.at, a)
	l.mu.Unlock()
	l.heardThat("begin %d.%d", a.Epoch, a.Restart)
}

func (l *listener) Say(a engine.Attempt, p engine.Piece) {
	l.heardThat("%d.%d %s %d %s", a.Epoch, a.Restart, p.Kind, p.Offset, p.Text)
}

func (l *listener) Note(a engine.Attempt, n engine.Note) {
	if n.Progress == nil {
		l.heardThat("%d.%d note %d: %s begins", a.Epoch, a.Restart, n.Version, n.Call.Name)
		return
	}
	l.heardThat("%d.%d note %d: %s %g of %g %s", a.Epoch, a.Restart, n.Version, n.Call.Name, n.Progress.Done, n.Progress.Total, n.Progress.Text)
}

func (l *listener) End(a engine.Attempt) {
	if l.atEnd != nil {
		l.atEnd(a)
	}
	l.heardThat("end %d.%d", a.Epoch, a.Restart)
}

func (l *listener) heard() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.told)
}

// listening is a run whose model speaks as the test says, to l.
func listening(t *testing.T, l engine.Live, speak func(r *rig, say func(engine.Delta)) error) *rig {
	t.Helper()
	r := newRig(t, says("all of it"))
	r.build(engine.Options{Live: l})
	r.onAsk = func(_ context.Context, p engine.Prompt) error {
		if p.Say == nil {
			t.Fatal("the model cannot say anything")
		}
		return speak(r, p.Say)
	}
	r.start("hi")
	return r
}

func saying(words string) engine.Delta { return engine.Delta{Kind: core.TextPart, Text: words} }
func thinks(words string) engine.Delta {
	return engine.Delta{Kind: core.ReasoningPart, Text: words}
}

func TestWhatAModelSaysIsHandedOverInPieces(t *testing.T) {
	long := strings.Repeat("x", 255)
	for name, tt := range map[string]struct {
		speak func(r *rig, say func(engine.Delta)) error
		want  []string
	}{
		"nothing": {func(*rig, func(engine.Delta)) error { return nil }, nil},
		"what is short is gathered until the turn ends": {func(_ *rig, say func(engine.Delta)) error {
			say(saying("one "))
			say(saying("two"))
			return nil
		}, []string{"begin 1.0", "1.0 text 0 one two", "end 1.0"}},
		"what is long goes at once": {func(_ *rig, say func(engine.Delta)) error {
			say(saying(long))
			say(saying("y"))
			say(saying("z"))
			return nil
		}, []string{"begin 1.0", "1.0 text 0 " + long + "y", "1.0 text 256 z", "end 1.0"}},
		"what a model that pauses has said goes after a while": {func(r *rig, say func(engine.Delta)) error {
			say(saying("one "))
			r.clock.Advance(99 * time.Millisecond)
			say(saying("two "))
			r.clock.Advance(time.Millisecond)
			say(saying("three"))
			r.clock.Advance(time.Second)
			say(saying(""))
			return nil
		}, []string{"begin 1.0", "1.0 text 0 one two ", "1.0 text 8 three", "end 1.0"}},
		"a piece is of one kind, and each kind has its own offsets": {func(_ *rig, say func(engine.Delta)) error {
			say(thinks("hm"))
			say(saying("a"))
			say(thinks("m"))
			say(engine.Delta{Kind: "smell", Text: "odd"})
			say(saying("b"))
			return nil
		}, []string{"begin 1.0", "1.0 reasoning 0 hm", "1.0 text 0 a", "1.0 reasoning 2 m", "1.0 text 1 b", "end 1.0"}},
		"a character is not broken": {func(r *rig, say func(engine.Delta)) error {
			say(saying("Z\xc3"))
			r.clock.Advance(time.Second)
			say(saying("\xbcrich \xf0\x9f"))
			r.clock.Advance(time.Second)
			say(saying("\x90\xad \xff \xf0\x9f"))
			return nil
		}, []string{"begin 1.0", "1.0 text 0 Z", "1.0 text 1 ürich ", "1.0 text 8 🐭 \ufffd \ufffd", "end 1.0"}},
		"a model that begins anew": {func(r *rig, say func(engine.Delta)) error {
			say(saying("never heard"))
			say(engine.Delta{Restart: true})
			say(saying("void"))
			r.clock.Advance(time.Second)
			say(saying(" too"))
			say(engine.Delta{Restart: true})
			say(engine.Delta{Restart: true})
			say(saying("good"))
			return nil
		}, []string{"begin 1.0", "1.0 text 0 void", "end 1.0", "begin 1.1", "1.1 text 0 good", "end 1.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &listener{}
			r := listening(t, l, tt.speak)
			l.atEnd = func(a engine.Attempt) {
				if h := r.head(); h.Seq == a.Seq && !strings.Contains(name, "anew") {
					t.Errorf("the attempt ends, and nothing was committed behind segment %d", h.Seq)
				}
			}
			r.work()
			r.wantConversation("user: hi", "assistant: all of it")
			if diff := cmp.Diff(tt.want, l.heard()); diff != "" {
				t.Errorf("heard (-want +got):\n%s", diff)
			}
			if next, waits := r.clock.Next(); waits {
				t.Errorf("a timer waits until %v", next)
			}
			for _, e := range r.events() {
				if len(l.at) > 0 && e.Type == core.EventTextEnded && (e.Turn != l.at[0].Turn || e.Step != l.at[0].Step) {
					t.Errorf("committed as turn %d step %d, said as %+v", e.Turn, e.Step, l.at[0])
				}
			}
		})
	}
}

// failingAtFirst is a model that says something and then gives no turn, the first time.
func failingAtFirst(how error) func(r *rig, say func(engine.Delta)) error {
	return func(r *rig, say func(engine.Delta)) error {
		if r.asked > 1 {
			say(saying("all of it"))
			return nil
		}
		say(saying("half of"))
		r.clock.Advance(time.Second)
		say(saying(" it, lost"))
		return how
	}
}

func TestAnAttemptThatFailsEndsAndTheNextOneBegins(t *testing.T) {
	l := &listener{}
	r := listening(t, l, failingAtFirst(&engine.TryLater{Detail: "busy"}))
	r.step()
	r.clock.Advance(time.Minute)
	r.work()
	want := []string{"begin 1.0", "1.0 text 0 half of", "end 1.0", "begin 2.0", "2.0 text 0 all of it", "end 2.0"}
	if diff := cmp.Diff(want, l.heard()); diff != "" || r.count(core.EventStepReset) != 1 {
		t.Errorf("%d resets are committed; heard (-want +got):\n%s", r.count(core.EventStepReset), diff)
	}
}

func TestAnAttemptThatIsGivenUpWithoutACommitEnds(t *testing.T) {
	l := &listener{}
	r := listening(t, l, failingAtFirst(nil))
	r.store = &breaking{Store: r.db, before: true, how: func() error { return errors.New("lost") }, also: []int{3}}
	r.build(engine.Options{Live: l})
	_, err := r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread})
	if got := l.heard(); err == nil || len(got) == 0 || got[len(got)-1] != "end 1.0" {
		t.Errorf("%v, heard %q", err, got)
	}
}

// A turn is as durable as ever, and no more, however many pieces it comes in.
func TestATurnCostsTheSameInOnePieceAndInAThousand(t *testing.T) {
	of := func(pieces int, l engine.Live) (int, cost, *rig) {
		said := strings.Repeat("word and more of it ", 1000)
		r := newRig(t, says(said))
		counted := &counting{Store: r.db}
		r.store = counted
		r.build(engine.Options{Live: l})
		r.onAsk = func(_ context.Context, p engine.Prompt) error {
			for i := range pieces {
				if p.Say == nil {
					return nil
				}
				p.Say(saying(said[i*len(said)/pieces : (i+1)*len(said)/pieces]))
				r.clock.Advance(10 * time.Millisecond)
			}
			return nil
		}
		r.start("hi")
		before := r.db.Stats()
		r.work()
		return counted.writes, spent(before, r.db.Stats()), r
	}
	quiet, quietCost, _ := of(1, nil)
	for _, pieces := range []int{1, 1000} {
		l := &listener{}
		writes, cost, r := of(pieces, l)
		r.wantRun(core.RunDone, core.NaturalEnd)
		if writes != quiet || cost.statements != quietCost.statements {
			t.Errorf("%d pieces: %d writes and %d statements, and %d and %d where nobody listens", pieces, writes, cost.statements, quiet, quietCost.statements)
		}
		t.Logf("%d pieces: %d writes, %d statements, %d handed over", pieces, writes, cost.statements, len(l.heard())-2)
		if got := len(l.heard()) - 2; pieces > 1 && (got < 50 || got > 150) {
			t.Errorf("1,000 pieces of 20 bytes in 10 s were handed over as %d", got)
		}
	}
}

type counting struct {
	engine.Store
	writes int
}

func (c *counting) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	c.writes++
	return c.Store.Claim(ctx, req)
}

func (c *counting) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	c.writes++
	return c.Store.Commit(ctx, req)
}

func (c *counting) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	c.writes++
	return c.Store.Start(ctx, req)
}

func TestAListenerThatPanicsHarmsNobody(t *testing.T) {
	l := &listener{do: func() { panic("deaf") }}
	r := listening(t, l, func(r *rig, say func(engine.Delta)) error {
		say(saying("one"))
		r.clock.Advance(time.Second)
		say(saying("two"))
		return nil
	})
	r.work()
	r.wantRun(core.RunDone, core.NaturalEnd)
	if len(l.heard()) < 3 {
		t.Errorf("heard only %q", l.heard())
	}
}

func TestAModelThatSpeaksAfterItsTurnSpeaksToNobody(t *testing.T) {
	l := &listener{}
	var kept func(engine.Delta)
	r := listening(t, l, func(_ *rig, say func(engine.Delta)) error {
		kept = say
		say(saying("all"))
		return nil
	})
	r.work()
	kept(saying(strings.Repeat("more", 1000)))
	kept(engine.Delta{Restart: true})
	r.clock.Advance(time.Minute)
	if got := l.heard(); len(got) != 3 || got[2] != "end 1.0" {
		t.Errorf("heard %.200q", got)
	}
}

func TestAStepSaysHowLongItsModelTookAlsoWithoutReaders(t *testing.T) {
	r := newRig(t, says("done"))
	r.onAsk = func(_ context.Context, p engine.Prompt) error {
		r.clock.Advance(300 * time.Millisecond)
		p.Say(saying("do"))
		r.clock.Advance(700 * time.Millisecond)
		return nil
	}
	r.play()
	for _, e := range r.events() {
		if want := `{"asked_at":1777593600000,"latency_ms":1000,"first_token_ms":300}`; e.Type == core.EventStepStarted && string(e.Data) != want {
			t.Errorf("told %s, want %s", e.Data, want)
		}
	}
}

func TestAPromptSaysWhetherTheRunMaySoonWait(t *testing.T) {
	for name, tt := range map[string]struct {
		rule toolRule
		want bool
	}{
		"a tool that is allowed":      {toolRule{effect: core.Allow}, false},
		"a tool that is asked about":  {toolRule{effect: core.Ask}, true},
		"a tool that the client runs": {toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}}, true},
		"a tool that is asked about if its arguments cannot be told": {toolRule{gate: func(c core.ToolCall, _ core.State) core.Verdict {
			if c.Arguments == nil {
				return core.Verdict{Effect: core.Ask}
			}
			return core.Verdict{Effect: core.Allow}
		}}, true},
		"a tool with a result that is set": {toolRule{effect: core.SetResult}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, says("done"))
			r.tool("it", tt.rule)
			r.play()
			if r.prompt.Patient != tt.want {
				t.Errorf("patient: %v", r.prompt.Patient)
			}
		})
	}
	r := newRig(t, says("done"))
	r.ask("dear")
	r.watching("p").wants(core.BeforeInference, core.Effects{Exclude: []string{"dear"}})
	r.play()
	if r.prompt.Patient {
		t.Error("a tool that is not offered in this step counts")
	}
}
