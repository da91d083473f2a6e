package a2a

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Task is the task of a run as it is now, without its history. in is the context as its client
// calls it.
func Task(run wire.Run, in string) *sdk.Task {
	t := &sdk.Task{ID: sdk.TaskID(run.ID), ContextID: cmp.Or(in, run.ThreadID), Metadata: about(About{Thread: run.ThreadID})}
	switch run.Status {
	case core.RunCreated.String():
		t.Status = status(sdk.TaskStateSubmitted, run.UpdatedAt)
	case core.RunDone.String():
		ended(t, endOf(run), run.UpdatedAt)
	case core.RunWaiting.String():
		t.Status = waiting(t, run.Pending, run.UpdatedAt)
	default:
		t.Status = status(sdk.TaskStateWorking, run.UpdatedAt)
	}
	return t
}

// About is what the metadata of a task, under the name "dormouse", says of its run.
type About struct {
	Thread        string `json:"threadId,omitempty"`
	Reason        string `json:"reason,omitempty"`
	Code          string `json:"code,omitempty"`
	Detail        string `json:"detail,omitempty"`
	ResponseState string `json:"responseState,omitempty"`
}

func about(a About) map[string]any { return map[string]any{"dormouse": a} }

// end is how a run ended.
type end struct {
	About
	output json.RawMessage
}

func endOf(run wire.Run) end {
	e := end{output: run.Output, About: About{Thread: run.ThreadID, Code: run.Code, Detail: run.Detail}}
	if run.Reason != nil {
		e.Reason = *run.Reason
	}
	if run.ResponseState != nil {
		e.ResponseState = *run.ResponseState
	}
	if run.Error != nil {
		e.Code, e.Detail = run.Error.Code, run.Error.Detail
	}
	return e
}

// States are the states of tasks whose runs are done.
var States = map[string]sdk.TaskState{
	core.NaturalEnd.String():        sdk.TaskStateCompleted,
	core.BehaviorRequested.String(): sdk.TaskStateCompleted,
	core.Failed.String():            sdk.TaskStateFailed,
	core.Stopped.String():           sdk.TaskStateFailed,
	core.Blocked.String():           sdk.TaskStateRejected,
	core.Cancelled.String():         sdk.TaskStateCanceled,
}

// ended is what the end of the run does to the task.
func ended(t *sdk.Task, e end, at wire.Time) {
	t.Status = status(States[e.Reason], at)
	t.Metadata = about(e.About)
	if t.Status.State != sdk.TaskStateCompleted {
		t.Status.Message = agentSays(t, string(t.ID)+".end", sdk.NewTextPart(project.Ending(e.Reason, e.Code, e.Detail)))
	}
	if part := outputPart(e.output); part != nil {
		t.Artifacts = []*sdk.Artifact{output(part)}
	}
}

// output is the one artifact of a task. A later one takes the place of an earlier one.
func output(parts ...*sdk.Part) *sdk.Artifact {
	return &sdk.Artifact{ID: "output", Name: "output", Parts: parts}
}

// outputPart is the output of a run: a text, or a JSON value; nil if it has none.
func outputPart(raw json.RawMessage) *sdk.Part {
	if core.IsNull(raw) {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return sdk.NewTextPart(text)
	}
	p := sdk.NewDataPart(raw)
	p.MediaType = mediaJSON
	return p
}

// Question is the data part of one open question.
type Question struct {
	ID             string          `json:"decisionId"`
	Kind           string          `json:"kind"`
	Tool           string          `json:"toolName,omitempty"`
	Input          json.RawMessage `json:"input,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	Message        string          `json:"message,omitempty"`
	Preview        string          `json:"preview,omitempty"`
	Warnings       []wire.Warning  `json:"warnings,omitempty"`
	Deadline       *wire.Time      `json:"deadline,omitempty"`
	Agent          string          `json:"agent,omitempty"` // that asks, if it is one below
	Fingerprint    string          `json:"fingerprint,omitempty"`
}

func question(p wire.Pending) Question {
	q := Question{ID: p.Suspension.ID, Kind: p.Kind, Tool: p.ToolName, Input: p.Arguments, ResponseSchema: p.Suspension.ResponseSchema,
		Message: p.Suspension.Message, Warnings: p.Warnings, Deadline: p.Deadline, Fingerprint: p.Fingerprint}
	if p.Preview != nil {
		q.Preview = p.Preview.Text
	}
	if len(p.Path) > 0 {
		q.Agent = p.Path[len(p.Path)-1].Agent
	}
	return q
}

// line is the question for people whose client shows texts only.
func (q Question) line() string {
	text := cmp.Or(map[string]string{
		core.KindApproval.String():       "Approval needed",
		core.KindClient.String():         "The client must run",
		core.KindInput.String():          "Answer needed",
		core.KindUnknownOutcome.String(): "Find out whether it took effect",
		core.KindInterrupt.String():      "The run is interrupted",
	}[q.Kind], q.Kind)
	if q.Tool != "" {
		text += ": " + q.Tool
		if !core.IsNull(q.Input) {
			text += " " + string(q.Input)
		}
	}
	if q.Message != "" {
		text += ". " + q.Message
	}
	return text
}

// waiting is the status of a run that waits. One whose work other runs do is at work.
func waiting(t *sdk.Task, pending []wire.Pending, at wire.Time) sdk.TaskStatus {
	var lines, ids []string
	var data []*sdk.Part
	for _, p := range pending {
		if p.Kind == core.KindChild.String() {
			continue
		}
		q := question(p)
		part := sdk.NewDataPart(q)
		part.MediaType = mediaJSON
		lines, ids, data = append(lines, q.line()), append(ids, q.ID), append(data, part)
	}
	if len(data) == 0 {
		return status(sdk.TaskStateWorking, at)
	}
	s := status(sdk.TaskStateInputRequired, at)
	// the same questions are the same message, each time they are shown
	id := "ask_" + core.Digest([]byte(strings.Join(ids, " ")))[:24]
	s.Message = agentSays(t, id, append([]*sdk.Part{sdk.NewTextPart(strings.Join(lines, "\n"))}, data...)...)
	s.Message.Extensions = []string{Decisions}
	return s
}

func status(state sdk.TaskState, at wire.Time) sdk.TaskStatus {
	s := sdk.TaskStatus{State: state}
	if !at.IsZero() {
		utc := at.UTC().Truncate(time.Millisecond)
		s.Timestamp = &utc
	}
	return s
}

func agentSays(t *sdk.Task, id string, parts ...*sdk.Part) *sdk.Message {
	return &sdk.Message{ID: id, ContextID: t.ContextID, TaskID: t.ID, Role: sdk.MessageRoleAgent, Parts: parts}
}
