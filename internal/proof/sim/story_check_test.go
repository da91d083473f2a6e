package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// check holds what is left against what every story must come to, then against what this one says
// of its end.
func (p *performance) check() {
	h, segments := p.head(), p.journal()
	messages := core.Messages(segments)
	p.checkJournal(h, segments)
	p.checkCalls(h, messages)
	p.checkDecisions(append(segments, p.below()...))
	p.checkTexts(messages)
	p.checkCancels()
	p.checkFollowers(segments)
	p.checkTree()
	for _, c := range p.ends {
		if why := c.fails(p); why != "" {
			p.wrong("%s.\n\t%s", c.said, why)
		}
	}
}

func (p *performance) journal() []core.Segment {
	h := p.head()
	segments, _ := p.db.Segments(context.Background(), h.Tenant, h.Thread, 1, h.Seq)
	return segments
}

func (p *performance) checkJournal(h core.Head, segments []core.Segment) {
	if err := core.CheckChain(h, 1, segments); err != nil {
		p.wrong("I-8: %v", err)
	}
	ev := int64(0)
	for _, s := range segments {
		if was := p.witness.named[fmt.Sprint(h.Thread, s.Seq)]; was != s.W {
			p.wrong("I-8: segment %d had the stamp %d and has %d", s.Seq, was, s.W)
		}
		for _, e := range s.Events {
			if ev++; e.Seq != ev {
				p.wrong("event %d has number %d", ev, e.Seq)
			}
		}
	}
	if len(h.Inbox) > 0 || len(h.Out) > 0 {
		p.wrong("something is left in the inbox or the outbox: %s", core.Encode(h))
	}
}

// checkCalls: each call has one result, once (I-3, I-6), but for those that wait; the model's view
// is well formed (I-7).
func (p *performance) checkCalls(h core.Head, log []core.Message) {
	results := map[string]int{}
	for _, m := range log {
		if m.Role == core.RoleTool && !m.Pending {
			results[m.CallID]++
		}
	}
	for _, m := range log {
		for _, c := range m.Calls {
			want := 1
			if now, there := h.Calls[c.ID]; there && !now.Status.Terminal() {
				want = 0
			}
			if results[c.ID] != want {
				p.wrong("I-3: call %s has %d results", c.ID, results[c.ID])
			}
		}
	}
	if why := sim.Malformed(core.TranscriptOf(log), true); why != "" {
		p.wrong("I-7: %s", why)
	}
}

// checkDecisions: what was told to count is in the journal once, and was first (I-2, I-3).
func (p *performance) checkDecisions(segments []core.Segment) {
	var journaled []core.DecisionRecord
	applied := map[string]int{}
	for _, e := range eventsOf(segments, core.EventDecisionRecorded) {
		var rec core.DecisionRecord
		_ = json.Unmarshal(e.Data, &rec)
		journaled = append(journaled, rec)
		if slices.Contains(p.withdrawn, rec.DecisionID) {
			p.wrong("UN-1: %q was withdrawn, and is in the journal: %s", rec.DecisionID, e.Data)
		}
		if rec.Applied {
			applied[rec.Suspension]++
		}
	}
	for _, id := range p.withdrawn {
		if n := p.undone(segments, id); n != 1 {
			p.wrong("UN-2: the withdrawal of %q is %d times in the journal", id, n)
		}
	}
	for sus, n := range applied {
		if n > 1 {
			p.wrong("I-3: %d decisions were applied on %s", n, sus)
		}
	}
	for _, told := range p.decisions {
		p.checkDecision(told, journaled)
	}
}

func (p *performance) undone(segments []core.Segment, id string) (times int) {
	for _, e := range eventsOf(segments, core.EventDecisionWithdrawn) {
		var data events.Withdrawn
		if json.Unmarshal(e.Data, &data) == nil && data.DecisionID == id {
			times++
		}
	}
	return times
}

func (p *performance) checkDecision(told toldDecision, journaled []core.DecisionRecord) {
	times, first := 0, ""
	for _, rec := range journaled {
		if rec.Suspension != told.sus {
			continue
		}
		if first == "" {
			first = rec.DecisionID
		}
		if rec.DecisionID == told.id {
			times++
		}
	}
	if times != 1 || first != told.id {
		p.wrong("I-2: %q on %s was told to count (%s), is %d times in the journal, and %q was first", told.id, told.sus, told.answer, times, first)
	}
}

