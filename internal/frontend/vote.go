package frontend

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
)

// voter is a caller as a policy counts it.
type voter struct {
	key    string // of the person; "" for a caller without a name
	maker  string // key of who made the link that the caller votes by; "" without a link
	groups []string
	member bool // of the group that is asked
}

// voterOf says who a caller is to the policy of a suspension. A link counts only for a recipient
// that the group names in full: roles, claims and patterns are about callers who have shown who
// they are.
func (c Caller) voterOf(call core.SuspendedCall) (v voter) {
	fits := func(entry string) bool { return c.is(entry) && (c.delegated() == nil || entry == c.By) }
	person := personIn(call.Policy, c.By, fits)
	if c.byClaims(call.Policy) {
		person = c.known(call.Policy)
	}
	if person != "" {
		v.key = vote.Key(person)
	}
	for i, stage := range call.Deciding().Stages {
		if _, member := stage.Group.Person(c.By, fits); member {
			v.groups = append(v.groups, stage.Group.Name)
			v.member = v.member || i == call.Stage
		}
	}
	if l := c.delegated(); l != nil {
		by := makerOf(*l)
		v.maker = vote.Key(personIn(call.Policy, by, func(entry string) bool { return entry == by }))
	}
	if v.maker == v.key {
		v.maker = ""
	}
	return v
}

// say is what a decision says as a vote.
func say(r core.Resume) vote.Say {
	switch {
	case r.Action != core.ActionResume:
		return vote.No
	case !core.IsNull(r.Arguments):
		return vote.Edit
	}
	return vote.Yes
}

// storeVote stores a vote if its question is open, and else explains why not. The order is the
// contract: what the same person has said, what became of the question, then whether the person may
// vote. The store has the last word: it counts a vote in the write that stores it.
func (f *Frontend) storeVote(ctx context.Context, c Caller, p journal.Place, call core.SuspendedCall, rec core.DecisionRecord) (wire.DecisionAnswer, error) {
	who := c.voterOf(call)
	for range lostRaces {
		if answer, voted, err := f.votedBefore(ctx, p, call, who, rec); voted || err != nil {
			return answer, err
		}
		if !awaits(p, rec.CallID, rec.Suspension) || journal.Standing(p.Head, call) != vote.Open {
			return wire.DecisionAnswer{}, f.whyNoVote(ctx, c, p, call, rec)
		}
		if err := f.mayVote(ctx, c, p, call, who, rec); err != nil {
			return wire.DecisionAnswer{}, err
		}
		w, err := f.countVote(ctx, p.Head, call, who, rec)
		if err == nil {
			f.wake(ctx, c.Tenant, p.Head.Thread, w.Woken)
			return f.countedAnswer(w.Head, call), nil
		}
		if !errors.Is(err, engine.ErrRefused) {
			return wire.DecisionAnswer{}, err
		}
		if p, err = f.moved(ctx, c, p, w.Head); err != nil {
			return wire.DecisionAnswer{}, err
		}
	}
	return wire.DecisionAnswer{}, refusal.Contended()
}

func (f *Frontend) countedAnswer(h core.Head, call core.SuspendedCall) wire.DecisionAnswer {
	votes := runview.VotesOf(call, h.Votes[call.Suspension.ID])
	return wire.DecisionAnswer{Code: string(refusal.CodeAccepted), Votes: &votes, Cursor: journal.EndOf(h.Record())}
}

// mayVote says why a vote on an open question is not stored.
func (f *Frontend) mayVote(ctx context.Context, c Caller, p journal.Place, call core.SuspendedCall, who voter, rec core.DecisionRecord) error {
	tally := p.Head.Votes[call.Suspension.ID]
	if err := f.Family.Awaited(ctx, p); err != nil {
		return err
	}
	if err := c.isKnown(call); err != nil {
		return err
	}
	switch {
	case !who.member || who.key == "":
		return notAMember(c, call)
	case taken(tally, who.maker):
		return refusal.New(refusal.CodeNotAnApprover, "%s created this link and has voted already; ask for a link from another caller", makerOf(*c.Link))
	case c.Link != nil && f.Passed(call):
		return refusal.Late()
	case changed(p.Head, call, rec):
		return refusal.New(refusal.CodeChanged, "the question has changed since it was shown; nothing was stored, so read it again")
	case rec.Action != core.ActionResume:
		return nil
	}
	return f.notBarred(ctx, c, p, call)
}

func notAMember(c Caller, call core.SuspendedCall) error {
	return refusal.New(refusal.CodeNotAnApprover, "only members of the group %s decide about %s, and %s is not one of them; ask one of them",
		call.Asked().Group.Name, call.Named(), c.name())
}

// taken says whether a person has voted, in any stage.
func taken(t vote.Tally, person string) bool {
	said, there := t[person]
	return person != "" && there && said != vote.Minted
}

func (f *Frontend) countVote(ctx context.Context, h core.Head, call core.SuspendedCall, who voter, rec core.DecisionRecord) (engine.Written, error) {
	signal := rec.Signal(core.SignalVote)
	signal.As = strings.Join(slices.Compact(who.groups), ",")
	signal, err := f.offload(ctx, h.Tenant, h.Thread, signal)
	if err != nil {
		return engine.Written{}, err
	}
	stage := call.Asked()
	return f.send(ctx, engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: core.VoteKey(who.key, rec.Suspension), Signal: signal,
		Call: rec.CallID, Suspension: rec.Suspension, Due: f.due(), Wake: &engine.Delay{},
		Vote: &engine.Vote{Voter: who.key, Maker: who.maker, Say: say(rec.Resume), Need: stage.Need, Deny: stage.Deny()}})
}

