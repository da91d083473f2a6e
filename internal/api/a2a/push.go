package a2a

import (
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Pushed is what a push notification says of a run: the update of a task that requires input, or
// the task that has ended. Nil: it works, and its client can do nothing. at is when what caused the
// notification happened; in is the context as its client calls it. cut says that the run's
// questions were left out because they are too large.
//
// The task is shown as it is now. A client that goes by the time of a status takes no older one for
// the newest, in whichever order they arrive.
func Pushed(run wire.Run, in string, at time.Time, cut bool) sdk.Event {
	t := Task(run, in)
	if t.Status.State.Terminal() {
		return t
	}
	t.Status = waiting(t, run.Pending, run.UpdatedAt)
	if cut {
		t.Status.State = sdk.TaskStateInputRequired
		t.Status.Message = agentSays(t, string(t.ID)+".cut", sdk.NewTextPart("The task asks questions that are too large for a notification. Get the task to see them."))
	}
	if t.Status.State != sdk.TaskStateInputRequired {
		return nil
	}
	if now := t.Status.Timestamp; now == nil || now.Before(at) { // a run below asks
		at = at.UTC().Truncate(time.Millisecond)
		t.Status.Timestamp = &at
	}
	return &sdk.TaskStatusUpdateEvent{TaskID: t.ID, ContextID: t.ContextID, Status: t.Status, Metadata: t.Metadata}
}

// PushBody is the body of a push notification.
func PushBody(e sdk.Event) ([]byte, error) { return core.EncodeAny(sdk.StreamResponse{Event: e}) }
