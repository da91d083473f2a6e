package protocols

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/aisdk"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// AISDK serves the UI message streams of the AI SDK. The id of a chat is the key of a conversation.
//
//	POST /ai-sdk/AGENT                      a message, or answers to questions: a stream
//	GET  /ai-sdk/AGENT/CHAT/stream          the answer under way, whole; 204 if none is
//	GET  /ai-sdk/AGENT/CHAT/messages        the whole conversation
//	POST /ai-sdk/AGENT/CHAT/stop            cancels the run
//	POST /ai-sdk/AGENT/workflow             for WorkflowChatTransport, which counts chunks
//	GET  /ai-sdk/AGENT/workflow/RUN/stream  continues such a stream
type AISDK struct {
	Runs   Runs
	Agents Agents
}

// Name implements [httpapi.Protocol].
func (AISDK) Name() string { return "ai-sdk" }

// Routes implements [httpapi.Protocol].
func (d AISDK) Routes() []httpapi.ProtocolRoute {
	read := []access.Role{access.Read}
	stop := []access.Role{access.Start, access.Decide}
	return []httpapi.ProtocolRoute{
		{Method: http.MethodPost, Path: "/ai-sdk/{agent}", Roles: read, Serve: d.post},
		{Method: http.MethodGet, Path: "/ai-sdk/{agent}/{chat}/stream", Roles: read, Serve: d.resume},
		{Method: http.MethodGet, Path: "/ai-sdk/{agent}/{chat}/messages", Roles: read, Serve: d.messages},
		{Method: http.MethodPost, Path: "/ai-sdk/{agent}/{chat}/stop", Roles: stop, Serve: d.stop},
		{Method: http.MethodPost, Path: "/ai-sdk/{agent}/workflow", Roles: read, Serve: d.postCounted},
		{Method: http.MethodGet, Path: "/ai-sdk/{agent}/workflow/{run}/stream", Roles: read, Serve: d.continued},
	}
}

// Refuse implements [httpapi.Protocol]: the clients show the text of an answer that is no stream.
func (AISDK) Refuse(w http.ResponseWriter, _ *http.Request, p wire.Problem) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Error-Code", p.Code)
	w.WriteHeader(p.Status)
	_, _ = w.Write([]byte(cmp.Or(p.Detail, p.Title)))
}

func (d AISDK) post(w http.ResponseWriter, v *httpapi.Visit) error {
	run, about, err := d.take(w, v)
	if err != nil {
		return err
	}
	return v.Show(w, run, about)
}

func (d AISDK) chat(v *httpapi.Visit, id string) chat {
	return chat{runs: d.Runs, agents: d.Agents, visit: v, agent: v.PathValue("agent"), key: id}
}

// take does what the last message of the request asks for, and says what of the run shows it.
func (d AISDK) take(w http.ResponseWriter, v *httpapi.Visit) (run string, about url.Values, err error) {
	sdk, err := versionOf(v)
	if err != nil {
		return "", nil, err
	}
	var req aisdk.Request
	if err := v.ReadBody(w, &req); err != nil {
		return "", nil, err
	}
	if err := v.MayStream(); err != nil {
		return "", nil, err
	}
	last, ok := req.Last()
	if !ok {
		return "", nil, refusal.New(refusal.CodeInvalid, "the request has no message; send messages, or message with the last one")
	}
	switch c := d.chat(v, chatOf(req)); {
	case req.Trigger == aisdk.TriggerRegenerate:
		run, about, err = d.again(c)
	case last.Role == "user":
		run, about, err = d.submit(c, last, req)
	default:
		run, about, err = d.reply(c, last)
	}
	if sdk != 0 && err == nil {
		about.Set("sdk", strconv.Itoa(sdk))
	}
	return run, about, err
}

const versionHeader = "X-AI-SDK-Version"

// versionOf is the version that the client says it has; 0 if it says none.
func versionOf(v *httpapi.Visit) (int, error) { return readVersion(v.Header.Get(versionHeader)) }

func readVersion(text string) (int, error) {
	sdk, err := strconv.Atoi(cmp.Or(text, "0"))
	if err != nil || text != "" && (sdk < 5 || sdk > 7) {
		return 0, refusal.New(refusal.CodeInvalid, versionHeader+" must be 5, 6 or 7")
	}
	return sdk, nil
}

