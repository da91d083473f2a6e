package protocols

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/agui"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// AGUI serves AG-UI. The threadId of a client is the key of a conversation, and the id of the
// user's message that of the message.
//
//	POST /ag-ui/AGENT          a message, or answers to questions: a stream
//	POST /ag-ui/AGENT/connect  the whole conversation, and what goes on: a stream
type AGUI struct {
	Runs   Runs
	Agents Agents
}

// Name implements [httpapi.Protocol].
func (AGUI) Name() string { return "ag-ui" }

// Routes implements [httpapi.Protocol].
func (d AGUI) Routes() []httpapi.ProtocolRoute {
	read := []access.Role{access.Read}
	return []httpapi.ProtocolRoute{
		{Method: http.MethodPost, Path: "/ag-ui/{agent}", Roles: read, Serve: d.served(d.run)},
		{Method: http.MethodPost, Path: "/ag-ui/{agent}/connect", Roles: read, Serve: d.served(d.connect)},
	}
}

// served reads the input of a request for the agent in its path.
func (d AGUI) served(serve func(http.ResponseWriter, chat, agui.Input) error) func(http.ResponseWriter, *httpapi.Visit) error {
	return func(w http.ResponseWriter, v *httpapi.Visit) error {
		var in agui.Input
		if err := v.ReadBody(w, &in); err != nil {
			return err
		}
		return serve(w, d.chat(v, v.PathValue("agent"), in.ThreadID), in)
	}
}

func (d AGUI) chat(v *httpapi.Visit, agent, thread string) chat {
	return chat{runs: d.Runs, agents: d.Agents, visit: v, agent: agent, key: thread}
}

// refusedIn is an error as programs read it.
type refusedIn struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Refuse implements [httpapi.Protocol].
func (AGUI) Refuse(w http.ResponseWriter, _ *http.Request, p wire.Problem) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(core.Encode(refusedIn{p.Code, cmp.Or(p.Detail, p.Title)}))
}

// maxRunID is how long a client's name of a response may be. It comes back in the response.
const maxRunID = 255

func check(in agui.Input) error {
	switch {
	case in.ThreadID == "" || in.RunID == "":
		return refusal.New(refusal.CodeInvalid, "the request lacks its threadId or its runId; send both")
	case len(in.RunID) > maxRunID:
		return refusal.New(refusal.CodeInvalid, "runId is longer than %d bytes", maxRunID)
	case slices.ContainsFunc(in.Resume, func(e agui.Resume) bool { return !e.Clear() }):
		return refusal.New(refusal.CodeInvalid, "the status of an entry of resume must be resolved or cancelled")
	}
	return nil
}

// run does what the request asks for, and shows what comes of it. A request that asks for what was
// done before changes nothing: the client is shown the conversation as it is.
func (d AGUI) run(w http.ResponseWriter, c chat, in agui.Input) error {
	if err := errors.Join(check(in), c.visit.MayStream()); err != nil {
		return err
	}
	shown, err := d.take(c, in)
	if err != nil {
		return err
	}
	return shown.show(w, c, in)
}

func (d AGUI) take(c chat, in agui.Input) (shown, error) {
	m, sends := in.User()
	if in.Answers() {
		_, run, err := c.newest()
		if err == nil {
			reply := agui.ReadReply(in, run)
			sends = sends && m.ID != run.Message
			if len(reply.Decisions) > 0 || reply.Known && !sends {
				return d.reply(c, in, run, reply, sends)
			}
		} else if !sends || !isRefusal(err, refusal.CodeThreadNotFound) {
			return shown{}, err
		}
	}
	if sends {
		return d.submit(c, in, m)
	}
	return shown{}, refusal.New(refusal.CodeNotSuspended, "the request sends no new message and answers no question of this conversation; connect to it to see what it waits for")
}

// startOf is the run that a request asks for with its message, without agent and conversation.
func startOf(c chat, in agui.Input, m agui.InputMessage) (req wire.StartRequest, err error) {
	req = wire.StartRequest{Input: m.Input(), MessageID: m.ID}
	if req.MessageID == "" {
		return req, refusal.New(refusal.CodeInvalid, "the message has no id; send an id of your choice, the same if you send the message again")
	}
	if req.Input == nil {
		return req, refusal.New(refusal.CodeInvalid, "the message has no content; send text, or images and documents as data")
	}
	req.Supplied, err = c.supplied(in.Supply)
	return req, err
}

// earlierOf are the starts of the user's messages before the last. One that says nothing is left
// out.
func earlierOf(in agui.Input, last wire.StartRequest) (all []wire.StartRequest) {
	for _, m := range in.Earlier() {
		if req := (wire.StartRequest{Input: m.Input(), MessageID: m.ID, Supplied: last.Supplied}); req.MessageID != "" && req.Input != nil {
			all = append(all, req)
		}
	}
	return all
}

// submit gives the conversation the user's message, after those before it that it lacks.
func (d AGUI) submit(c chat, in agui.Input, m agui.InputMessage) (shown, error) {
	if err := c.visit.MayStart(); err != nil {
		return shown{}, err
	}
	req, err := startOf(c, in, m)
	if err != nil {
		return shown{}, err
	}
	if err := c.sendEarlier(earlierOf(in, req), c.send); err != nil {
		return shown{}, err
	}
	s, err := c.send(req)
	switch {
	case err == nil && s.New:
		return shown{run: s.Run.ID, message: m.ID, after: -1}, nil
	case err != nil:
		return shown{}, err
	}
	// the client has sent its message before
	_, run, err := c.newest()
	if err != nil {
		return shown{}, err
	}
	return all(run), nil
}

