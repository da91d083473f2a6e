package runview

import (
	"context"
	"errors"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// What an approver is shown of a conversation.
const (
	excerptBytes = 2 << 10 // of the newest request and of the model's words
	earlierBytes = 512     // of each request before
	mostRequests = 8
)

// View is what a run's readers are shown of who started it and of the calls that wait: everything
// that an approver needs, so that the role decide alone is enough, and no more of the transcript
// than the requests and the words that came with the call.
type View struct {
	startedBy *wire.Actor
	firstLine string
	supplied  []string // the names of tools
	calls     []wire.Pending
	asked     []core.SuspendedCall // the same, as the rules judge answers to them
}

// View reads a few segments that the head names, each once: those in which calls were suspended,
// the turns that asked for them, the last user message and the run's start. In most runs these lie
// side by side and are one read.
func (v *Viewer) View(ctx context.Context, p journal.Place) (View, error) {
	open := journal.OpenSuspensions(p)
	suspended := journal.SegmentsOf(open)
	wanted := append(named(p), suspended...)
	found, err := v.few(ctx, p, wanted)
	if errors.Is(err, engine.ErrUnreadable) && len(suspended) > 0 {
		// What surrounds a call must not hide it.
		found, err = v.few(ctx, p, suspended)
	}
	if err != nil {
		return View{}, err
	}
	shown := View{startedBy: startedBy(p, found), firstLine: firstLine(p, found), supplied: suppliedTools(p, found)}
	for _, seq := range suspended {
		waiting, err := journal.SuspensionsIn(found[seq])
		if err != nil {
			return shown, err
		}
		for _, w := range waiting {
			if open[w.Suspension.ID] && journal.Standing(p.Head, w.SuspendedCall) == vote.Open {
				call, err := v.shownCall(ctx, p, found, w)
				if err != nil {
					return shown, err
				}
				shown.calls = append(shown.calls, call)
				shown.asked = append(shown.asked, w.As(p.Head.Calls[w.CallID]))
			}
		}
	}
	return shown, nil
}

// named are the segments that the head names beside those of suspensions.
func named(p journal.Place) []int64 {
	var seqs []int64
	if p.Record.Seq > p.Record.Seq0 {
		seqs = append(seqs, p.Record.Seq0+1)
	}
	for id, call := range p.Head.Calls {
		if p.Current && call.Status == core.CallSuspended {
			if turn := turnOf(p, id); !call.Synthetic {
				seqs = append(seqs, turn)
			}
			seqs = append(seqs, p.Head.LastUserMessage)
		}
	}
	return slices.DeleteFunc(seqs, func(seq int64) bool { return seq < 1 || seq > p.Record.Seq })
}

// turnOf is the segment of the assistant turn that asks for a call. The run's own waits come after
// everything that was said.
func turnOf(p journal.Place, id string) int64 {
	switch call := p.Head.Calls[id]; {
	case call.Synthetic:
		return p.Record.Seq + 1
	case call.TurnSegment != 0:
		return call.TurnSegment
	}
	return p.Head.Round
}

// few reads the named segments, those that are neighbours at once.
func (v *Viewer) few(ctx context.Context, p journal.Place, seqs []int64) (map[int64]core.Segment, error) {
	found := map[int64]core.Segment{}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	for len(seqs) > 0 {
		n := 1
		for n < len(seqs) && seqs[n] == seqs[0]+int64(n) {
			n++
		}
		err := v.journal.Segments(ctx, p.Head.Tenant, p.Head.Thread, seqs[0], seqs[n-1], func(s core.Segment) bool {
			found[s.Seq] = s
			return true
		})
		if err != nil {
			return nil, err
		}
		seqs = seqs[n:]
	}
	return found, nil
}

func (v *Viewer) shownCall(ctx context.Context, p journal.Place, found map[int64]core.Segment, w journal.WaitingCall) (wire.Pending, error) {
	shown := PendingOf(w)
	shown.Suspension.Withdrawn = hold.Withdrawn(p.Head, w.CallID, w.Suspension.ID)
	shown.Fingerprint = core.Fingerprint(p.Head.Tenant, p.Record.Run, p.Record.Version, w.SuspendedCall)
	if w.Counted() {
		votes, err := v.Votes(ctx, p, w.SuspendedCall)
		if err != nil {
			return shown, err
		}
		shown.Votes = &votes
	}
	turn := turnOf(p, w.CallID)
	requests, cut, err := v.requests(ctx, p, found, turn)
	if err != nil && !errors.Is(err, engine.ErrUnreadable) {
		return shown, err
	}
	shown.Requests, shown.RequestsCut = requests, cut || err != nil
	if p.Record.Agent == ask.Agent {
		hideFiles(shown.Requests)
	}
	shown.Said, shown.SaidCut = excerpt(saidWith(found[turn], w.CallID), excerptBytes)
	if w.ToolName != "" && v.tool != nil {
		if details, err := v.tool(ctx, p.Head.Tenant, p.Record, w.ToolName); err == nil {
			details.Title = titleOf(shown, details.Title)
			shown.ToolDetails = &details
		}
	}
	return shown, nil
}

// requests are the user messages that the model had read when it asked for a call, the newest last;
// cut says that there are earlier ones. Each is shown with its sender: if only the newest were,
// another caller's request could hide behind it. The head names the segment of the last one, and
// each message that of the one before it, also across the runs of the thread, which the model
// reads, too.
func (v *Viewer) requests(ctx context.Context, p journal.Place, found map[int64]core.Segment, turn int64) (all []wire.Request, cut bool, err error) {
	for seq := p.Head.LastUserMessage; seq > 0; {
		if _, read := found[seq]; !read {
			one, err := v.few(ctx, p, []int64{seq})
			if err != nil {
				return all, true, err
			}
			found[seq] = one[seq]
		}
		said, earlier := userMessages(found[seq], turn)
		for _, m := range slices.Backward(said) {
			if len(all) == mostRequests {
				return all, true, nil
			}
			all = slices.Insert(all, 0, requestOf(m, len(all) == 0))
		}
		if earlier >= seq {
			// what is stored points forward: following it might never end
			return all, true, nil
		}
		seq = earlier
	}
	return all, false, nil
}

// userMessages are those of a segment that came before a turn, and the segment of the ones before
// it.
func userMessages(s core.Segment, turn int64) (said []core.Message, earlier int64) {
	asked := false
	for _, m := range s.Messages {
		asked = asked || m.Role == core.RoleAssistant
		if m.Role != core.RoleUser {
			continue
		}
		earlier = max(earlier, m.Earlier)
		if s.Seq < turn || s.Seq == turn && !asked {
			said = append(said, m)
		}
	}
	return said, earlier
}

func requestOf(m core.Message, newest bool) wire.Request {
	most := earlierBytes
	if newest {
		most = excerptBytes
	}
	text, cut := excerpt(m.Text(), most)
	return wire.Request{Text: text, Cut: cut, Files: filesIn(m), By: m.By, Via: m.Via}
}

// saidWith is the text of the turn that asks for the call.
func saidWith(s core.Segment, call string) string {
	for _, m := range s.Messages {
		if m.Role == core.RoleAssistant && slices.ContainsFunc(m.Calls, func(c core.ToolCall) bool { return c.ID == call }) {
			return m.Text()
		}
	}
	return ""
}

// hideFiles does not count the file of an ask: its content is shown as the arguments.
func hideFiles(requests []wire.Request) {
	for i := range requests {
		requests[i].Files = 0
	}
}

// filesIn counts the images and documents of a message. They are not shown.
func filesIn(m core.Message) (n int) {
	for _, part := range m.Parts {
		if part.Type == core.PartImage || part.Type == core.PartDocument {
			n++
		}
	}
	return n
}

// excerpt is the beginning of a text, and whether it goes on.
func excerpt(text string, most int) (beginning string, cut bool) {
	beginning = clip.Bytes(text, most, "")
	return beginning, len(beginning) < len(text)
}

// Pending are the calls of the run that wait for an answer.
func (v View) Pending() []wire.Pending { return v.calls }

// Asked are the calls of [View.Pending], in the same order, as the rules judge answers to them.
func (v View) Asked() []core.SuspendedCall { return v.asked }

// ApprovalsIn are the entries of the inbox that a run makes. The path leads to it from its root.
func (v View) ApprovalsIn(h core.Head, path []wire.PathStep) []wire.Approval {
	var approvals []wire.Approval
	for i, call := range v.calls {
		call.Path = path
		alike, _ := Alike(h.Agent, h.Version, v.asked[i])
		approvals = append(approvals, wire.Approval{RunID: h.Run, ThreadID: h.Thread, Agent: h.Agent, AgentVersion: h.Version,
			Metadata: h.Metadata, StartedBy: v.startedBy, Alike: alike, Pending: call})
	}
	return approvals
}