// chatOf is the id of the chat. WorkflowChatTransport sends none: its first message names it.
func chatOf(req aisdk.Request) string {
	if req.ID == "" && len(req.Messages) > 0 && req.Messages[0].ID != "" {
		return "ui:" + req.Messages[0].ID
	}
	return req.ID
}

// submit gives the conversation a user's message.
func (d AISDK) submit(c chat, m aisdk.Message, req aisdk.Request) (string, url.Values, error) {
	if err := c.visit.MayStart(); err != nil {
		return "", nil, err
	}
	input := m.Input()
	switch {
	case c.key == "":
		return "", nil, refusal.New(refusal.CodeInvalid, "the request has no id; send the id of the chat beside its messages")
	case m.ID == "":
		return "", nil, refusal.New(refusal.CodeInvalid, "the message has no id; send an id of your choice, the same if you send the message again")
	case input == nil:
		return "", nil, refusal.New(refusal.CodeInvalid, "the message has no content; send text, or files as data URLs")
	}
	supplied, err := c.supplied(req.Supply)
	if err != nil {
		return "", nil, err
	}
	var earlier []wire.StartRequest
	for _, one := range req.Earlier() {
		if input := one.Input(); one.ID != "" && input != nil {
			earlier = append(earlier, wire.StartRequest{Input: input, MessageID: one.ID, Metadata: req.Metadata, Supplied: supplied})
		}
	}
	if err := c.sendEarlier(earlier, c.send); err != nil {
		return "", nil, err
	}
	s, err := c.send(wire.StartRequest{Input: input, MessageID: m.ID, Metadata: req.Metadata, Supplied: supplied})
	return s.Run.ID, url.Values{"message": {m.ID}}, err
}

// reply applies the answers in an assistant's message that came back. One that was given before,
// here or elsewhere, changes nothing: what became of it is shown.
func (d AISDK) reply(c chat, m aisdk.Message) (string, url.Values, error) {
	_, run, err := c.newest()
	if err != nil {
		return "", nil, err
	}
	reply := aisdk.ReadReply(m, run)
	if len(reply.Hold) == 0 {
		return "", nil, refusal.New(refusal.CodeNotSuspended, "the message answers no question of this chat; reload the chat")
	}
	if len(reply.Decisions) > 0 {
		if err := c.visit.MayDecide(); err != nil {
			return "", nil, err
		}
	}
	_, err = c.decide(run.ID, reply.Decisions)
	return run.ID, url.Values{"turn": {strconv.Itoa(reply.Turn)}, "hold": reply.Hold, "seen": reply.Seen}, err
}

// again retries a run that failed. One that succeeded has had its effects, and stays.
func (d AISDK) again(c chat) (string, url.Values, error) {
	if err := c.visit.MayStart(); err != nil {
		return "", nil, err
	}
	t, err := c.thread()
	if err != nil {
		return "", nil, err
	}
	s, err := d.Runs.Retry(c.visit.Context(), c.visit.Caller(), t.RunID, "")
	return s.Run.ID, url.Values{"turn": {"1"}}, err
}

func (d AISDK) resume(w http.ResponseWriter, v *httpapi.Visit) error {
	sdk, err := versionOf(v)
	if err != nil {
		return err
	}
	rests, run, err := d.chat(v, v.PathValue("chat")).newest()
	switch {
	case isRefusal(err, refusal.CodeThreadNotFound), err == nil && rests:
		w.WriteHeader(http.StatusNoContent)
		return nil
	case err != nil:
		return err
	}
	about := url.Values{"turn": {"1"}}
	if run.Message != "" {
		about = url.Values{"message": {run.Message}}
	}
	if sdk != 0 {
		about.Set("sdk", strconv.Itoa(sdk))
	}
	return v.Show(w, run.ID, about)
}

// messages are the conversation as a page holds it when it is opened again.
func (d AISDK) messages(w http.ResponseWriter, v *httpapi.Visit) error {
	sdk, err := versionOf(v)
	if err != nil {
		return err
	}
	t, err := d.chat(v, v.PathValue("chat")).thread()
	if err != nil {
		return err
	}
	h := aisdk.NewHistory(sdk)
	files, err := pushThread(v, t.ID, h.Push)
	if err != nil {
		return err
	}
	return v.WriteJSON(w, http.StatusOK, h.Messages(files))
}

