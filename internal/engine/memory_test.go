package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

// memory remembers what it is given, and fails if it is told to.
type memory struct {
	recalls            int
	seen, given        [][]core.Message
	recallErr, giveErr error
	panics             bool
	silent             bool
}

func (m *memory) Recall(_ context.Context, req engine.MemoryRequest) (string, error) {
	m.recalls++
	m.seen = append(m.seen, req.Messages)
	if m.panics {
		panic("secret")
	}
	if m.recallErr != nil || m.silent {
		return "", m.recallErr
	}
	return "a bird", nil
}

func (m *memory) Commit(_ context.Context, req engine.MemoryRequest) error {
	m.given = append(m.given, req.Messages)
	if m.panics {
		panic("secret")
	}
	return m.giveErr
}

// remembered is a run with a memory that has been played.
func remembered(t *testing.T, m *memory, turns ...core.Turn) *rig {
	r := newRig(t, turns...)
	r.memory = m
	return r.play()
}

// failures are the details of memory.failed events.
func (r *rig) failures() (details []string) {
	for _, e := range r.events() {
		if e.Type == core.EventMemoryFailed {
			details = append(details, string(e.Data))
		}
	}
	return details
}

func TestMemory(t *testing.T) {
	t.Run("recalled once per run, with its input, and shown to the model", func(t *testing.T) {
		m := &memory{}
		r := remembered(t, m, calls(call("c1", "echo", `{}`)), says("done"))
		r.wantEnd(core.NaturalEnd, "")
		if m.recalls != 1 || len(m.seen[0]) != 1 || m.seen[0][0].Text() != "hi" {
			t.Errorf("recalled %d times, for %v", m.recalls, m.seen)
		}
		if !shows(r.prompt, "a bird") {
			t.Errorf("the model saw %+v", r.prompt.Messages)
		}
	})
	t.Run("recalled once over waits and new processes", func(t *testing.T) {
		m := &memory{}
		r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
		r.ask("pay")
		r.memory = m
		r.play()
		r.build(engine.Options{})
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantEnd(core.NaturalEnd, "")
		if m.recalls != 1 || len(m.given) != 1 {
			t.Errorf("recalled %d times, given %d times", m.recalls, len(m.given))
		}
	})
	t.Run("nothing to recall is no message", func(t *testing.T) {
		r := remembered(t, &memory{silent: true}, says("done"))
		r.wantConversation("user: hi", "assistant: done")
	})
	t.Run("given the whole conversation after the end", func(t *testing.T) {
		m := &memory{}
		r := remembered(t, m, calls(call("c1", "echo", `{}`)), says("done"))
		if len(m.given) != 1 {
			t.Fatalf("given %d times", len(m.given))
		}
		var lines []string
		for _, msg := range m.given[0] {
			lines = append(lines, line(msg))
		}
		r.wantConversation(lines...)
		if last := lines[len(lines)-1]; last != "assistant: done" {
			t.Errorf("the last it was given is %q", last)
		}
	})
	t.Run("C224 a memory that fails is journaled and does no harm", func(t *testing.T) {
		for name, m := range map[string]*memory{"errors": {recallErr: errors.New("secret"), giveErr: errors.New("secret")}, "panics": {panics: true}} {
			r := remembered(t, m, says("done"))
			r.wantEnd(core.NaturalEnd, "")
			r.wantConversation("user: hi", "assistant: done")
			got := r.failures()
			if len(got) != 2 || !strings.Contains(got[0], "recall_failed") || !strings.Contains(got[1], "commit_failed") || strings.Contains(strings.Join(got, ""), "secret") {
				t.Errorf("%s: journaled %v", name, got)
			}
			if h := r.head(); h.Response != core.ResponseDone || m.recalls != 1 || len(m.given) != 1 {
				t.Errorf("%s: response %q, recalled %d times, given %d times", name, h.Response, m.recalls, len(m.given))
			}
		}
	})
	t.Run("C225 a run that asked for none has none", func(t *testing.T) {
		m := &memory{}
		r := newRig(t, says("done"))
		r.memory = m
		r.startWith("hi", func(h *core.Head) { h.NoMemory = true })
		r.work()
		r.wantEnd(core.NaturalEnd, "")
		r.wantConversation("user: hi", "assistant: done")
		if m.recalls != 0 || len(m.given) != 0 || len(r.failures()) != 0 {
			t.Errorf("recalled %d times, given %d times", m.recalls, len(m.given))
		}
		if without := newRig(t, says("done")).play(); r.head().Rev != without.head().Rev {
			t.Errorf("%d writes, %d without a memory", r.head().Rev, without.head().Rev)
		}
	})
	for _, c := range []struct {
		name  string
		end   func(r *rig)
		kind  core.ReasonKind
		given int
	}{
		{"a stop rule", func(r *rig) { r.stopping(r.t, stoprule.Spec{Type: "max_rounds", Rounds: 1}) }, core.Stopped, 1},
		{"a hook", func(r *rig) {
			r.watching("p").wants(core.AfterInference, core.Effects{End: &core.Reason{Kind: core.BehaviorRequested}})
		}, core.BehaviorRequested, 1},
		{"a block", func(r *rig) { r.tool("echo", toolRule{effect: core.Block}) }, core.Blocked, 0},
		{"a cancel", func(r *rig) {
			r.onAsk = func(context.Context, engine.Prompt) error { return r.cancel() }
		}, core.Cancelled, 0},
		{"an error", func(r *rig) {
			r.onAsk = func(context.Context, engine.Prompt) error { return &engine.ModelError{Detail: "no credit"} }
		}, core.Failed, 0},
	} {
		t.Run("C223 ended by "+c.name, func(t *testing.T) {
			m := &memory{}
			r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
			r.memory = m
			c.end(r)
			r.play()
			r.wantRun(core.RunDone, c.kind)
			if len(m.given) != c.given {
				t.Errorf("given %d times, want %d", len(m.given), c.given)
			}
		})
	}
	t.Run("lost between the end and the memory: it is given again, and the run is done once", func(t *testing.T) {
		m := &memory{}
		r := newRig(t, says("done"))
		r.memory = m
		store := &failing{Store: r.db}
		r.store = store
		r.build(engine.Options{})
		p := r.watching("p")
		r.memory = &losing{memory: m, lose: func() { store.next = true }}
		r.start("hi")
		if !r.stepOrDie() {
			t.Fatal("the process was not lost")
		}
		if h := r.head(); h.End == nil || h.Status == core.RunDone {
			t.Fatalf("status %s, end %+v", h.Status, h.End)
		}
		r.recover()
		r.wantEnd(core.NaturalEnd, "")
		if len(m.given) != 2 || p.times("run_end") != 1 {
			t.Errorf("given %d times, hooks %v", len(m.given), p.order())
		}
	})
}

