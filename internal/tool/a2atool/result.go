package a2atool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// Limits in bytes of texts of the agent that are reported.
const (
	mostDetail = 300
	mostWord   = 100
	mostURL    = 500
	mostID     = 512
	mostLogged = 1000
)

// taskContent is what a task contains, as the agent wrote it: the SDK turns numbers into floats.
type taskContent struct {
	Artifacts []content `json:"artifacts"`
	Status    struct {
		State   string  `json:"state"`
		Message content `json:"message"`
	} `json:"status"`
	History []content `json:"history"`
}

// content is a message or an artifact.
type content struct {
	Role  a2a.MessageRole `json:"role"`
	Parts []part          `json:"parts"`
}

type part struct {
	Text  string          `json:"text"`
	Data  json.RawMessage `json:"data"`
	URL   *string         `json:"url"`
	Raw   *string         `json:"raw"` // never decoded
	Name  string          `json:"filename"`
	Media string          `json:"mediaType"`
}

// failure is a state in which an agent does not do the task.
type failure struct {
	code, why string
	open      bool // the task waits
}

var failures = map[a2a.TaskState]failure{
	a2a.TaskStateFailed:        {peer.CodeFailed, "reported that the task failed", false},
	a2a.TaskStateCanceled:      {peer.CodeCancelled, "reported that the task was cancelled", false},
	a2a.TaskStateRejected:      {peer.CodeRefused, "rejected the task", false},
	a2a.TaskStateInputRequired: {peer.CodeAsks, "asked for input, which it can't be given", true},
	a2a.TaskStateAuthRequired:  {peer.CodeAsks, "asked for credentials, which it can't be given", true},
}

// report says how far a task is. id is the task that was asked for; empty, if it is new.
func (c *call) report(ctx context.Context, t *a2a.Task, raw json.RawMessage, id string) (peer.Report, error) {
	var x taskContent
	if err := json.Unmarshal(raw, &x); err != nil {
		return peer.Report{}, c.misread(raw, "has an unknown form")
	}
	if err := c.identify(string(t.ID), t.ContextID, id, raw); err != nil {
		return peer.Report{}, err
	}
	paragraphs, _ := c.paragraphs(x.Status.Message.Parts)
	said := strings.Join(paragraphs, " ") // unhidden
	switch state := t.Status.State; state {
	case a2a.TaskStateSubmitted, a2a.TaskStateWorking:
		return peer.Report{State: peer.Working, Task: c.task, Detail: c.line(said, mostDetail)}, nil
	case a2a.TaskStateCompleted:
		return c.completed(ctx, x, id)
	case a2a.TaskStateInputRequired:
		if x.Status.Message.decidedThere() {
			return peer.Report{State: peer.Working, Task: c.task, Detail: c.line(said, mostDetail)}, nil
		}
		return c.notDone(state, said), nil
	default:
		if _, known := failures[state]; !known { // by a newer version of the protocol
			return peer.Report{}, &fault{why: "reported a state that this program does not know: " + c.line(state.String(), mostWord)}
		}
		return c.notDone(state, said), nil
	}
}

// notDone is the report of a task that is in one of the states of failures.
func (c *call) notDone(state a2a.TaskState, said string) peer.Report {
	f := failures[state]
	if said != "" {
		f.why += ": " + said
	}
	return peer.Report{State: peer.Failed, Task: c.task, Code: f.code, Detail: c.says(f.why), Open: f.open}
}

// decidedThere says whether the agent waits only for what people decide where it runs, as agents of
// Dormouse do: then it is at work, and no answer is expected from here. Other questions get none.
func (m content) decidedThere() bool {
	asks := 0
	for _, p := range m.Parts {
		var q struct {
			ID   string `json:"decisionId"`
			Kind string `json:"kind"`
		}
		if p.Data == nil {
			continue
		}
		if json.Unmarshal(p.Data, &q) != nil || q.ID == "" {
			return false
		}
		switch q.Kind {
		case core.KindApproval.String(), core.KindUnknownOutcome.String(), core.KindInterrupt.String():
			asks++
		default:
			return false
		}
	}
	return asks > 0
}

// completed is the report of a completed task. Most agents put the result into artifacts; its
// history is asked for only if it is nowhere else.
func (c *call) completed(ctx context.Context, x taskContent, id string) (peer.Report, error) {
	parts := x.result()
	switch {
	case len(parts) == 0 && id == "": // the first look fetches it
		return peer.Report{State: peer.Working, Task: c.task}, nil
	case len(parts) == 0 && !c.recalled:
		c.recalled = true
		return c.lookInto(ctx, id, history)
	}
	r := peer.Report{State: peer.Done, Task: c.task}
	r.Text, r.Value = c.read(parts)
	return r, nil
}

// answered is the report of an agent that answered with a message, without a task.
func (c *call) answered(m *a2a.Message, raw json.RawMessage) (peer.Report, error) {
	var x content
	if err := json.Unmarshal(raw, &x); err != nil {
		return peer.Report{}, c.misread(raw, "has an unknown form")
	}
	c.task.Pushes = false
	if err := c.keep(m.ContextID, nil); err != nil {
		return peer.Report{}, err
	}
	r := peer.Report{State: peer.Done, Task: c.task}
	r.Text, r.Value = c.read(x.Parts)
	return r, nil
}

