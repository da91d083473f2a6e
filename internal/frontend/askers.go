package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// askers are all callers whose words the model goes by: who started or retried a run of the thread,
// sent it a message or answered what it asked. The model reads the whole thread, so earlier runs
// count, and so do the threads of all runs above, which have asked for this one. What a child was
// answered comes up with its result, so it counts once that is there; above, if it was there before
// the call that this run works for. The names of callers without one are empty. It reads these
// journals, so it is for rules that need it.
func (f *Frontend) askers(ctx context.Context, p journal.Place) ([]string, error) {
	above, err := f.Family.Above(ctx, p)
	if err != nil {
		return nil, err
	}
	a := askers{read: map[string]bool{}}
	before, link := int64(math.MaxInt64), p.Record.Parent
	for _, one := range append([]journal.Place{p}, above...) {
		if err := f.askersOf(ctx, one.Head, before, &a); err != nil {
			return nil, err
		}
		if link != nil {
			before, _ = core.SuspensionSeq(link.Sus)
		}
		link = one.Record.Parent
	}
	return a.names, nil
}

// askersOf adds the askers of one thread, and of the children whose results it has had before a
// segment. The words of a run above are its own callers'.
func (f *Frontend) askersOf(ctx context.Context, h core.Head, before int64, a *askers) error {
	a.read[h.Thread] = true
	questions := map[string]bool{}
	var ended []string
	err := f.Segments(ctx, h.Tenant, h.Thread, 1, h.Seq, func(s core.Segment) bool {
		for _, e := range s.Events {
			a.event(e, questions, h.Parent != nil)
			if thread, ok := resultOf(e); ok && s.Seq < before && !a.read[thread] {
				ended = append(ended, thread)
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	a.inbox(h, questions)
	for _, thread := range ended {
		child, err := f.LoadThread(ctx, h.Tenant, thread)
		if refused, ok := errors.AsType[*refusal.Error](err); ok && refused.Code == refusal.CodeThreadNotFound {
			continue // what was said there is deleted
		}
		if err != nil {
			return err
		}
		if err := f.askersOf(ctx, child, math.MaxInt64, a); err != nil {
			return err
		}
	}
	return nil
}

// resultOf is the thread of the child whose result an event says was taken.
func resultOf(e core.Event) (thread string, ok bool) {
	var ended events.ChildEnded
	if e.Type != core.EventChildEnded || json.Unmarshal(e.Data, &ended) != nil || !ended.Applied {
		return "", false
	}
	return core.ThreadOf(ended.RunID)
}

// askers are names, each once.
type askers struct {
	names []string
	read  map[string]bool // threads
}

func (a *askers) add(by string) {
	if !slices.Contains(a.names, by) {
		a.names = append(a.names, by)
	}
}

// answered adds who answered a question, and who made the link if it was by one. Who opens a link
// that was sent to an endpoint isn't known, so that is a caller without a name too.
func (a *askers) answered(by, maker string) {
	if a.add(by); maker != "" {
		a.add(maker)
	}
	if strings.HasPrefix(maker, endpointMaker) {
		a.add("")
	}
}

// inbox adds those whose words the run has yet to take up. questions are the suspensions whose
// answers the model reads.
func (a *askers) inbox(h core.Head, questions map[string]bool) {
	for key, s := range h.Inbox {
		switch s.Kind {
		case core.SignalMessage, core.SignalStart:
			if h.Parent == nil {
				a.add(s.By)
			}
		case core.SignalDecision, core.SignalLate:
			if questions[strings.TrimPrefix(key, core.LateKey(""))] {
				a.answered(s.By, s.Mint)
			}
		}
	}
}

// event adds the callers whose words an event of the journal records, and adds to questions each
// suspension whose answer the model will read. A late answer counts as well, because the model
// reads it. A child is started by a run, and by no caller.
func (a *askers) event(e core.Event, questions map[string]bool, child bool) {
	switch e.Type {
	case core.EventRunStarted, core.EventMessageReceived, core.EventMessageQueued:
		if !child {
			a.add(byOf(e))
		}
	case core.EventCallSuspended:
		var s core.SuspendedCall
		if json.Unmarshal(e.Data, &s) == nil && isQuestion(s) {
			questions[s.Suspension.ID] = true
		}
	case core.EventDecisionRecorded:
		var d core.DecisionRecord
		if json.Unmarshal(e.Data, &d) == nil && questions[d.Suspension] && !d.TimedOut {
			a.answered(d.By, d.MintedBy)
		}
	}
}

// isQuestion reports whether a call waits for an answer that becomes its result. An approval whose
// rule bars askers is not such a question, because its approver is not an asker. A report about an
// unknown outcome and the reason of a denial don't count either.
func isQuestion(s core.SuspendedCall) bool {
	switch s.Kind {
	case core.KindInput, core.KindClient:
		return true
	case core.KindApproval:
		return s.ResumeMode == core.UseDecisionAsToolResult && s.NotBy != core.NotByStarter
	}
	return false
}

func byOf(e core.Event) string {
	var who struct {
		By string `json:"by"`
	}
	_ = json.Unmarshal(e.Data, &who)
	return who.By
}