// votedBefore answers a person who has voted on the question: the same vote again is accepted as
// the same one.
func (f *Frontend) votedBefore(ctx context.Context, p journal.Place, call core.SuspendedCall, who voter, rec core.DecisionRecord) (answer wire.DecisionAnswer, voted bool, err error) {
	waits := awaits(p, rec.CallID, rec.Suspension)
	said, counted := p.Head.Votes[rec.Suspension][who.key]
	switch {
	case who.key == "" || waits && !counted:
		return answer, false, nil
	case waits && said == vote.Spent:
		return answer, true, refusal.New(refusal.CodeSeparationOfDuties, "each stage of the policy needs other people, and the caller has approved %s in another stage; ask another approver", call.Named())
	case waits && said == vote.Minted:
		return answer, true, refusal.New(refusal.CodeNotAnApprover, "someone has voted about %s by a link that the caller created, so the caller can't vote too; ask another approver", call.Named())
	}
	first, found, err := f.voteBy(ctx, p, rec.Suspension, who.key)
	switch {
	case err != nil:
		return answer, true, err
	case found && first.DecisionID == rec.DecisionID && first.Digest == rec.Digest:
		f.wake(ctx, p.Head.Tenant, p.Head.Thread, !waits)
		return same(effect(first)), true, nil
	case found:
		return answer, true, refusal.OtherWasFirst(first)
	case waits && say(rec.Resume) == said: // the edit that this question is about
		return same(nil), true, nil
	case waits:
		return answer, true, refusal.New(refusal.CodeAlreadyDecided, "the caller has approved these arguments with an edit")
	}
	return answer, false, nil
}

// effect says whether a vote counted; nil if that is not known yet.
func effect(rec core.DecisionRecord) *bool {
	if rec.Ballot == nil {
		return nil
	}
	counted := rec.Ballot.Outcome != vote.OutcomeSuperseded
	return &counted
}

// voteBy is the vote of a person on a suspension, stored or journaled. One that is not journaled
// yet has no ballot.
func (f *Frontend) voteBy(ctx context.Context, p journal.Place, sus, key string) (rec core.DecisionRecord, found bool, err error) {
	if s, stored := p.Head.Inbox[core.VoteKey(key, sus)]; stored && p.Current {
		first, err := f.FirstResume(ctx, p.Head, s)
		return s.Record(sus, first), err == nil, err
	}
	seq, _ := core.SuspensionSeq(sus)
	return f.findDecision(ctx, p, max(seq, p.Record.Seq0+1), func(r core.DecisionRecord) bool {
		return r.Suspension == sus && r.Ballot != nil && r.Ballot.Key == key
	})
}

// whyNoVote says what became of a question that takes no more votes.
func (f *Frontend) whyNoVote(ctx context.Context, c Caller, p journal.Place, call core.SuspendedCall, rec core.DecisionRecord) error {
	if _, timed := p.Head.TimedOut[rec.Suspension]; timed && p.Current {
		return f.late(ctx, c, p, call, rec)
	}
	if awaits(p, rec.CallID, rec.Suspension) {
		as := journal.Standing(p.Head, call)
		return f.decidedBy(ctx, p, call, as, lastVote(p.Head, rec.Suspension, as == vote.Denied))
	}
	last, found, err := f.closedBy(ctx, p, rec.Suspension)
	switch {
	case err != nil:
		return err
	case !found:
		return whyClosed(p, rec.CallID, rec.Suspension)
	case last.TimedOut:
		return refusal.Late()
	case last.Ballot.Outcome == vote.OutcomeEdited:
		return f.decidedBy(ctx, p, call, vote.Edited, last)
	case last.Ballot.Outcome == vote.OutcomeDenied:
		return f.decidedBy(ctx, p, call, vote.Denied, last)
	}
	return f.decidedBy(ctx, p, call, vote.Approved, last)
}

// closedBy is the decision in the journal that closed a question.
func (f *Frontend) closedBy(ctx context.Context, p journal.Place, sus string) (rec core.DecisionRecord, found bool, err error) {
	seq, _ := core.SuspensionSeq(sus)
	return f.findDecision(ctx, p, max(seq, p.Record.Seq0+1), func(r core.DecisionRecord) bool {
		return r.Suspension == sus && !r.Late && (r.TimedOut || r.Ballot != nil && !r.LeavesOpen())
	})
}

// lastVote is the newest yes or no on a suspension that waits in the inbox, with what the head
// alone knows of it.
func lastVote(h core.Head, sus string, no bool) (rec core.DecisionRecord) {
	for key, s := range h.Inbox {
		voter, of := core.VoteOf(key)
		if of != sus || no != (h.Votes[sus][voter] == vote.No) || rec.UpdatedAt > s.At || rec.UpdatedAt == s.At && rec.DecisionID > s.ID {
			continue
		}
		r := core.Resume{DecisionID: s.ID, Action: core.ActionResume, UpdatedAt: s.At}
		if no {
			r.Action = core.ActionCancel
		}
		rec = s.Record(sus, r)
	}
	return rec
}

// decidedBy refuses a vote on a question that others have decided.
func (f *Frontend) decidedBy(ctx context.Context, p journal.Place, call core.SuspendedCall, as vote.Standing, last core.DecisionRecord) error {
	if as == vote.Edited {
		return refusal.New(refusal.CodeArgumentsChanged, "an approver has changed the arguments of %s, so no one votes on the old ones any more; read the run for the new suspension", call.Named())
	}
	votes, err := f.Votes(ctx, p, call)
	if err != nil {
		return err
	}
	refused := refusal.OtherWasFirst(last)
	refused.Winner.Votes, refused.Detail = &votes, "enough people have approved the call already"
	if as == vote.Denied {
		refused.Detail = "the call has been denied already"
	}
	return refused
}
