package a2a

import (
	"cmp"
	"slices"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Fold is the task of a run as its events tell it, in their order. Live events don't change it.
type Fold struct {
	Seq int64     // of the last event of the run itself
	at  wire.Time // of the last event

	in    string // the context as the client calls it; empty: the thread
	run   project.Run
	task  sdk.Task
	said  string // by the model in the step under way; in the history if it isn't the output
	saidA string // the message of it
	heard map[string]bool
	sent  map[*sdk.Message][]wire.Part // with files
}

// NewFold begins a fold.
func NewFold(in string) *Fold {
	return &Fold{in: in, heard: map[string]bool{}, sent: map[*sdk.Message][]wire.Part{}}
}

// Heard says whether the run has received the message with this id.
func (f *Fold) Heard(message string) bool { return f.heard[message] }

// History are the messages so far: the user's, with their files, and what the agent said between
// them. The output isn't one of them.
func (f *Fold) History(files *project.Files) []*sdk.Message {
	all := slices.Clone(f.task.History)
	for i, m := range all {
		if sent, has := f.sent[m]; has {
			whole := *m
			whole.Parts = sentParts(files.Of(m.ID, sent))
			all[i] = &whole
		}
	}
	return all
}

// snapshot is the task as it is now.
func (f *Fold) snapshot(files *project.Files) *sdk.Task {
	t := f.task
	t.History = f.History(files)
	return &t
}

// Push takes the next committed event.
func (f *Fold) Push(e wire.Event) error {
	if err := f.run.Push(e); err != nil {
		return err
	}
	f.at = e.At
	if len(e.Path) > 0 {
		return nil // what it asks, [Fold.waiting] shows
	}
	f.Seq = e.Seq
	if f.task.ID == "" {
		f.task.ID, f.task.ContextID = sdk.TaskID(e.RunID), cmp.Or(f.in, e.ThreadID)
		f.task.Metadata, f.task.Status = about(About{Thread: e.ThreadID}), status(sdk.TaskStateSubmitted, e.At)
	}
	switch core.EventType(e.Type) {
	case core.EventTurnStarted:
		f.asked(f.task.Status.Message)
		f.task.Status = status(sdk.TaskStateWorking, e.At)
	case core.EventMessageReceived:
		return f.messageReceived(e)
	case core.EventTextEnded:
		return f.textEnded(e)
	case core.EventStepStarted, core.EventCallReady:
		f.meanwhile()
	case core.EventTurnEnded:
		f.turnEnded(e)
	}
	return nil
}

// waiting is the status of the task while the run, or one below it, asks.
func (f *Fold) waiting() sdk.TaskStatus {
	asked, at := []wire.Pending(nil), f.at
	if end := f.run.Ended; end != nil {
		asked = end.Pending
	}
	for _, q := range f.run.Waiting() {
		if q.Call.Below() {
			asked = append(asked[:len(asked):len(asked)], *q.Pending)
		}
	}
	return waiting(&f.task, asked, at)
}

// asked keeps what was asked, once: the same questions may be asked again.
func (f *Fold) asked(m *sdk.Message) {
	if m != nil && !slices.ContainsFunc(f.task.History, func(earlier *sdk.Message) bool { return earlier.ID == m.ID }) {
		f.task.History = append(f.task.History, m)
	}
}

func (f *Fold) messageReceived(e wire.Event) error {
	var data wire.MessageReceivedData
	if err := e.Decode(&data); err != nil {
		return err
	}
	f.meanwhile()
	f.heard[data.MessageID] = true
	m := &sdk.Message{ID: data.MessageID, ContextID: f.task.ContextID, TaskID: f.task.ID,
		Role: sdk.MessageRoleUser, Parts: sdk.ContentParts{sdk.NewTextPart(data.Text)}}
	if data.Parts != nil {
		f.sent[m] = data.Parts
	}
	f.task.History = append(f.task.History, m)
	return nil
}

func (f *Fold) textEnded(e wire.Event) error {
	var data wire.SaidData
	if err := e.Decode(&data); err != nil {
		return err
	}
	if f.saidA != data.MessageID {
		f.meanwhile()
	}
	f.said, f.saidA = f.said+data.Text, data.MessageID
	return nil
}

// meanwhile keeps what was said before the output.
func (f *Fold) meanwhile() {
	if f.said != "" {
		f.task.History = append(f.task.History, agentSays(&f.task, f.saidA, sdk.NewTextPart(f.said)))
	}
	f.said, f.saidA = "", ""
}

func (f *Fold) turnEnded(e wire.Event) {
	data := f.run.Ended
	if data.Status != core.RunDone.String() {
		f.meanwhile()
		f.task.Status = waiting(&f.task, data.Pending, e.At)
		return
	}
	ended(&f.task, end{output: data.Output, About: About{Thread: e.ThreadID, Reason: data.Reason, Code: data.Code, Detail: data.Detail, ResponseState: data.ResponseState}}, e.At)
	if len(f.task.Artifacts) == 1 && f.task.Artifacts[0].Parts[0].Text() == f.said {
		f.said = ""
	}
	f.meanwhile()
}
