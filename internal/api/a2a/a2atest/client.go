// Package a2atest holds streams of tasks against what clients of A2A demand.
package a2atest

import (
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Client does what a client does with the updates of one stream, and refuses what a client would
// refuse.
type Client struct {
	Task *sdk.Task
}

// Take takes the next update, as it is on the wire.
func (c *Client) Take(sent sdk.Event) error {
	raw := core.Encode(sdk.StreamResponse{Event: sent})
	if err := c.take(raw); err != nil {
		return fmt.Errorf("%s: %w", raw, err)
	}
	return nil
}

func (c *Client) take(raw json.RawMessage) error {
	var got sdk.StreamResponse
	if err := json.Unmarshal(raw, &got); err != nil {
		return err
	}
	first, isTask := got.Event.(*sdk.Task)
	switch {
	case isTask && c.Task != nil:
		return errors.New("the task comes a second time")
	case !isTask && c.Task == nil:
		return errors.New("it comes before the task")
	case isTask:
		c.Task = first
		return c.check()
	case c.Task.Status.State.Terminal():
		return errors.New("it comes after the end")
	case got.TaskInfo() != c.Task.TaskInfo():
		return errors.New("it is about another task")
	}
	switch update := got.Event.(type) {
	case *sdk.TaskStatusUpdateEvent:
		c.Task.Status = update.Status
	case *sdk.TaskArtifactUpdateEvent:
		if err := c.artifact(update); err != nil {
			return err
		}
	default:
		return fmt.Errorf("it is a %T", got.Event)
	}
	return c.check()
}

func (c *Client) artifact(update *sdk.TaskArtifactUpdateEvent) error {
	a := update.Artifact
	there := len(c.Task.Artifacts) == 1
	switch {
	case a.ID != "output" || len(a.Parts) != 1:
		return errors.New("it isn't one part of the output")
	case !update.Append:
		c.Task.Artifacts = []*sdk.Artifact{a}
	case !there || c.Task.Artifacts[0].Parts[0].Content == sdk.PartContent(nil):
		return errors.New("there is nothing to append it to")
	default:
		c.Task.Artifacts[0].Parts[0] = sdk.NewTextPart(c.Task.Artifacts[0].Parts[0].Text() + a.Parts[0].Text())
	}
	return nil
}

// check holds the task against the protocol.
func (c *Client) check() error {
	t := c.Task
	asks := t.Status.State == sdk.TaskStateInputRequired
	switch {
	case t.ID == "" || t.ContextID == "" || t.Status.Timestamp == nil:
		return errors.New("the task has no id, context or time")
	case asks && t.Status.Message == nil:
		return errors.New("the task asks nothing")
	}
	for _, m := range append(t.History[:len(t.History):len(t.History)], t.Status.Message) {
		if m != nil && (m.ID == "" || m.TaskID != t.ID || m.ContextID != t.ContextID || len(m.Parts) == 0) {
			return fmt.Errorf("message %q has no id or parts, or is of another task", m.ID)
		}
	}
	return nil
}
