package protocols

import (
	"errors"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// chat is a conversation of a caller with an agent, as its client names it.
type chat struct {
	runs   Runs
	agents Agents
	visit  *httpapi.Visit
	agent  string
	key    string
}

// send gives the conversation a user's message. An open run gets it, if it can have one now.
func (c chat) send(req wire.StartRequest) (frontend.Started, error) {
	v := c.visit
	req.Agent, req.ThreadKey = c.agent, c.key
	s, err := c.runs.Start(v.Context(), v.Caller(), "", req)
	if !isRefusal(err, refusal.CodeRunOpen, refusal.CodeIdempotencyMismatch) {
		return s, err
	}
	if _, err := c.thread(); err != nil {
		return s, err
	}
	return c.message(wire.MessageRequest{Input: req.Input, MessageID: req.MessageID, Supplied: req.Supplied})
}

func (c chat) message(req wire.MessageRequest) (frontend.Started, error) {
	v := c.visit
	return c.runs.Message(v.Context(), v.Caller(), frontend.KeyedThread(v.Caller().Tenant, c.key), "", req)
}

// keep gives the conversation a user's message that comes with answers. It gives nothing up.
func (c chat) keep(req wire.StartRequest) (frontend.Started, error) {
	v := c.visit
	return c.runs.MessageKept(v.Context(), v.Caller(), frontend.KeyedThread(v.Caller().Tenant, c.key), "",
		wire.MessageRequest{Input: req.Input, MessageID: req.MessageID, Supplied: req.Supplied})
}

// unsent are those of a user's messages that the conversation lacks, in their order.
func (c chat) unsent(earlier []wire.StartRequest) ([]wire.StartRequest, error) {
	if len(earlier) == 0 {
		return nil, nil
	}
	t, err := c.thread()
	if isRefusal(err, refusal.CodeThreadNotFound) {
		return earlier, nil
	}
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	err = pages(func(after string) (wire.EventPage, error) {
		return c.visit.Events(t.ID, query.EventQuery{After: after})
	}, func(e wire.Event) error {
		var data wire.MessageReceivedData
		if core.EventType(e.Type) != core.EventMessageReceived {
			return nil
		}
		err := e.Decode(&data)
		there[data.MessageID] = true
		return err
	})
	return slices.DeleteFunc(earlier, func(req wire.StartRequest) bool { return there[req.MessageID] }), err
}

// mostEarlier is how many messages a request may send before its last one. Clients lose a few.
const mostEarlier = 100

// sendEarlier gives the conversation the user's messages that it lacks. send is how it gets one.
func (c chat) sendEarlier(earlier []wire.StartRequest, send func(wire.StartRequest) (frontend.Started, error)) error {
	missing, err := c.unsent(earlier)
	if err == nil && len(missing) > mostEarlier {
		return refusal.New(refusal.CodeInvalid, "the request has %d messages that the conversation lacks, and %d before the last are taken; send some of them first", len(missing), mostEarlier)
	}
	for _, req := range missing {
		if err == nil {
			err = c.visit.MayStart()
		}
		if err == nil {
			_, err = send(req)
		}
	}
	return err
}

// decide applies answers to questions of a run. Those that find their question answered change
// nothing, and are late.
func (c chat) decide(run string, decisions []wire.Decision) (late bool, err error) {
	for _, one := range decisions {
		answer, err := c.runs.Decide(c.visit.Context(), c.visit.Caller(), run, one)
		switch {
		case isRefusal(err, refusal.CodeAlreadyDecided, refusal.CodeLateDecision, refusal.CodeStaleSuspension, refusal.CodeNotSuspended, refusal.CodeRunDone):
			late = true
		case err != nil:
			return late, err
		default:
			late = late || answer.Code != string(refusal.CodeAccepted)
		}
	}
	return late, nil
}

// thread is the conversation, if it is one with this agent.
func (c chat) thread() (wire.Thread, error) {
	t, err := c.runs.ThreadByKey(c.visit.Context(), c.visit.Caller(), c.key)
	if err == nil && t.Agent != c.agent {
		return t, refusal.New(refusal.CodeThreadNotFound, "the agent has no conversation with this id")
	}
	return t, err
}

// newest folds the newest run; rests says that it does nothing until someone acts.
func (c chat) newest() (rests bool, run *project.Run, err error) {
	t, err := c.thread()
	if err != nil {
		return false, nil, err
	}
	run = &project.Run{ID: t.RunID}
	err = pages(func(after string) (page wire.EventPage, err error) {
		page, err = c.visit.Grown(t.RunID, query.EventQuery{After: after})
		rests = page.Waiting || page.Done
		return page, err
	}, run.Push)
	return rests, run, err
}

// pages takes all events, page by page, up to the one that says that nothing goes on.
func pages(read func(after string) (wire.EventPage, error), take func(wire.Event) error) error {
	for after := ""; ; {
		page, err := read(after)
		if err != nil {
			return err
		}
		for _, e := range page.Items {
			if err := take(e); err != nil {
				return err
			}
		}
		if len(page.Items) == 0 || page.Done || page.Waiting {
			return nil
		}
		after = page.Next
	}
}

// cancel ends the newest run. One that is over stays as it ended.
func (c chat) cancel() error {
	t, err := c.thread()
	if err != nil {
		return err
	}
	_, err = c.runs.Cancel(c.visit.Context(), c.visit.Caller(), t.RunID)
	if isRefusal(err, refusal.CodeRunDone) {
		return nil
	}
	return err
}

func isRefusal(err error, codes ...refusal.Code) bool {
	e, ok := errors.AsType[*refusal.Error](err)
	return ok && slices.Contains(codes, e.Code)
}
