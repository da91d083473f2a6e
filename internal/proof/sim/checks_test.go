package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

func (s *stage) journal(ctx context.Context, thread string) []core.Segment {
	h, err := s.db.Load(ctx, s.tenant, thread)
	if err != nil {
		return nil
	}
	segments, err := s.db.Segments(ctx, s.tenant, thread, 1, h.Seq)
	if err == nil {
		err = core.CheckChain(h, 1, segments)
	}
	if err != nil {
		s.wrong("I-8: %v", err)
	}
	return segments
}

// decisions are the records of what was decided in a thread.
func (s *stage) decisions(ctx context.Context, thread string) (all []decided) {
	for _, seg := range s.journal(ctx, thread) {
		for _, e := range seg.Events {
			if e.Type != core.EventDecisionRecorded {
				continue
			}
			var rec core.DecisionRecord
			if err := json.Unmarshal(e.Data, &rec); err != nil {
				s.wrong("event %d: %v", e.Seq, err)
			}
			all = append(all, decided{e.RunID, rec})
		}
	}
	return all
}

type decided struct {
	run string
	core.DecisionRecord
}

// check holds what is left at the end against the invariants.
func (s *stage) check(ctx context.Context) {
	for _, t := range s.threads {
		if t.id == "" {
			continue
		}
		segments := s.journal(ctx, t.id)
		s.final[t.n] = core.TranscriptOf(core.Messages(segments))
		s.checkHistory(t, segments)
		s.checkResults(t, core.Messages(segments))
		s.checkDecisions(t, s.decisions(ctx, t.id))
		s.checkWithdrawn(t, segments, s.decisions(ctx, t.id))
		s.checkTexts(t, core.Messages(segments))
		s.checkEvents(ctx, t, segments)
		s.checkAnswered(ctx, t, core.Messages(segments))
		s.checkPauses(t, segments)
		s.checkNarrow(ctx, t, segments)
		s.checkSupplied(ctx, t, segments)
		s.checkCancels(ctx, t)
		s.checkEnds(ctx, t)
		s.checkSignals(t, s.decisions(ctx, t.id))
		s.checkQueue(t, segments)
		s.checkBatches(t, segments)
		s.checkState(ctx, t, segments)
		s.checkHooks(ctx, t, segments)
		s.checkAwake(ctx, t)
		s.checkMemory(ctx, t, segments)
		s.tally(ctx, t, segments)
	}
	s.checkFeed(ctx)
}

func (s *stage) checkHistory(t *thread, segments []core.Segment) {
	ev := int64(0)
	for _, seg := range segments {
		if was, is := s.watched.named[fmt.Sprint(t.id, seg.Seq)], s.inFull(seg); was != is {
			s.wrong("I-8: segment %d of %s was %s and is %s", seg.Seq, t.id, was, is)
		}
		for _, e := range seg.Events {
			if ev++; e.Seq != ev {
				s.wrong("event %d of %s has number %d", ev, t.id, e.Seq)
			}
		}
	}
}

// checkResults: each call has one result, once (I-3, I-6); the model's view is well formed (I-7).
func (s *stage) checkResults(t *thread, log []core.Message) {
	results, calls := map[string]int{}, map[string]bool{}
	for _, m := range log {
		for _, c := range m.Calls {
			if calls[c.ID] {
				s.wrong("two calls are %s", c.ID)
			}
			calls[c.ID] = true
		}
		if m.Role == core.RoleTool && !m.Pending {
			results[m.CallID]++
		}
	}
	for id := range calls {
		if results[id] != 1 {
			s.wrong("I-3: call %s has %d results", id, results[id])
		}
	}
	if why := sim.Malformed(core.TranscriptOf(log), false); why != "" {
		s.wrong("I-7: %s", why)
	}
}

// checkDecisions: what callers were told is what the journal says (I-2, I-3).
func (s *stage) checkDecisions(t *thread, journaled []decided) {
	for _, told := range t.told {
		if told.sus == "" && (told.id == "deadline" || strings.HasPrefix(told.id, "m:")) {
			continue // many are called so, and one message may answer several calls
		}
		if s.withdrawn(t, told) {
			continue
		}
		times, first := 0, ""
		for _, d := range journaled {
			if d.run != told.run {
				continue
			}
			if d.DecisionID == told.id && (told.sus == "" || d.Suspension == told.sus) {
				times++
			}
			if d.Suspension == told.sus && first == "" {
				first = d.DecisionID
			}
		}
		if times != 1 {
			s.wrong("I-2: decision %q on %s of %s was answered %s and is %d times in the journal", told.id, told.sus, told.run, told.answer, times)
		}
		if told.sus != "" && first != told.id {
			s.wrong("I-3: decision %q on %s was answered %s, but %q was first", told.id, told.sus, told.answer, first)
		}
	}
	applied := map[string]int{}
	for _, d := range journaled {
		if d.Applied {
			if applied[d.Suspension]++; applied[d.Suspension] > 1 {
				s.wrong("I-3: two decisions were applied on %s", d.Suspension)
			}
		}
	}
}

