// Package bulk answers several approvals of one kind in one request, across runs.
package bulk

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
)

// Most is how many questions are answered at once.
const Most = client.MostBulk

// mostID is how many bytes a bulk id has. With that of a suspension behind it, it is still a
// decision's.
const mostID = 100

// Answer is what became of one decision. Err is a refusal or a fault; the answer then says only
// which decision is meant.
type Answer struct {
	wire.DecisionAnswer
	Err error
}

// Desk answers bulks.
type Desk struct{ front *frontend.Frontend }

// New returns a desk on a frontend.
func New(f *frontend.Frontend) *Desk { return &Desk{f} }

// Decide judges the questions together, and then decides about one after the other: each is stored,
// or refused, as [frontend.Frontend.Decide] does it. No write spans runs, so some may be stored and
// others not. An error means that nothing was stored.
//
//	read all ── one differs, or has a warning ── nothing is stored
//	   └── alike ── decide ── decide ── decide
//	                stored    changed   stored
//
// The ids of the decisions follow from that of the bulk, and of what makes questions alike, only an
// escalation changes anything. So the same bulk, sent again, meets its own decisions.
func (d *Desk) Decide(ctx context.Context, c frontend.Caller, b wire.Bulk, atOnce bool) ([]Answer, error) {
	if err := check(b, d.front.Now()); err != nil {
		return nil, err
	}
	runs, err := d.alike(ctx, c, b.Questions)
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(b.Questions))
	for i, q := range b.Questions {
		one := decision(b, q)
		answers[i].Target, answers[i].DecisionID = q.Suspension, one.DecisionID
		if runs[i].err != nil {
			answers[i].Err = runs[i].err
			continue
		}
		stored, err := holds.OrAtOnce(one, atOnce, func(one wire.Decision) (wire.DecisionAnswer, error) {
			return d.front.Decide(ctx, c, runs[i].run, one)
		})
		if err != nil {
			answers[i].Err = err
			continue
		}
		answers[i].DecisionAnswer = stored
	}
	return answers, nil
}

func check(b wire.Bulk, now int64) error {
	switch n := len(b.Questions); {
	case b.Action != client.ActionResume && b.Action != client.ActionCancel:
		return refusal.New(refusal.CodeBadAction, "action must be %s or %s", client.ActionResume, client.ActionCancel)
	case n == 0 || n > Most:
		return refusal.New(refusal.CodeInvalid, "questions must hold 1 to %d questions", Most)
	case len(b.BulkID) > mostID:
		return refusal.New(refusal.CodeInvalid, "bulk_id is longer than %d bytes", mostID)
	}
	seen := map[string]bool{}
	for _, q := range b.Questions {
		switch {
		case q.Suspension == "":
			return refusal.New(refusal.CodeInvalid, "a question has no suspension; send its id")
		case q.Shown == "":
			return refusal.New(refusal.CodeInvalid, "a question has no shown; send the fingerprint that its approver saw")
		case seen[q.Suspension]:
			return refusal.New(refusal.CodeInvalid, "a suspension is in questions twice; send it once")
		}
		seen[q.Suspension] = true
		if _, err := frontend.DecisionInput(decision(b, q), now); err != nil {
			return err
		}
	}
	return nil
}

func decision(b wire.Bulk, q wire.BulkQuestion) wire.Decision {
	d := wire.Decision{Target: q.Suspension, Action: b.Action, Reason: b.Reason, Shown: q.Shown, ShownBy: b.ShownBy, Hold: b.Hold}
	if b.BulkID != "" {
		d.DecisionID = b.BulkID + "-" + q.Suspension
	}
	return d
}

// found is where a question was asked, or why that isn't known.
type found struct {
	run string
	err error
}

// alike finds the questions, and refuses those that are not to be answered together. One that isn't
// there has its own answer and doesn't keep the others from theirs.
func (d *Desk) alike(ctx context.Context, c frontend.Caller, questions []wire.BulkQuestion) ([]found, error) {
	runs, first := make([]found, len(questions)), ""
	for i, q := range questions {
		p, asked, err := d.find(ctx, c, q.Suspension)
		if refused, is := errors.AsType[*refusal.Error](err); is && refused.Code == refusal.CodeCallNotFound {
			runs[i].err = err
			continue
		}
		if err != nil {
			return nil, err
		}
		key, why := runview.Alike(p.Record.Agent, p.Record.Version, asked)
		switch {
		case why != "":
			return nil, refusal.New(refusal.CodeAnswerSingly, "question %s can't be answered together with others, because %s; answer it by itself. Nothing was stored", q.Suspension, why)
		case first != "" && key != first:
			return nil, refusal.New(refusal.CodeNotAlike, "question %s has another agent, version, tool or rule than the first one; answer them apart. Nothing was stored", q.Suspension)
		}
		first, runs[i].run = key, p.Record.Run
	}
	return runs, nil
}

func (d *Desk) find(ctx context.Context, c frontend.Caller, sus string) (p journal.Place, asked core.SuspendedCall, err error) {
	if p, err = d.front.SuspensionPlace(ctx, c.Tenant, sus); err == nil {
		asked, err = d.front.Target(ctx, p, sus)
	}
	return p, asked, err
}
