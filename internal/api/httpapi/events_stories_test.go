package httpapi_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// stories meet every type of event that a run can produce. Callers act only when nothing else goes
// on, so that the events of each story are the same each time. meets is what its events must have,
// for it to be the story that its name says.
var stories = []struct {
	name  string
	play  func(*story)
	meets []string
}{
	{"edited", (*story).edited, []string{`"edited_arguments_digest"`, `"ran_with"`}},
	{"refused", (*story).refused, []string{`"outcome":"invalid_arguments"`, `"outcome":"denied_by_rule"`, `"outcome":"unknown_tool"`, `"outcome":"tool_error"`}},
	{"denied", (*story).denied, []string{`"outcome":"denied_by_person"`}},
	{"blocked", (*story).blocked, []string{`"outcome":"blocked"`, `"done_reason":"blocked"`}},
	{"client", (*story).answeredByClient, []string{`"kind":"client"`, `"cause":"decision"`}},
	{"question", (*story).answeredByCustomer, []string{`"kind":"input"`, `"cause":"message"`}},
	{"unknown outcome", (*story).answeredByWitness, []string{`"kind":"unknown_outcome"`}},
	{"deadline", (*story).overdue, []string{`"timed_out":true`, `"outcome":"timed_out"`, `"cause":"deadline"`}},
	{"reminded", (*story).reminded, []string{`"call.reminded"`}},
	{"withdrawn", (*story).withdrawn, []string{`"decision.withdrawn"`}},
	{"escalated", (*story).escalated, []string{`"call.escalated"`, `"group":"office"`}},
	{"near", (*story).nearlyOverdue, []string{`"call.deadline_near"`}},
	{"paused", (*story).pausedAndQueued, []string{`"kind":"interrupt"`, `"cause":"interrupt"`, `"message.queued"`}},
	{"family", (*story).family, []string{`"suspended_awaiting_children"`, `"child.started"`, `"child.ended"`, `"cause":"child"`}},
	{"cancelled", (*story).cancelled, []string{`"outcome":"run_cancelled"`, `"cause":"cancel"`}},
	{"cut", (*story).cutOff, []string{`"text.delta"`, `"cut":true`}},
	{"forgetful", (*story).forgetful, []string{`"hook.failed"`, `"memory.failed"`}},
	{"outage", (*story).outage, []string{`"reason":"model_unavailable"`}},
	{"failed", (*story).failedAndRetried, []string{`"code":"model_error"`}},
	{"elsewhere", (*story).elsewhere, []string{`"suspended_awaiting_children"`, `"remote":true`}},
}

// playStories returns what the readers of each story were told.
func playStories(t *testing.T) map[string][]wire.Event {
	t.Helper()
	c := newCounter(t)
	t.Run("stories", func(t *testing.T) {
		for _, one := range stories {
			t.Run(one.name, func(t *testing.T) {
				t.Parallel()
				ctx, stop := context.WithCancel(t.Context())
				s := &story{counter: c, t: t, ctx: ctx, name: one.name}
				defer func() {
					if t.Failed() {
						stop() // the readers of a run that does not end
					}
					s.readers.Wait()
					stop()
				}()
				one.play(s)
			})
		}
	})
	for _, one := range stories {
		events := string(core.Encode(c.told[one.name]))
		for _, word := range one.meets {
			if !strings.Contains(events, word) {
				t.Errorf("the events of the story %q have no %s", one.name, word)
			}
		}
	}
	return c.told
}

// edited is a refund whose amount anna corrects.
func (s *story) edited() {
	s.t.Helper()
	run := s.waits(s.start("refunds", "Please refund order A-2. The teapot arrived broken."))
	s.decide(run, wire.Decision{DecisionID: "anna-1", Action: "resume", Arguments: core.Encode(map[string]any{"order": "A-2", "amount": 120}), Reason: "the lid is fine",
		Shown: run.Pending[0].Fingerprint, ShownBy: "console/2"})
	s.done(run)
}

// refused are calls that don't run: one has other arguments than its tool, a rule denies one, and
// of one there is no tool.
func (s *story) refused() {
	s.t.Helper()
	s.done(s.start("refunds", "Please refund order A-3, the shipping and the flowers."))
}

