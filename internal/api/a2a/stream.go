package a2a

import (
	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// View is the part of a run that one stream shows: the task as it is after some event, and what
// changes from there. All events of the run are pushed to the stream; those before only tell what
// the task is.
type View struct {
	Context string // as the client calls it; empty: the thread
	After   int64  // the event that the run had reached when the client asked
	Message string // the id of a message that the request has sent

	// Hold are suspensions that the request has answered. The task is shown once the run has
	// taken the answers: before, it would still ask.
	Hold []string

	// Follow: the client waits for what others do. If the run rests when the stream begins, the
	// stream goes on until it rests again.
	Follow bool

	// Recall reads the files of the run's messages, which its events lack here; nil: they
	// aren't shown.
	Recall func() (*project.Files, error)
}

// Stream turns the events of a run, in their order, into a task and its updates.
type Stream struct {
	view  View
	fold  *Fold
	text  speech
	shown bool           // the task was sent
	told  sdk.TaskStatus // the newest that was sent
	moved bool           // an update was sent
	over  bool
}

// NewStream begins the stream of a view.
func NewStream(v View) *Stream { return &Stream{view: v, fold: NewFold(v.Context)} }

// Over says that nothing more is to be sent.
func (s *Stream) Over() bool { return s.over }

// Push takes the next event, committed or live, and returns what is to be sent.
func (s *Stream) Push(e wire.Event) (out []sdk.Event, err error) {
	if s.over {
		return nil, nil
	}
	live := isLive(e)
	if !live {
		if err := s.fold.Push(e); err != nil {
			return nil, err
		}
	}
	ended := false
	if len(e.Path) == 0 { // what runs below say is not the output
		if ended, err = s.text.push(e); err != nil {
			return nil, err
		}
	}
	if !s.shown {
		if s.holds() || s.fold.Seq == 0 || !live && s.fold.Seq < s.view.After {
			return nil, nil
		}
		shown, err := s.show()
		if err != nil {
			return nil, err
		}
		out = append(out, shown)
	}
	updates := s.updates(ended)
	s.moved = s.moved || len(updates) > 0
	return append(out, updates...), nil
}

// Rest says that every committed event was pushed, and that the run does nothing until someone
// acts.
func (s *Stream) Rest() (out []sdk.Event) {
	if s.over {
		return nil
	}
	if !s.shown {
		shown, err := s.show()
		if err != nil {
			shown = s.shows(&project.Files{}) // there is no later word to wait for
		}
		out = append(out, shown)
	}
	to := s.fold.task.Status
	if asked := s.fold.waiting(); asked.State == sdk.TaskStateInputRequired && !to.State.Terminal() {
		to = asked
	}
	if to.State == sdk.TaskStateWorking {
		// the one that asks is another run, whose events aren't known here
		to.State = sdk.TaskStateInputRequired
		to.Message = agentSays(&s.fold.task, string(s.fold.task.ID)+".below", sdk.NewTextPart("A run that this task has started waits for an answer. Get the task to see its questions."))
	}
	news := s.tell(to)
	s.over = s.over || !s.view.Follow || s.moved || len(news) > 0
	return append(out, news...)
}

// isLive says whether the event is part of no journal.
func isLive(e wire.Event) bool {
	switch core.EventType(e.Type) {
	case core.EventTextDelta, core.EventReasoningDelta, core.EventCallProgress:
		return true
	}
	return false
}

// holds says whether the run has yet to take what the request has sent.
func (s *Stream) holds() bool {
	if s.view.Message != "" && !s.fold.Heard(s.view.Message) {
		return true
	}
	for _, id := range s.view.Hold {
		if q := s.fold.run.Question(id); q != nil && q.Unsettled() {
			return true
		}
	}
	return false
}

// show is the task as it is now.
func (s *Stream) show() (sdk.Event, error) {
	files := &project.Files{}
	if len(s.fold.sent) > 0 && s.view.Recall != nil {
		var err error
		if files, err = s.view.Recall(); err != nil {
			return nil, err
		}
	}
	return s.shows(files), nil
}

func (s *Stream) shows(files *project.Files) sdk.Event {
	t := s.fold.snapshot(files)
	s.shown, s.told = true, t.Status
	s.over = t.Status.State.Terminal()
	return t
}

// updates are what has changed since the last of them. That the run asks is left to Rest: an answer
// may be committed already. ended: a text of the model is complete.
func (s *Stream) updates(ended bool) (out []sdk.Event) {
	if s.over {
		return nil
	}
	to := s.fold.task.Status
	if to.State.Terminal() {
		s.over = true
		return append(s.final(), s.tell(to)...)
	}
	if to.State != sdk.TaskStateInputRequired {
		out = s.tell(to)
	}
	if a := s.text.chunk(ended); a != nil {
		out = append(out, s.artifact(a, s.text.goesOn, ended))
	}
	return out
}

// tell sends a status, unless the client has it.
func (s *Stream) tell(to sdk.TaskStatus) []sdk.Event {
	if to.State == s.told.State && idOf(to.Message) == idOf(s.told.Message) {
		return nil
	}
	s.told = to
	e := &sdk.TaskStatusUpdateEvent{TaskID: s.fold.task.ID, ContextID: s.fold.task.ContextID, Status: to}
	if to.State.Terminal() {
		e.Metadata = s.fold.task.Metadata
	}
	return []sdk.Event{e}
}

func idOf(m *sdk.Message) string {
	if m == nil {
		return ""
	}
	return m.ID
}

// final sends the output, if it isn't what the client has. Text of an earlier step is not the
// output of a run that completed without any.
func (s *Stream) final() []sdk.Event {
	of := s.fold.task.Artifacts
	switch {
	case len(of) == 1 && s.text.sent != "" && of[0].Parts[0].Text() == s.text.sent:
		return nil
	case len(of) == 1:
		return []sdk.Event{s.artifact(of[0], false, true)}
	case s.text.sent != "" && s.fold.task.Status.State == sdk.TaskStateCompleted:
		return []sdk.Event{s.artifact(output(sdk.NewTextPart("")), false, true)}
	}
	return nil
}

func (s *Stream) artifact(a *sdk.Artifact, goesOn, last bool) sdk.Event {
	return &sdk.TaskArtifactUpdateEvent{TaskID: s.fold.task.ID, ContextID: s.fold.task.ContextID, Artifact: a, Append: goesOn, LastChunk: last}
}