func eventsOf(segments []core.Segment, of core.EventType) (events []core.Event) {
	for _, s := range segments {
		for _, e := range s.Events {
			if e.Type == of {
				events = append(events, e)
			}
		}
	}
	return events
}

// checkTexts: what was accepted was said once, as a user's turn.
func (p *performance) checkTexts(log []core.Message) {
	times := map[string]int{}
	for _, m := range log {
		if m.Role == core.RoleUser {
			times[m.Text()]++
		}
	}
	for text := range p.texts {
		if times[text] != 1 {
			p.wrong("I-2, I-3: %q was accepted and is %d times in the journal", text, times[text])
		}
	}
}

func (p *performance) records() []core.Record {
	all, _, _ := p.db.Runs(context.Background(), tenant, p.witness.thread, "", 100)
	slices.SortFunc(all, func(a, b core.Record) int { return int(a.Seq0 - b.Seq0) })
	return all
}

func (p *performance) checkCancels() {
	for _, r := range p.records() {
		if p.cancelled[r.Run] && (r.End == nil || r.End.Kind != core.Cancelled) {
			p.wrong("I-2: the cancel of %s was accepted, and it came to %s", r.Run, toldEnd(r))
		}
	}
}

// checkFollowers: whoever read along has seen what the journal says (I-8).
func (p *performance) checkFollowers(segments []core.Segment) {
	for who, f := range p.followers {
		var all []wire.Event
		for _, s := range segments {
			for _, e := range query.EventsOf(s, false) {
				if e.RunID == f.run {
					all = append(all, e)
				}
			}
		}
		if !slices.EqualFunc(f.seen, all[:min(len(all), len(f.seen))], sameEvent) || len(f.seen) < len(all) {
			p.wrong("I-8: %s has seen %d events that are not the first of the journal's %d", who, len(f.seen), len(all))
		}
	}
}

// sameEvent: the end of a turn is shown with what other segments hold.
func sameEvent(a, b wire.Event) bool {
	joined := a.Type == string(core.EventTurnEnded) && len(a.Data) > len(b.Data)
	return a.Seq == b.Seq && a.Type == b.Type && a.Cursor == b.Cursor && (joined || string(a.Data) == string(b.Data))
}

func toldEnd(r core.Record) string {
	if r.End == nil {
		return r.Status.String()
	}
	return strings.TrimSpace(r.Status.String() + ", " + r.End.Kind.String() + " " + r.End.Code)
}

func expect(wanted string, is string) string {
	if slices.Contains(strings.Split(wanted, " or "), is) {
		return ""
	}
	return "it is: " + is
}

var timesBy = map[string][2]int{"never": {0, 0}, "once": {1, 1}, "twice": {2, 2}, "three times": {3, 3}, "four times": {4, 4},
	"at least once": {1, 1 << 30}, "at least twice": {2, 1 << 30}, "at least three times": {3, 1 << 30}}

func ranTimes(p *performance, tool, how string) string {
	return countedAs(how, len(p.bodiesOf(tool)))
}

func countedAs(how string, n int) string {
	for _, word := range strings.Split(how, " or ") {
		if bounds, known := timesBy[word]; known && n >= bounds[0] && n <= bounds[1] {
			return ""
		}
	}
	return fmt.Sprintf("%d times", n)
}

func (p *performance) bodiesOf(tool string) (bodies []storyBody) {
	for _, b := range p.cast.bodies {
		if b.tool == tool {
			bodies = append(bodies, b)
		}
	}
	return bodies
}