// denied is a refund that anna denies.
func (s *story) denied() {
	s.t.Helper()
	run := s.waits(s.start("refunds", "Refund me, again."))
	s.decide(run, wire.Decision{DecisionID: "anna-2", Action: "cancel", Reason: "duplicate order"})
	s.done(run)
}

// withdrawn is a refund that anna approves, which she takes back.
func (s *story) withdrawn() {
	s.t.Helper()
	run := s.waits(s.start("refunds", "Refund me, again."))
	sus := run.Pending[0].Suspension.ID
	_, err := s.anna.Decide(s.ctx, run.ID, wire.Decision{DecisionID: "anna-8", Target: sus, Action: "resume", Hold: 60})
	s.must(err)
	_, err = s.anna.Withdraw(s.ctx, sus, "anna-8")
	s.must(err)
	s.hears(run, core.EventDecisionWithdrawn, 2)
	s.decide(s.waits(run), wire.Decision{DecisionID: "anna-9", Action: "cancel", Reason: "duplicate order"})
	s.done(run)
}

// blocked is a call that a rule ends the run for.
func (s *story) blocked() {
	s.t.Helper()
	s.done(s.start("refunds", "Refund a million."))
}

// answeredByClient is a call that runs where the customer is.
func (s *story) answeredByClient() {
	s.t.Helper()
	run := s.waits(s.start("refunds", "Which order is late?"))
	bad := wire.Decision{DecisionID: "app-0", Target: run.Pending[0].Suspension.ID, Result: core.Encode(map[string]string{"number": "A-2"})}
	if _, err := s.anna.Decide(s.ctx, run.ID, bad); err == nil {
		s.t.Fatal("a result that does not fit is taken")
	}
	s.hears(run, core.EventActivationEnded, 2)
	run = s.waits(run)
	s.decide(run, wire.Decision{DecisionID: "app-1", Result: core.Encode(map[string]string{"order": "A-2"})})
	s.done(run)
}

// answeredByCustomer is a question that a message answers.
func (s *story) answeredByCustomer() {
	s.t.Helper()
	run := s.waits(s.start("refunds", "Please change my address."))
	_, err := s.SendMessage(s.ctx, run.ThreadID, wire.MessageRequest{Input: core.Encode("12 Mill Lane, Oxford")}, "message-1")
	s.must(err)
	s.done(run)
}

// answeredByWitness is a call of which anna finds out what happened.
func (s *story) answeredByWitness() {
	s.t.Helper()
	run := s.waits(s.start("refunds", "Please pick the parcel up."))
	s.decide(run, wire.Decision{DecisionID: "anna-3", Result: core.Encode("picked up")})
	s.done(run)
}

// overdue is a call whose deadline passes.
func (s *story) overdue() {
	s.t.Helper()
	s.done(s.start("refunds", "I sign here."))
}

// reminded is a call of which anna is reminded.
func (s *story) reminded() { s.waitsFor("reminded", core.EventCallReminded) }

// escalated is a call about which anna is asked because ben has not answered. Before that, she may
// not decide.
func (s *story) escalated() {
	s.t.Helper()
	run := s.start("escalated", "Please pay invoice 7.")
	_, err := s.anna.Decide(s.ctx, run.ID, wire.Decision{DecisionID: "anna-6", Target: s.waits(run).Pending[0].Suspension.ID, Action: "resume"})
	if refused, is := errors.AsType[*client.Error](err); !is || refused.Code != "not_an_approver" {
		s.t.Fatalf("anna is told %v", err)
	}
	s.hears(run, core.EventDecisionRefused, 2)
	s.hears(run, core.EventCallEscalated, 2)
	s.decide(s.waits(run), wire.Decision{DecisionID: "anna-5", Action: "resume"})
	s.done(run)
}

// nearlyOverdue is a call that anna approves shortly before its deadline.
func (s *story) nearlyOverdue() { s.waitsFor("near", core.EventCallDeadlineNear) }

func (s *story) waitsFor(name string, moment core.EventType) {
	s.t.Helper()
	run := s.start(name, "Please pay invoice 7.")
	s.hears(run, moment, 1)
	s.decide(s.waits(run), wire.Decision{DecisionID: "anna-5", Action: "resume"})
	s.done(run)
}

