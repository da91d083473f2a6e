package protocols

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/pushes"
)

// Pushes are the endpoints for push notifications of tasks. Its contracts are those of
// [pushes.Desk].
type Pushes interface {
	Put(ctx context.Context, c frontend.Caller, agent, group string, one notice.Push) error
	Create(ctx context.Context, c frontend.Caller, run string, one notice.Push) error
	List(ctx context.Context, c frontend.Caller, run string) ([]notice.Push, error)
	Delete(ctx context.Context, c frontend.Caller, run, id string) error
}

func noPush() error {
	return sdk.NewError(sdk.ErrPushNotificationNotSupported, "this server sends no push notifications of A2A; subscribe to the task, or get it from time to time")
}

// CreateTaskPushConfig implements [a2asrv.RequestHandler].
func (h *a2aRequest) CreateTaskPushConfig(context.Context, *sdk.PushConfig) (*sdk.PushConfig, error) {
	one, task, err := h.readPush(h.params)
	if err != nil {
		return nil, h.refused(err)
	}
	run, err := h.pushedTask(task, access.Start)
	if err == nil {
		err = h.addPush(run, one)
	}
	if err != nil {
		return nil, h.refused(err)
	}
	return pushConfig(run, pushes.Shown(*one)), nil
}

// GetTaskPushConfig implements [a2asrv.RequestHandler].
func (h *a2aRequest) GetTaskPushConfig(_ context.Context, req *sdk.GetTaskPushConfigRequest) (*sdk.PushConfig, error) {
	all, err := h.listPushes(req.TaskID)
	if err != nil {
		return nil, h.refused(err)
	}
	for _, one := range all {
		if one.ID == req.ID {
			return one, nil
		}
	}
	return nil, sdk.NewError(sdk.ErrTaskNotFound, "the task has no push notification configuration with this id")
}

// ListTaskPushConfigs implements [a2asrv.RequestHandler]. A task has few, so they are one page.
func (h *a2aRequest) ListTaskPushConfigs(_ context.Context, req *sdk.ListTaskPushConfigRequest) (*sdk.ListTaskPushConfigResponse, error) {
	if req.PageToken != "" {
		return nil, invalid("pageToken is not from this list, which has one page")
	}
	all, err := h.listPushes(req.TaskID)
	if err != nil {
		return nil, h.refused(err)
	}
	return &sdk.ListTaskPushConfigResponse{Configs: all}, nil
}

// DeleteTaskPushConfig implements [a2asrv.RequestHandler].
func (h *a2aRequest) DeleteTaskPushConfig(_ context.Context, req *sdk.DeleteTaskPushConfigRequest) error {
	run, err := h.pushedTask(req.TaskID, access.Start)
	if err == nil {
		err = h.d.Pushes.Delete(h.v.Context(), h.v.Caller(), run.ID, req.ID)
	}
	return h.refused(noGroup(err))
}

func (h *a2aRequest) listPushes(task sdk.TaskID) ([]*sdk.PushConfig, error) {
	run, err := h.pushedTask(task, access.Read)
	if err != nil {
		return nil, err
	}
	all, err := h.d.Pushes.List(h.v.Context(), h.v.Caller(), run.ID)
	shown := make([]*sdk.PushConfig, len(all))
	for i, one := range all {
		shown[i] = pushConfig(run, one)
	}
	return shown, noGroup(err)
}

// pushedTask is a task whose endpoints the caller may see or change.
func (h *a2aRequest) pushedTask(task sdk.TaskID, role access.Role) (wire.Run, error) {
	if h.d.Pushes == nil {
		return wire.Run{}, noPush()
	}
	if err := h.v.May(role); err != nil {
		return wire.Run{}, err
	}
	return h.task(task, 0)
}

func (h *a2aRequest) addPush(run wire.Run, one *notice.Push) error {
	one.Context = h.context(run)
	return noGroup(h.d.Pushes.Create(h.v.Context(), h.v.Caller(), run.ID, *one))
}

// noGroup words that a run is no task of A2A.
func noGroup(err error) error {
	if errors.Is(err, pushes.ErrNoGroup) {
		return sdk.NewError(sdk.ErrPushNotificationNotSupported, "only a task that was begun over A2A, by a message to the agent, has push notifications; subscribe to this one")
	}
	return err
}

// readPush reads a configuration; nil if there is none. Without an id it has one that follows from
// what it says, so that a repeat is no second one. Only a caller who may add webhooks may name a
// private address, and the operator has to allow it.
func (h *a2aRequest) readPush(raw json.RawMessage) (one *notice.Push, task sdk.TaskID, err error) {
	if core.IsNull(raw) {
		return nil, "", nil
	}
	if h.d.Pushes == nil {
		return nil, "", noPush()
	}
	var c sdk.PushConfig
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, "", invalid("the push notification configuration can't be read: %v", err)
	}
	one = &notice.Push{ID: c.ID, URL: c.URL, Token: c.Token, By: h.v.Caller().By, AllowPrivate: h.v.May(access.Webhooks) == nil}
	if c.Auth != nil {
		one.Scheme, one.Credentials = c.Auth.Scheme, c.Auth.Credentials
	}
	one.ID = cmp.Or(one.ID, "push_"+short(strings.Join([]string{one.URL, one.Token, one.Scheme, one.Credentials}, "\x00")))
	return one, c.TaskID, pushes.Check(*one)
}

// short is a digest that is safe in an id.
func short(text string) string { return core.Digest([]byte(text))[:32] }

// group names the endpoints of the task that a message begins. A repeat has the same.
func (h *a2aRequest) group(req wire.StartRequest) string {
	if h.d.Pushes == nil {
		return ""
	}
	thread := req.ThreadID
	if req.ThreadKey != "" {
		thread = h.keyed(req.ThreadKey)
	}
	return "tg_" + short(thread+"\x00"+req.MessageID)
}

// pushConfig is an endpoint as its client may see it.
func pushConfig(run wire.Run, p notice.Push) *sdk.PushConfig {
	c := &sdk.PushConfig{TaskID: sdk.TaskID(run.ID), ID: p.ID, URL: p.URL}
	if p.Scheme != "" {
		c.Auth = &sdk.PushAuthInfo{Scheme: p.Scheme}
	}
	return c
}
