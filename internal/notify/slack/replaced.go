package slack

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/notify"
)

// replaced takes the buttons from the message about a question that another has replaced. It is
// called before the new question is posted, and repeating it does no harm.
func (a *App) replaced(ctx context.Context, to notice.Target, key notice.Posted, n client.Notice, s notify.Summary) delivery.Result {
	key.Suspension = replacedBy(n.Event)
	if key.Suspension == "" {
		return delivery.Result{Outcome: notice.Delivered}
	}
	posted, err := a.o.Messages.Posted(ctx, key)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return delivery.Result{Outcome: notice.Delivered}
	case err != nil:
		return refused("which message asks could not be read")
	}
	m := compose(notify.Summary{Title: strings.TrimSuffix("Replaced by a newer question: "+posted.Tool, ": "), Facts: s.Facts})
	_, failed := a.call(ctx, to.Slack.Token, "chat.update", post{message: m, Channel: posted.Channel, TS: posted.TS})
	return failed.result()
}

// replacedBy returns the suspension that the one of an event replaces, or "": another group is
// asked, the next stage is, or people are asked about edited arguments.
func replacedBy(e client.Event) string {
	var call client.Pending
	if e.Type != client.EventCallSuspended || json.Unmarshal(e.Data, &call) != nil {
		return ""
	}
	return call.Follows
}