// pausedAndQueued is a run that is interrupted while it waits, and behind which a message is
// queued.
func (s *story) pausedAndQueued() {
	s.t.Helper()
	run := s.waits(s.start("refunds", "Which order is late?"))
	_, err := s.Interrupt(s.ctx, run.ID, "interrupt-1")
	s.must(err)
	s.hears(run, core.EventTurnEnded, 2)
	_, err = s.anna.Resume(s.ctx, run.ID, wire.ResumeRequest{DecisionID: "anna-4"})
	s.must(err)
	s.hears(run, core.EventTurnEnded, 3)
	_, err = s.SendMessage(s.ctx, run.ThreadID, wire.MessageRequest{Input: core.Encode("When does the refund arrive?"), OnPending: "queue"}, "message-2")
	s.must(err)
	s.hears(run, core.EventTurnEnded, 4)
	s.decide(s.waits(run), wire.Decision{DecisionID: "app-2", Result: core.Encode(map[string]string{"order": "A-2"})})
	s.done(run)
}

// family is a run that calls another agent. It is paused while that waits for anna, and both go on.
func (s *story) family() {
	s.t.Helper()
	run := s.waits(s.start("planner", "Plan the transfer."))
	child := run.Children[0].RunID
	s.read("below", child)
	_, err := s.Interrupt(s.ctx, run.ID, "interrupt-2")
	s.must(err)
	s.paused(child, true)
	_, err = s.anna.Resume(s.ctx, run.ID, wire.ResumeRequest{DecisionID: "anna-7"})
	s.must(err)
	s.paused(child, false)
	for _, p := range run.Pending {
		_, err := s.anna.Decide(s.ctx, run.ID, wire.Decision{DecisionID: "anna-8", Target: p.Suspension.ID, Action: "resume"})
		s.must(err)
	}
	s.done(run)
}

// elsewhere is a run that calls an agent which runs elsewhere. The events of the run that asks that
// agent are told as those of the outpost.
func (s *story) elsewhere() {
	s.t.Helper()
	run := s.start("drafts", "Have the contract reviewed.")
	s.hears(run, core.EventTurnEnded, 1)
	now, err := s.Run(s.ctx, run.ID)
	s.must(err)
	s.read("outpost", now.Children[0].RunID)
	close(s.reviewer.wanted)
	s.done(run)
}

// paused waits until a run is paused, or goes on.
func (s *story) paused(run string, wanted bool) {
	s.t.Helper()
	for is := !wanted; is != wanted && s.ctx.Err() == nil; {
		now, err := s.Run(s.ctx, run)
		s.must(err)
		is = slices.ContainsFunc(now.Pending, func(p wire.Pending) bool { return p.Kind == "interrupt" })
	}
}

// cancelled is a run that is cancelled while it waits.
func (s *story) cancelled() {
	s.t.Helper()
	run := s.waits(s.start("refunds", "Refund me, again."))
	_, err := s.Cancel(s.ctx, run.ID)
	s.must(err)
	s.done(run)
}

// cutOff is a run that is cancelled in the middle of a text.
func (s *story) cutOff() {
	s.t.Helper()
	run := s.start("refunds", "Tell me everything about teapots.")
	select {
	case <-s.model.said:
	case <-s.ctx.Done():
	}
	_, err := s.Cancel(s.ctx, run.ID)
	s.must(err)
	s.done(run)
}

// forgetful is a run whose hook and whose memory fail.
func (s *story) forgetful() {
	s.t.Helper()
	s.done(s.start("forgetful", "When does the refund arrive?"))
}

// outage is a run whose model does not answer for now.
func (s *story) outage() {
	s.t.Helper()
	run := s.start("refunds", "Good morning.")
	s.hears(run, core.EventStepReset, 1)
	_, err := s.Cancel(s.ctx, run.ID)
	s.must(err)
	s.done(run)
}

// failedAndRetried is a run whose model refuses, and the one that goes on from there.
func (s *story) failedAndRetried() {
	s.t.Helper()
	run := s.done(s.start("refunds", "Good evening."))
	again, err := s.Retry(s.ctx, run.ID, "retry-1")
	s.must(err)
	s.read("retried", again.ID)
	s.done(again)
}
