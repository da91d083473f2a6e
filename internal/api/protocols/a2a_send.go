package protocols

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/a2a"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// sent is what a message came to.
type sent struct {
	run, context string
	after        int64    // the event that the run had reached before
	message      []string // its id, if it is one of the run's messages
	hold         []string // the suspensions that it answers
}

func invalid(format string, args ...any) error {
	return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf(format, args...))
}

// send takes a message: it begins a task, or belongs to one. A repeat with the same id changes
// nothing, and is answered like the first.
func (h *a2aRequest) send(m a2a.Sent) (sent, error) {
	answers, err := m.Answers()
	if err != nil {
		return sent{}, err
	}
	push, _, err := h.readPush(m.Config.Push)
	switch {
	case err != nil:
		return sent{}, err
	case m.TaskID == "" && len(answers) > 0:
		return sent{}, invalid("the message answers a question, so it needs the taskId")
	case m.TaskID == "":
		return h.start(m, push)
	}
	run, err := h.task(sdk.TaskID(m.TaskID), 0)
	if err != nil {
		return sent{}, err
	}
	if m.ContextID != "" && !h.leads(m.ContextID, run.ThreadID) {
		return sent{}, invalid("the task %s is in another context; omit the contextId, or send that of the task", m.TaskID)
	}
	if push != nil {
		if err := h.v.May(access.Start); err != nil {
			return sent{}, err
		}
		if err := h.addPush(run, push); err != nil {
			return sent{}, err
		}
	}
	f, _, err := h.fold(run.ID, "", false)
	if err != nil {
		return sent{}, err
	}
	to := sent{run: run.ID, context: h.context(run), after: f.Seq}
	if len(answers) > 0 {
		to.hold, err = h.decide(run, answers)
		return to, err
	}
	return h.say(to, run, f, m)
}

// start begins a task. Its endpoint for push notifications is there before it, so that nothing is
// missed; a start that is refused leaves one that no task has.
func (h *a2aRequest) start(m a2a.Sent, push *notice.Push) (sent, error) {
	if err := h.v.MayStart(); err != nil {
		return sent{}, err
	}
	input, err := m.Input(takesFile)
	if err != nil {
		return sent{}, err
	}
	req := wire.StartRequest{Agent: h.v.PathValue("agent"), Input: input, MessageID: m.ID, Metadata: m.Metadata}
	if err := h.place(&req, m); err != nil {
		return sent{}, err
	}
	group := h.group(req)
	if push != nil {
		push.Context = m.ContextID
		if err := h.d.Pushes.Put(h.v.Context(), h.v.Caller(), req.Agent, group, *push); err != nil {
			return sent{}, err
		}
	}
	s, err := h.d.Runs.StartPushed(h.v.Context(), h.v.Caller(), "", req, group)
	if err != nil {
		return sent{}, inContext(err)
	}
	in := m.ContextID
	if in == "" {
		in = s.Run.ThreadID
	}
	return sent{run: s.Run.ID, context: in, message: []string{m.ID}}, nil
}

// inContext words in the protocol's terms that the thread has an open run.
func inContext(err error) error {
	e, ok := errors.AsType[*refusal.Error](err)
	if !ok || e.Code != refusal.CodeRunOpen {
		return err
	}
	worded := *e
	worded.Detail = fmt.Sprintf("the context has an open task, %s; send the message with its taskId, or begin another task when it has ended", e.RunID)
	return &worded
}

// place says in which thread the task is. Without a context the message names a new one, so that a
// repeat finds it. A client may call a context what it likes, also by the id of a thread that isn't
// one of the agent's here: the contexts of another server look alike.
func (h *a2aRequest) place(req *wire.StartRequest, m a2a.Sent) (err error) {
	c := h.v.Caller()
	if m.ContextID == "" {
		req.ThreadKey = "a2a:" + core.Digest([]byte(c.By+"\x00"+req.Agent+"\x00"+m.ID))
		return nil
	}
	if isThreadID(m.ContextID) {
		t, err := h.d.Reads.Thread(h.v.Context(), c, m.ContextID)
		if err == nil && t.Agent == req.Agent {
			req.ThreadID = m.ContextID
			return nil
		}
		if err != nil && !isRefusal(err, refusal.CodeThreadNotFound) {
			return err
		}
	}
	req.ThreadKey = m.ContextID
	if req.Metadata, err = merged(m.Metadata, m.ContextID); err != nil {
		return invalid("%v", err)
	}
	t, err := h.d.Runs.ThreadByKey(h.v.Context(), c, m.ContextID)
	switch {
	case isRefusal(err, refusal.CodeThreadNotFound):
		return nil
	case err == nil && t.Agent != req.Agent:
		return invalid("the context belongs to another agent; omit the contextId, or choose another one")
	}
	return err
}

