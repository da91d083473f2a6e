package console

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// draft is what a person has typed, and why it was refused. The key makes a form that is sent twice
// count once.
type draft struct {
	Form, Key, Agent, Text, Problem string

	sent string // the key that it came with
}

// refused keeps the draft for another try. If it may have been stored nevertheless, the next try
// has the same key; otherwise it may be changed.
func (d draft) refused(e *refusal.Error) draft {
	d.Problem = e.Detail
	if e.Code == refusal.CodeUnavailable {
		d.Key = d.sent
	}
	return d
}

func (c *Console) draft(l look) (d draft, err error) {
	d.Key = "console-" + c.Sessions.Random.Text(26)
	d.Form, err = c.Sessions.FormOf(l.Context(), l.session)
	return d, err
}

// chatsView is the page that a conversation begins at.
type chatsView struct {
	draft
	Agents []wire.Agent
	Recent []runRow
}

func (c *Console) chats(w http.ResponseWriter, l look) error {
	d, err := c.draft(l)
	if err != nil {
		return err
	}
	d.Agent = l.URL.Query().Get("agent")
	return c.showChats(w, l, http.StatusOK, d)
}

func (c *Console) showChats(w http.ResponseWriter, l look, status int, d draft) error {
	v := chatsView{draft: d}
	var err error
	if v.Agents, err = c.Reads.Startable(l.Context(), l.Caller()); err != nil {
		return err
	}
	page, err := c.Reads.Runs(l.Context(), l.Caller(), query.List{Limit: 20})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, r := range page.Items {
		if seen[r.ThreadID] || r.Parent != nil { // the newest run of each conversation
			continue
		}
		seen[r.ThreadID] = true
		row := c.runRow(r)
		row.Path = "/chat/" + r.ThreadID
		v.Recent = append(v.Recent, row)
	}
	return c.write(w, l, status, "chats", v)
}

// startChat starts a run with what was typed.
func (c *Console) startChat(w http.ResponseWriter, l look) error {
	d, err := c.typed(w, l)
	if err != nil {
		return err
	}
	started, err := c.Acts.Start(l.Context(), l.Caller(), d.sent, wire.StartRequest{Agent: d.Agent, Input: core.Encode(d.Text)})
	if e, known := problems.Refused(err); known {
		return c.showChats(w, l, problems.Of(e.Code).Status, d.refused(e))
	}
	if err != nil {
		return err
	}
	c.seeOther(w, "/chat/"+started.Run.ThreadID)
	return nil
}

// typed reads the form of a message. Its sender may start work, and has room to do so now.
func (c *Console) typed(w http.ResponseWriter, l look) (d draft, err error) {
	form, err := c.readForm(w, l)
	if err == nil {
		err = l.MayStart()
	}
	if err != nil {
		return d, err
	}
	if d, err = c.draft(l); err != nil {
		return d, err
	}
	d.Agent, d.Text = form.Get("agent"), strings.ReplaceAll(form.Get("text"), "\r\n", "\n")
	d.sent = form.Get("key")
	return d, nil
}

// chatView is a conversation.
type chatView struct {
	draft
	Thread    string
	Of        string // its newest run
	Said      []saidView
	Earlier   bool
	Questions []row
	Running   bool
	MaySay    bool
	State     string
}

// saidView is a message, or a line on what a tool did.
type saidView struct {
	wire.Message
	Heading string // of a tool
}

// mostSaid messages are shown, the newest.
const mostSaid = 200

func (c *Console) chat(w http.ResponseWriter, l look) error {
	d, err := c.draft(l)
	if err != nil {
		return err
	}
	return c.showChat(w, l, http.StatusOK, d)
}

func (c *Console) showChat(w http.ResponseWriter, l look, status int, d draft) error {
	thread, err := c.Reads.Thread(l.Context(), l.Caller(), l.PathValue("thread"))
	if err != nil {
		return err
	}
	run, err := c.Reads.Run(l.Context(), l.Caller(), thread.RunID)
	if err != nil {
		return err
	}
	d.Agent = thread.Agent
	v := chatView{draft: d, Thread: thread.ID, Of: run.ID, State: statusOf(run), MaySay: l.who.May(access.Start)}
	v.Running = run.Status != core.RunDone.String() && run.Status != core.RunWaiting.String()
	v.Questions = questionsOf(run, c.Clock.Now())
	if v.Said, v.Earlier, err = c.said(l.Context(), l.Caller(), thread.ID); err != nil {
		return err
	}
	l.of = run.ID
	if v.Running {
		l.speaks = run.ID
	}
	return c.write(w, l, status, "chat", v)
}

// said reads the newest part of a conversation. How long that takes doesn't depend on how long the
// conversation is.
func (c *Console) said(ctx context.Context, who frontend.Caller, thread string) (said []saidView, earlier bool, err error) {
	var read []wire.Message // the newest first
	for cursor := ""; ; {
		page, err := c.Reads.Messages(ctx, who, thread, query.List{Limit: mostSaid, Order: query.OrderNewest, Cursor: cursor})
		if err != nil {
			return nil, false, err
		}
		read = append(read, page.Items...)
		said = saidIn(read)
		cursor = page.Next
		if n := len(said) - mostSaid; n >= 0 || cursor == "" {
			return said[max(n, 0):], n > 0 || cursor != "", nil
		}
	}
}

// saidIn is what a page shows of messages that were read newest first.
func saidIn(read []wire.Message) (said []saidView) {
	for _, m := range slices.Backward(read) {
		said = settled(said, m)
		if m.Role == "tool" || m.Text != "" || len(m.Parts) > 0 {
			said = append(said, saidView{m, headingOf(m)})
		}
	}
	return said
}

// settled drops the line that a call waits, once there is one on what became of it.
func settled(said []saidView, m wire.Message) []saidView {
	if m.Role != "tool" || m.Pending {
		return said
	}
	return slices.DeleteFunc(said, func(s saidView) bool { return s.Pending && s.RunID == m.RunID && s.CallID == m.CallID })
}

// headingOf says what became of a call.
func headingOf(m wire.Message) string {
	switch {
	case m.Role != "tool":
		return ""
	case m.Pending:
		return say("chat.waits")
	}
	return say("outcome." + m.Outcome)
}

// message sends what was typed to the conversation.
func (c *Console) message(w http.ResponseWriter, l look) error {
	d, err := c.typed(w, l)
	if err != nil {
		return err
	}
	thread := l.PathValue("thread")
	_, err = c.Acts.Message(l.Context(), l.Caller(), thread, d.sent, wire.MessageRequest{Input: core.Encode(d.Text)})
	if e, known := problems.Refused(err); known {
		return c.showChat(w, l, problems.Of(e.Code).Status, d.refused(e))
	}
	if err != nil {
		return err
	}
	c.seeOther(w, "/chat/"+thread)
	return nil
}

// speech streams a run for the page of its conversation: what the model is saying now, too.
func (*Console) speech(w http.ResponseWriter, l look) error {
	return l.FollowRun(w, l.PathValue("run"))
}