func TestAMemoryThatKillsItsProcessIsGivenUp(t *testing.T) {
	for _, hooks := range []bool{false, true} {
		t.Run(map[bool]string{false: "without hooks", true: "behind hooks of the end that killed it before"}[hooks], func(t *testing.T) {
			m := &memory{}
			r := newRig(t, says("done"))
			store := &failing{Store: r.db}
			r.store = store
			r.memory = &deadly{memory: m, lose: func() { store.next = true }}
			r.build(engine.Options{})
			lives := 0
			if hooks {
				r.watching("p").does(core.RunEnd, func(visit) { lives++; store.next = true })
			}
			r.start("hi")
			for range 20 {
				r.workOrDie()
				r.clock.Advance(3 * time.Minute)
				r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 5*time.Second))
			}
			r.wantEnd(core.NaturalEnd, "")
			if got := r.failures(); len(got) != 1 || !strings.Contains(got[0], "given_up") || len(m.given) != 3 {
				t.Errorf("given %d times, journaled %v", len(m.given), got)
			}
			if want := map[bool]int{true: 3}[hooks]; lives != want || r.count(core.EventHookFailed) != want/3 {
				t.Errorf("hooks called %d times, %d failures", lives, r.count(core.EventHookFailed))
			}
		})
	}
}