// decide applies the answers. Those on questions that are closed, which have no effect, are sent
// first: if one is refused, none on an open question is taken. What another caller has decided is
// an error, too: the client has to know.
func (h *a2aRequest) decide(run wire.Run, answers []a2a.Answer) (hold []string, err error) {
	if err := h.v.MayDecide(); err != nil {
		return nil, err
	}
	var closed, open []wire.Decision
	for i, a := range answers {
		if slices.ContainsFunc(answers[:i], func(b a2a.Answer) bool { return a.ID == b.ID }) {
			return nil, invalid("two answers are for the question %s; send one", a.ID)
		}
		q := asked(run, a.ID)
		if q == nil && run.PendingCut && a.Approved == nil {
			return nil, invalid("the question %s is not among those that the task shows", a.ID)
		}
		d, err := a.Decision(q)
		if err != nil {
			return nil, err
		}
		if q == nil {
			closed = append(closed, d)
		} else {
			open = append(open, d)
		}
		hold = append(hold, a.ID)
	}
	var stored []string
	for _, d := range slices.Concat(closed, open) {
		if _, err := h.d.Runs.Decide(h.v.Context(), h.v.Caller(), run.ID, d); err != nil {
			return nil, besides(err, stored)
		}
		stored = append(stored, d.Target)
	}
	return hold, nil
}

// besides says which answers of a message are stored although another was refused: the protocol has
// one error for all of them.
func besides(err error, stored []string) error {
	e, ok := errors.AsType[*refusal.Error](err)
	if !ok || len(stored) == 0 {
		return err
	}
	worded := *e
	worded.Detail += "; this is about one answer, and others of the message are stored: " + strings.Join(stored, ", ")
	return &worded
}

// asked is the open question of a suspension; nil if the task has none.
func asked(run wire.Run, suspension string) *wire.Pending {
	for i := range run.Pending {
		if run.Pending[i].Suspension.ID == suspension {
			return &run.Pending[i]
		}
	}
	return nil
}

// say gives the run a message. If it asks, the message answers what a tool asks the user, and
// nothing else.
func (h *a2aRequest) say(to sent, run wire.Run, f *a2a.Fold, m a2a.Sent) (sent, error) {
	if err := h.v.MayStart(); err != nil {
		return sent{}, err
	}
	input, err := m.Input(takesFile)
	heard := f.Heard(m.ID)
	only := len(run.Pending) == 1 && run.Pending[0].Kind == core.KindInput.String() && len(run.Pending[0].Path) == 0
	switch {
	case err != nil:
		return sent{}, err
	case run.Status == core.RunDone.String() && heard:
		return to, nil
	case run.Status == core.RunDone.String():
		return sent{}, sdk.NewError(sdk.ErrUnsupportedOperation, "the task has ended; send the message without taskId, with the same contextId, to begin another one")
	case len(run.Pending) > 0 && !only && !heard:
		return sent{}, sdk.NewError(sdk.ErrUnsupportedOperation, "the task waits for decisions, which a text can't give; answer each question of the status message with a data part")
	}
	s, err := h.d.Runs.Message(h.v.Context(), h.v.Caller(), run.ThreadID, "", wire.MessageRequest{Input: input, MessageID: m.ID})
	if err != nil {
		return sent{}, err
	}
	if s.Run.ID != run.ID { // it ended just now
		return sent{run: s.Run.ID, context: to.context, message: []string{m.ID}}, nil
	}
	to.message = []string{m.ID}
	return to, nil
}
