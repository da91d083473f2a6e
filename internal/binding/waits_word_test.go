package binding_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

func TestAHookIsToldOfACallThatWaitsAndAShortWaitIsStillOne(t *testing.T) {
	made := registered(t, dormouse.Hook{
		AfterToolExecute: func(_ context.Context, _ dormouse.Run, _ dormouse.ToolCall, r dormouse.Result) (string, error) {
			return fmt.Sprint(r.Waits), nil
		},
		RunStart: func(context.Context, dormouse.Run) (dormouse.Opening, error) {
			return dormouse.Opening{Wait: &dormouse.Suspend{Action: "a", Message: "m", Within: time.Nanosecond}}, nil
		},
	})
	req := engine.HookRequest{State: pad.New(core.State{})}
	for want, out := range map[string]core.Outcome{"true": {Ticket: &core.SuspendTicket{}}, "false": {}} {
		if got, err := made.(engine.AfterToolHook).AfterToolExecute(t.Context(), req, core.ToolCall{}, out); err != nil || got.Append != want {
			t.Errorf("waits %s: %+v, %v", want, got, err)
		}
	}
	opening, err := made.(engine.RunStartHook).RunStart(t.Context(), req)
	if err != nil || opening.Wait == nil || opening.Wait.Within != 1 {
		t.Errorf("%+v, %v", opening.Wait, err)
	}
}