// A worker that takes a run over after too many crashes doesn't load its agent. It can't give the
// run to the agent's memory, and says so.
func TestAMemoryThatIsNotLoadedAnyMoreIsGivenUp(t *testing.T) {
	m := &memory{}
	r := newRig(t, says("done"))
	store := &failing{Store: r.db}
	r.store, r.memory = store, m
	limits := plans.DefaultLimits
	limits.Claims = limits.BodyTries - 1
	r.build(engine.Options{Limits: limits})
	r.watching("p").does(core.RunEnd, func(visit) { store.next = true })
	r.start("hi")
	for range 8 {
		r.workOrDie()
		r.clock.Advance(3 * time.Minute)
		r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 5*time.Second))
	}
	r.wantEnd(core.NaturalEnd, "")
	if got := r.failures(); len(got) != 1 || !strings.Contains(got[0], "given_up") || len(m.given) != 0 {
		t.Errorf("given %d times, journaled %v", len(m.given), got)
	}
}

// deadly is a memory behind which the process is lost each time.
type deadly struct {
	*memory
	lose func()
}

func (d *deadly) Commit(ctx context.Context, req engine.MemoryRequest) error {
	d.lose()
	return d.memory.Commit(ctx, req)
}

// A store that answers badly for longer than a read is tried is no memory that fails: the next
// activation offers the conversation again.
func TestAJournalThatCannotBeReadIsNoFailureOfTheMemory(t *testing.T) {
	for name, atEnd := range map[string]bool{"at the start": false, "at the end": true} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			r := newRig(t, says("done"))
			r.memory = m
			r.start("hi")
			if atEnd {
				r.store = lostAtTheEnd{r.db}
				r.build(engine.Options{})
				if !r.stepOrDie() {
					t.Fatal("the process was not lost")
				}
				r.clock.Advance(3 * time.Minute)
			}
			store := &unreadable{Store: r.db, down: true}
			r.store = store
			r.build(engine.Options{})
			if _, err := r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread}); !errors.Is(err, errUnreadable) {
				t.Fatalf("the step ended with %v", err)
			}
			store.down = false
			r.recover()
			r.wantEnd(core.NaturalEnd, "")
			if m.recalls != 1 || len(m.given) != 1 || len(r.failures()) != 0 {
				t.Errorf("recalled %d times, given %d times, journaled %v", m.recalls, len(m.given), r.failures())
			}
		})
	}
}

// lostAtTheEnd is the store of a process that is lost once the end of its run is committed.
type lostAtTheEnd struct{ engine.Store }

func (s lostAtTheEnd) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	w, err := s.Store.Commit(ctx, req)
	if err == nil && w.Head.End != nil {
		panic(lost{})
	}
	return w, err
}

var errUnreadable = errors.New("the store does not answer")

// unreadable is a store whose journal cannot be read while it is down.
type unreadable struct {
	engine.Store
	down bool
}

func (s *unreadable) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	if s.down {
		return nil, errUnreadable
	}
	return s.Store.Segments(ctx, tenant, thread, from, to)
}

// losing is a memory behind which the process is lost, once.
type losing struct {
	*memory
	lose func()
}

func (l *losing) Commit(ctx context.Context, req engine.MemoryRequest) error {
	if len(l.given) == 0 {
		l.lose()
	}
	return l.memory.Commit(ctx, req)
}

// startWith creates the run of a new thread with a head of the test's making.
func (r *rig) startWith(input string, change func(*core.Head)) {
	r.t.Helper()
	h := core.Head{Identity: core.Identity{Tenant: "t", Thread: r.thread, Run: core.RunID(r.thread, 0), Agent: "a", Version: "v1", Schema: core.SchemaVersion},
		Position: core.Position{Sigs: 1}, Origin: core.Origin{Born: r.now(), At: r.now()},
		Inbox: map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, Value: core.Encode(core.TextParts(input)), At: r.now()}}}
	change(&h)
	_, err := r.db.Start(r.ctx, engine.StartRequest{Head: h, Due: r.now() + 5000, Wake: &engine.Delay{}})
	r.must(err)
}
