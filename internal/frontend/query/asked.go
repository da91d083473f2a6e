package query

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// How a caller is asked, in [wire.Approval] and as values of List.Mine.
const (
	MineNamed  = "named"  // by name
	MineGroup  = "group"  // as one of a group, a role or the like
	MineAnyone = "anyone" // as every caller who may decide
	MineAny    = "any"    // in one of these ways
)

// Orders of the inbox.
const (
	OrderSince    = "since"    // the longest waiting run first
	OrderDeadline = "deadline" // the run with the least time left first
)

// KindQuestion is every kind that is put to a person: all but the calls of a client's tools.
const KindQuestion = "question"

// mostText is how many bytes a text has at most that a list is filtered by.
const mostText = 200

var (
	// Mines are the values of List.Mine.
	Mines = []string{MineAny, MineNamed, MineGroup, MineAnyone}
	// InboxOrders are the values of List.Order, of approvals.
	InboxOrders = []string{OrderSince, OrderDeadline}
	// InboxKinds are the values of List.Kind.
	InboxKinds = append(slices.Clone(CallKinds), KindQuestion)
)

// checkInbox says what is wrong with the filters that the inbox alone has.
func (q List) checkInbox() error {
	if err := checkWord("mine", q.Mine, Mines); err != nil {
		return err
	}
	if err := checkWord("order", q.Order, InboxOrders); err != nil {
		return err
	}
	if len(q.Text) > mostText || !utf8.ValidString(q.Text) {
		return refusal.New(refusal.CodeInvalid, "q must be UTF-8 and at most %d bytes", mostText)
	}
	return nil
}

// picks says whether the filter asks about single calls, beyond what their run has in common.
func (w approvalFilter) picks() bool {
	return w.Kind != "" || w.Tool != "" || w.Text != "" || w.Mine != ""
}

// reads says whether the text is in what an entry is called by.
func (w approvalFilter) reads(a wire.Approval) bool {
	if w.Text == "" {
		return true
	}
	names := []string{a.Tool, a.Agent, a.ThreadID}
	if a.ToolDetails != nil {
		var title strings.Builder
		for _, part := range a.ToolDetails.Title {
			title.WriteString(part.Text)
		}
		names = append(names, title.String())
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(strings.ToLower(name), w.Text) })
}

// noteAsked says of each call how the caller is asked, by the rules that judge an answer. A call
// that the caller must not approve, or has voted on, has none.
func (f *Reader) noteAsked(ctx context.Context, c frontend.Caller, h core.Head, asked []core.SuspendedCall, there []wire.Approval) error {
	if !(access.Principal{Roles: c.Roles}).May(access.Decide) || len(there) == 0 {
		return nil
	}
	p := journal.Place{Head: h, Record: h.Record(), Current: true}
	for i, call := range asked {
		_, voted := h.Votes[call.Suspension.ID][vote.Key(c.By)]
		if call.Counted() && voted {
			continue
		}
		err := f.MayApprove(ctx, c, p, call, core.Resume{Action: core.ActionResume})
		if e, refused := err.(*refusal.Error); refused && (e.Code == refusal.CodeNotAnApprover || e.Code == refusal.CodeSeparationOfDuties) {
			continue
		}
		if err != nil {
			return err
		}
		there[i].AskedAs = askedAs(c.By, call)
	}
	return nil
}

func askedAs(by string, call core.SuspendedCall) string {
	entries := call.Approvers
	if call.Counted() {
		entries = call.Asked().Group.Entries()
	}
	switch {
	case len(entries) == 0:
		return MineAnyone
	case slices.Contains(entries, by):
		return MineNamed
	}
	return MineGroup
}