// reply applies answers. With a new message of the user, they must answer all that is asked. What
// the run asks meanwhile is left open, and shown.
func (d AGUI) reply(c chat, in agui.Input, run *project.Run, reply agui.Reply, sends bool) (shown, error) {
	if len(reply.Decisions) > 0 {
		if err := c.visit.MayDecide(); err != nil {
			return shown{}, err
		}
	}
	var message wire.StartRequest
	if sends {
		m, _ := in.User()
		var err error
		if message, err = startOf(c, in, m); err != nil {
			return shown{}, err
		}
		if err := errors.Join(c.visit.MayStart(), answersAll(run, reply)); err != nil {
			return shown{}, err
		}
	}
	late, err := c.decide(run.ID, reply.Decisions)
	if err != nil {
		return shown{}, err
	}
	is := shown{run: run.ID, after: run.Seq, hold: reply.Hold, restate: reply.Restate || late}
	if !sends {
		return is, nil
	}
	// the run may have yet to take the answers, or have asked something new
	if err := c.sendEarlier(earlierOf(in, message), c.keep); err != nil {
		return shown{}, err
	}
	s, err := c.keep(message)
	is.message = message.MessageID
	if err == nil && s.Run.ID != run.ID { // the run has ended, and the next one has begun
		is = shown{run: s.Run.ID, message: message.MessageID, after: -1}
	}
	return is, err
}

func answersAll(run *project.Run, reply agui.Reply) error {
	for _, q := range run.Waiting() {
		if q.Kind != core.KindChild.String() && !slices.Contains(reply.Hold, q.Suspension.ID) {
			return &refusal.Error{Code: refusal.CodeRunOpen, RunID: run.ID, Detail: "the conversation waits for an answer that the request doesn't give; answer or cancel all that is asked, or send the message later"}
		}
	}
	return nil
}

// connect shows the conversation, and what goes on in it. One that hasn't begun is empty.
func (d AGUI) connect(w http.ResponseWriter, c chat, in agui.Input) error {
	if err := check(in); err != nil {
		return err
	}
	_, run, err := c.newest()
	if isRefusal(err, refusal.CodeThreadNotFound) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if err != nil {
		return err
	}
	return all(run).show(w, c, in)
}

// shown is what a response shows of a run; see [agui.View].
type shown struct {
	run     string
	message string
	after   int64
	restate bool
	hold    []string
}

// all shows what has been as a snapshot, and what comes as it comes.
func all(run *project.Run) shown { return shown{run: run.ID, after: run.Seq, restate: true} }

func (s shown) show(w http.ResponseWriter, c chat, in agui.Input) error {
	about := url.Values{"thread": {in.ThreadID}, "run": {in.RunID}, "after": {strconv.FormatInt(s.after, 10)}}
	if s.message != "" {
		about.Set("message", s.message)
	}
	if len(s.hold) > 0 {
		about["hold"] = s.hold
	}
	if s.restate {
		about.Set("restate", "true")
	}
	if in.Versioned() {
		about.Set("versioned", "true")
	}
	return c.visit.Show(w, s.run, about)
}

// View implements [httpapi.Protocol].
func (AGUI) View(about url.Values) (httpapi.Viewer, error) {
	after, err := strconv.ParseInt(about.Get("after"), 10, 64)
	if err != nil {
		return nil, refusal.New(refusal.CodeInvalid, "after must be a number")
	}
	return &aguiStream{view: agui.View{Thread: about.Get("thread"), Run: about.Get("run"), Message: about.Get("message"), After: after,
		Snapshot: about.Get("restate") != "", Hold: about["hold"], Versioned: about.Get("versioned") != ""}}, nil
}

// aguiStream writes events as server-sent events.
type aguiStream struct {
	view   agui.View
	stream *agui.Stream
}

// Recall implements [httpapi.Recaller].
func (u *aguiStream) Recall(run string, events func(id, after string) (wire.EventPage, error)) {
	thread, _ := core.ThreadOf(run)
	u.view.Recall = func(take func(wire.Event) (more bool, err error)) error {
		for after := ""; ; {
			page, err := events(thread, after)
			if err != nil {
				return err
			}
			for _, e := range page.Items {
				if more, err := take(e); err != nil || !more {
					return err
				}
			}
			if after = page.Next; len(page.Items) == 0 {
				return nil
			}
		}
	}
}

func (u *aguiStream) Header(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	u.stream = agui.NewStream(u.view)
}

func (u *aguiStream) Push(e wire.Event) ([]byte, error) {
	events, err := u.stream.Push(e)
	return written(events), err
}

func (u *aguiStream) Rest() []byte { return written(u.stream.Rest()) }

// Break tells the client that the response isn't whole: it would take a clean end for one.
func (u *aguiStream) Break() []byte {
	return written([]agui.Event{agui.Failed("disconnected", "the connection ends here, the run goes on; connect again to see the rest")})
}

func (u *aguiStream) Over() bool { return u.stream.Over() }

func written(events []agui.Event) (out []byte) {
	for _, e := range events {
		out = append(append(append(out, "data: "...), core.Encode(e)...), "\n\n"...)
	}
	return out
}