// checkTexts: what was accepted is in the conversation once, as a user's turn; what was not, at
// most once.
func (s *stage) checkTexts(t *thread, log []core.Message) {
	times := map[string]int{}
	for _, m := range log {
		if m.Role == core.RoleUser {
			times[m.Text()]++
		}
	}
	for text, said := range t.said {
		n := times[text]
		if said.keyless && s.plan.late > 0 && n > 1 {
			n = 1
		}
		if n > 1 || said.accepted && n != 1 {
			s.wrong("I-2, I-3: message %q (accepted: %v) is %d times in the journal", text, said.accepted, n)
		}
	}
}

func (s *stage) records(ctx context.Context, t *thread) []core.Record {
	records, _, err := s.db.Runs(ctx, s.tenant, t.id, "", 1000)
	if err != nil {
		s.wrong("listing runs: %v", err)
	}
	return records
}

// checkNarrow: what a start was narrowed by holds for it, for its retry, and for the runs of
// messages that were queued behind it.
func (s *stage) checkNarrow(ctx context.Context, t *thread, segments []core.Segment) {
	narrow := map[string]string{}
	for _, r := range s.records(ctx, t) {
		narrow[r.Run] = string(r.Narrow)
	}
	for _, r := range s.records(ctx, t) {
		if r.RetryOf != "" && narrow[r.RetryOf] != narrow[r.Run] {
			s.wrong("%s may not do %s, and its retry %s", r.RetryOf, narrow[r.RetryOf], narrow[r.Run])
		}
	}
	for text, queued := range queuedIn(segments) {
		if begun := begunBy(segments, text); begun != "" && narrow[begun] != narrow[queued] {
			s.wrong("I-4: %q was sent to %s, which may not do %s, and began %s, which may not do %s", text, queued, narrow[queued], begun, narrow[begun])
		}
	}
	for _, e := range s.cast.executions {
		if slices.Contains(denies(json.RawMessage(narrow[e.run])), e.call.Name) {
			s.wrong("I-4: %s ran in %s, which may not do %s", e.call.Name, e.run, narrow[e.run])
		}
	}
}

// queuedIn are the messages that were queued, and the runs that they were queued behind.
func queuedIn(segments []core.Segment) map[string]string {
	queued := map[string]string{}
	for _, seg := range segments {
		for _, e := range seg.Events {
			var m struct {
				Parts []core.Part `json:"parts"`
			}
			if e.Type == core.EventMessageQueued && json.Unmarshal(e.Data, &m) == nil {
				queued[core.Message{Parts: m.Parts}.Text()] = e.RunID
			}
		}
	}
	return queued
}

// begunBy is the run whose first message says text; "" if there is none.
func begunBy(segments []core.Segment, text string) string {
	for _, m := range core.Messages(segments) {
		if m.Role == core.RoleUser && m.Text() == text {
			return m.RunID
		}
	}
	return ""
}

// checkAnswered: a run does not come to its natural end with something that its user said and the
// model has not seen.
func (s *stage) checkAnswered(ctx context.Context, t *thread, log []core.Message) {
	open := map[string]string{}
	for _, m := range log {
		switch m.Role {
		case core.RoleUser:
			if m.Answers == "" { // or its call has heard it
				open[m.RunID] = m.Text()
			}
		case core.RoleAssistant:
			delete(open, m.RunID)
		}
	}
	for _, r := range s.records(ctx, t) {
		if text, unheard := open[r.Run]; unheard && r.End != nil && r.End.Kind == core.NaturalEnd {
			s.wrong("I-2: %s ended by itself, without an answer to %q", r.Run, text)
		}
	}
}

func (s *stage) checkCancels(ctx context.Context, t *thread) {
	for _, r := range s.records(ctx, t) {
		if t.cancels[r.Run] && (r.End == nil || r.End.Kind != core.Cancelled) {
			s.wrong("I-2: the cancel of %s was accepted, and it ended %+v", r.Run, r.End)
		}
		if r.End != nil && r.End.Kind == core.Cancelled && !t.unwanted[r.Run] && !s.outside[r.Run] {
			s.wrong("%s was cancelled, and nobody asked for that", r.Run)
		}
	}
}

// conversation is the model's view of a thread in one line a message.
func conversation(s *stage, n int) (lines []string) {
	for _, m := range s.final[n] {
		lines = append(lines, fmt.Sprintf("%s %s%s %v: %s %s", m.Role, m.CallID, m.Tool, m.Error, m.Text(), core.Encode(m.Calls)))
	}
	return lines
}