// claims are the sentences of a story's third part.
var claims = speak([]sentence[fails]{
	{`in the end the run is {rest}`, claimThat(func(p *performance, args []string) string { return expect(args[0], toldEnd(p.head().Record())) })},
	{`the {nth} run is {rest}`, claimThat(func(p *performance, args []string) string {
		if all := p.records(); ordinal(args[0]) <= len(all) {
			return expect(args[1], toldEnd(all[ordinal(args[0])-1]))
		}
		return "there is none"
	})},
	{`the run of {tool} is {rest}`, claimThat(func(p *performance, args []string) string {
		return expect(args[1], toldEnd(p.childOf(args[0]).Record()))
	})},
	{`there (?:is|are) (one|two|three) runs?`, claimThat(func(p *performance, args []string) string {
		return expect(args[0], []string{"none", "one", "two", "three", "many"}[min(4, len(p.records()))])
	})},
	{`{tool} ran (once|twice), with {json}`, claimThat(func(p *performance, args []string) string {
		for _, b := range p.bodiesOf(args[0]) {
			if b.arguments != args[2] {
				return "it ran with " + b.arguments
			}
		}
		return ranTimes(p, args[0], args[1])
	})},
	{`{tool} began while {tool} ran`, claimThat(func(p *performance, args []string) string {
		for _, b := range p.bodiesOf(args[0]) {
			if slices.Contains(b.beside, args[1]) {
				return ""
			}
		}
		return "it did not"
	})},
	{`the task of {tool} was stopped`, claimThat(func(p *performance, args []string) string { return p.stoppedElsewhere(args[0]) })},
	{`{tool} never ran`, claimThat(func(p *performance, args []string) string { return ranTimes(p, args[0], "never") })},
	{`{tool} ran {rest}`, claimThat(func(p *performance, args []string) string { return ranTimes(p, args[0], args[1]) })},
	{`{who} was told {rest}`, claimThat(toldTo)},
	{`{who} was last told {rest}`, claimThat(func(p *performance, args []string) string {
		if all := p.told[args[0]]; len(all) > 0 {
			return expect(args[1], all[len(all)-1])
		}
		return "nothing"
	})},
	{`the conversation is: {rest}`, claimThat(func(p *performance, args []string) string { return converse(p, args[0]) })},
	{`people were reminded of {tool} {rest}`, claimThat(func(p *performance, args []string) string {
		return countedAs(args[1], p.witness.came["call.reminded "+args[0]])
	})},
	{`others were asked about {tool} {rest}`, claimThat(func(p *performance, args []string) string {
		return countedAs(args[1], p.witness.came["call.escalated "+args[0]])
	})},
	{`people were told of {tool}`, claimThat(func(p *performance, args []string) string {
		return countedAs("at least once", p.cast.notices[args[0]])
	})},
	{`nobody was asked what happened`, claimThat(func(p *performance, _ []string) string { return countedAs("never", p.done["asked what happened"]) })},
	{`the model was asked {rest}`, claimThat(func(p *performance, args []string) string { return countedAs(args[0], len(p.cast.asks)) })},
	{`nothing went wrong`, claimThat(func(p *performance, _ []string) string { return countedAs("never", len(p.points)) })},
	{`it took less than {time}`, claimThat(func(p *performance, args []string) string {
		if took := p.witness.ended.Sub(p.began); took >= readDuration(args[0]) {
			return "it took " + took.String()
		}
		return ""
	})},
	{`the model was not asked again at once`, claimThat(func(p *performance, _ []string) string {
		if p.cast.hasty {
			return "it was"
		}
		return ""
	})},
})

func claimThat(f func(p *performance, args []string) string) func([]string) (fails, error) {
	return func(args []string) (fails, error) { return func(p *performance) string { return f(p, args) }, nil }
}

// toldTo compares what somebody was told, request by request.
func toldTo(p *performance, args []string) string {
	got, want := p.told[args[0]], strings.Split(args[1], " and then ")
	if len(got) != len(want) {
		return "told: " + strings.Join(got, " and then ")
	}
	for i := range want {
		if expect(want[i], got[i]) != "" {
			return "told: " + strings.Join(got, " and then ")
		}
	}
	return ""
}

// converse compares the model's view; an entry that ends in three dots need only begin so.
func converse(p *performance, wanted string) string {
	is := toldConversation(core.TranscriptOf(core.Messages(p.journal())))
	got, want := strings.Split(is, " | "), strings.Split(wanted, " | ")
	same := slices.EqualFunc(got, want, func(got, want string) bool {
		start, open := strings.CutSuffix(want, "...")
		return got == want || open && strings.HasPrefix(got, start)
	})
	if same {
		return ""
	}
	return "it is: " + is
}