// pushThread pushes the events of all runs of a conversation, each with those of the runs below it,
// and returns the files of its messages.
func pushThread(v *httpapi.Visit, thread string, push func(wire.Event) error) (*project.Files, error) {
	files := &project.Files{}
	var run []wire.Event // not pushed so far
	flush := func() error {
		if slices.ContainsFunc(run, func(e wire.Event) bool { return e.Type == string(core.EventChildStarted) }) {
			return pages(func(after string) (wire.EventPage, error) {
				return v.Grown(run[0].RunID, query.EventQuery{After: after})
			}, push)
		}
		for _, e := range run {
			if err := push(e); err != nil {
				return err
			}
		}
		return nil
	}
	err := pages(func(after string) (wire.EventPage, error) {
		return v.Events(thread, query.EventQuery{After: after, Data: true})
	}, func(e wire.Event) (err error) {
		if e, err = files.Take(e); err != nil {
			return err
		}
		if len(run) > 0 && run[0].RunID != e.RunID {
			if err := flush(); err != nil {
				return err
			}
			run = nil
		}
		run = append(run, e)
		return nil
	})
	return files, errors.Join(err, flush())
}

func (d AISDK) stop(w http.ResponseWriter, v *httpapi.Visit) error {
	if err := d.chat(v, v.PathValue("chat")).cancel(); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// postCounted is post for a client that, when its stream breaks, asks for the rest by the number of
// chunks it has seen. Only committed events are shown, so that they are the same each time.
func (d AISDK) postCounted(w http.ResponseWriter, v *httpapi.Visit) error {
	run, about, err := d.take(w, v)
	if err != nil {
		return err
	}
	about.Set("counted", base64.RawURLEncoding.EncodeToString([]byte(run+"?"+about.Encode())))
	return v.Show(w, run, about)
}

func (d AISDK) continued(w http.ResponseWriter, v *httpapi.Visit) error {
	id := v.PathValue("run")
	text, err := base64.RawURLEncoding.DecodeString(id)
	run, encoded, ok := strings.Cut(string(text), "?")
	about, parseErr := url.ParseQuery(encoded)
	if err != nil || parseErr != nil || !ok {
		return refusal.New(refusal.CodeRunNotFound, "the stream doesn't exist; send the header X-Workflow-Run-Id of the answer as it came")
	}
	if _, err := number(v.URL.Query(), "startIndex"); err != nil {
		return err
	}
	about.Set("counted", id)
	about.Set("skip", v.URL.Query().Get("startIndex"))
	return v.Show(w, run, about)
}

// View implements [httpapi.Protocol].
func (AISDK) View(about url.Values) (httpapi.Viewer, error) {
	turn, err := number(about, "turn")
	skip, err2 := number(about, "skip")
	sdk, err3 := readVersion(about.Get("sdk"))
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	s := aisdk.NewStream(aisdk.View{Message: about.Get("message"), Turn: turn, Hold: about["hold"], Seen: about["seen"], SDK: sdk})
	return &uiStream{stream: s, counted: about.Get("counted"), skip: skip}, nil
}

// uiStream writes chunks as server-sent events.
type uiStream struct {
	stream  *aisdk.Stream
	counted string // the id of a stream whose chunks the client counts; empty for others
	skip    int    // so many chunks the client has
}

func (u *uiStream) Header(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Vercel-AI-UI-Message-Stream", "v1")
	if u.counted != "" {
		h.Set("X-Workflow-Run-Id", u.counted)
	}
}

func (u *uiStream) Push(e wire.Event) ([]byte, error) {
	if u.counted != "" && project.Live(e) {
		return nil, nil
	}
	chunks, err := u.stream.Push(e)
	return u.written(chunks), err
}

func (u *uiStream) Rest() []byte { return u.written(u.stream.Rest()) }

// Break tells the client that the answer isn't whole: it would take a clean end for one. One that
// counts comes again by itself.
func (u *uiStream) Break() []byte {
	if u.counted != "" {
		return nil
	}
	return u.written([]aisdk.Chunk{{Type: aisdk.Failure, ErrorText: "the connection ends here, the answer goes on; reload it"}})
}

func (u *uiStream) Over() bool { return u.stream.Over() }

func (u *uiStream) written(chunks []aisdk.Chunk) (out []byte) {
	for _, c := range chunks {
		if u.skip > 0 {
			u.skip--
			continue
		}
		out = append(append(append(out, "data: "...), core.Encode(c)...), "\n\n"...)
	}
	if u.stream.Over() && len(chunks) > 0 {
		out = append(out, "data: [DONE]\n\n"...)
	}
	return out
}