// identify checks which task an answer is about, and keeps its id and its context.
func (c *call) identify(id, in, want string, raw json.RawMessage) error {
	switch {
	case want != "" && id != want:
		return c.misread(raw, "is about another task")
	case id == "":
		return c.misread(raw, "is about a task without an id")
	case len(id) > mostID:
		return c.misread(raw, "has an id of more than 512 bytes")
	case c.values.In(id):
		return c.misread(raw, "has an id that contains a secret of this program")
	}
	if err := c.keep(in, raw); err != nil {
		return err
	}
	c.task.ID = id
	return nil
}

// keep keeps the context that the agent chose.
func (c *call) keep(in string, raw json.RawMessage) error {
	switch {
	case len(in) > mostID:
		return c.misread(raw, "has a context of more than 512 bytes")
	case c.values.In(in):
		return c.misread(raw, "has a context that contains a secret of this program")
	}
	c.task.Context = cmp.Or(in, c.task.Context, c.request.Context)
	return nil
}

// misread is the fault of an answer that the SDK accepts and that can't be used.
func (c *call) misread(raw json.RawMessage, why string) *fault {
	return &fault{kind: unreadable, why: "gave an answer that can't be used: it " + why, ended: ended(raw)}
}

// ended reports whether a result says that the task is over, in whatever shape the rest of it is.
func ended(raw json.RawMessage) bool {
	type status struct {
		Status struct {
			State a2a.TaskState `json:"state"`
		} `json:"status"`
	}
	var x struct {
		status
		Task status `json:"task"`
	}
	_ = json.Unmarshal(raw, &x) // what can be read is read
	return x.Status.State.Terminal() || x.Task.Status.State.Terminal()
}

// result returns the parts of a completed task that are its result: the artifacts, or else the last
// message of the agent.
func (x taskContent) result() (parts []part) {
	for _, a := range x.Artifacts {
		parts = append(parts, a.Parts...)
	}
	if len(parts) > 0 {
		return parts
	}
	if len(x.Status.Message.Parts) > 0 {
		return x.Status.Message.Parts
	}
	for _, m := range slices.Backward(x.History) {
		if m.Role == a2a.MessageRoleAgent && len(m.Parts) > 0 {
			return m.Parts
		}
	}
	return nil
}

// mostFiles limits how many files a text names.
const mostFiles = 20

// read returns parts as text, and as JSON too if they are nothing but one value.
func (c *call) read(parts []part) (text string, value json.RawMessage) {
	paragraphs, data := c.paragraphs(parts)
	// a cut could split a secret, which would then not be recognized, so secrets are hidden
	// first
	text = core.CutResult(c.hide(strings.Join(paragraphs, "\n\n")), int(c.to.Most()))
	if data != 1 || len(paragraphs) != 1 || !json.Valid([]byte(text)) {
		return text, nil
	}
	return text, json.RawMessage(text)
}

// paragraphs returns the texts of parts, as the agent wrote them, and how many are JSON. Files are
// named, and neither fetched nor included.
func (c *call) paragraphs(parts []part) (texts []string, data int) {
	files := 0
	for _, p := range parts {
		switch {
		case p.Text != "":
			texts = append(texts, p.Text)
		case p.Data != nil:
			if raw, err := core.Canonical(p.Data); err == nil {
				texts, data = append(texts, string(raw)), data+1
			}
		case p.URL != nil || p.Raw != nil:
			if files++; files <= mostFiles {
				texts = append(texts, c.file(p))
			}
		}
	}
	if files > mostFiles {
		texts = append(texts, fmt.Sprintf("[and %d more files]", files-mostFiles))
	}
	return texts, data
}

// file names a file.
func (c *call) file(p part) string {
	name := cmp.Or(c.line(p.Name, mostWord), "without a name")
	if p.Media != "" {
		name += " (" + c.line(p.Media, mostWord) + ")"
	}
	if p.URL != nil {
		return "[a file of the agent, which was not fetched: " + name + " at " + c.line(*p.URL, mostURL) + "]"
	}
	return "[a file of the agent, which is not included: " + name + "]"
}

// failed is the report of a request with a final answer that is no success. The agent may be
// working on the task all the same: because of this request, if its answer can't be read, or of an
// earlier one.
func (c *call) failed(f *fault) peer.Report {
	earlier := c.request.Again || c.request.Task.ID != ""
	open := f.kind == refused && earlier || f.kind == unreadable && (earlier || c.posted)
	return peer.Report{State: peer.Failed, Task: c.task, Code: f.code(), Detail: c.says(f.why), Open: open && !f.ended}
}

// says is a sentence about the agent. What it quotes of the agent at its end may be one already.
func (c *call) says(why string) string {
	why = strings.TrimSpace(why)
	if last, _ := utf8.DecodeLastRuneInString(why); !unicode.Is(unicode.Sentence_Terminal, last) {
		why += "."
	}
	return c.line("The agent at "+c.home.Host+" "+why, mostDetail)
}

// hide returns text of the agent in a form that can be stored and shown.
func (c *call) hide(text string) string {
	return c.values.Redact(strings.ToValidUTF8(text, "\uFFFD"))
}

// line returns the beginning of a text on one line. Secrets are hidden before anything is escaped,
// because an escape within one would make it unrecognizable. An agent may send a long text for each
// look, so only the part that can become the line is searched for them.
func (c *call) line(text string, most int) string {
	const mark, shorter = "...", 16
	text = remote.Beginning(c.values, strings.ToValidUTF8(text, "\uFFFD"), shorter*most, mark)
	text = printable.Text(strings.Join(strings.Fields(text), " "))
	return clip.Bytes(remote.Beginning(c.values, text, most-len(mark), mark), most, "")
}
