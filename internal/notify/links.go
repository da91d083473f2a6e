package notify

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/links"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Links says how links are signed. Without keys or a public URL, notices have no links, because a
// path alone is useless in a mail or a chat.
type Links struct {
	// Keys returns the keys of the API that serves the links.
	Keys   func(context.Context) (access.LinkKeys, error)
	Public access.PublicURL
	Life   time.Duration // how long a link works at most; 7 days if zero
	Codes  bool          // the API can send one-time codes
}

// linker makes the links of notices.
type linker struct {
	Links
	maker *links.Maker
}

func newLinker(f *frontend.Frontend, l Links) *linker {
	if l.Life == 0 {
		l.Life = 7 * 24 * time.Hour
	}
	return &linker{l, links.New(f)}
}

// of returns the links for a call, or nil if no link can answer it. Endpoints that the start of a
// run names get no links, because a caller who may only start runs could use them to approve calls.
// Sinks get no links, because a rule or a subscription may pass them on to anyone.
func (l *linker) of(ctx context.Context, c frontend.Caller, n delivery.Notice, to notice.Target, a *client.Approval) (*client.NoticeLinks, error) {
	if a == nil || l.Keys == nil || l.Public.String() == "" || notice.OfRun(n.Endpoint) || notice.OfPush(n.Endpoint) || notice.OfSink(n.Endpoint) {
		return nil, nil
	}
	code := ""
	if to.Require == notice.RequireCode && len(to.Mail) == 1 {
		code = to.Mail[0]
	}
	if to.Require != "" && (code == "" || !l.Codes) {
		return nil, nil // a link without the code would be too weak
	}
	address := ""
	if notice.OfTenant(n.Endpoint) {
		address = to.Address()
	}
	record, approve, err := l.maker.EndpointLink(ctx, c, links.EndpointOrder{Run: a.RunID, Suspension: a.Suspension.ID, Since: a.Since.UnixMilli(),
		At: n.Event.At, Endpoint: n.Endpoint, For: recipient(n.Endpoint, to), Address: address, Code: code, Life: l.Life})
	if e, refused := errors.AsType[*refusal.Error](err); refused && !errors.Is(e, engine.ErrUnavailable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := l.Keys(ctx)
	if err != nil {
		return nil, errors.Join(engine.ErrUnavailable, err)
	}
	show := l.Public.To(access.LinkPath + keys.Sign(access.Link{ID: record.ID, Tenant: record.Tenant, Run: record.Run,
		Suspension: record.Suspension, Expires: time.UnixMilli(record.Expires)}))
	made := &client.NoticeLinks{Show: show, Deny: show + "?answer=deny", ExpiresAt: wire.Millis(record.Ends())}
	if approve && a.Kind == core.KindApproval.String() { // answers of other kinds need a form
		made.Approve = show + "?answer=approve"
	}
	return made, nil
}

// mostRecipient is how many bytes a link's record has for its recipient.
const mostRecipient = 120

// recipient names whom a link is for, in its record and in the decision. A caller chooses the name
// and the addresses of a tenant's webhook, so they don't count: with them, the webhook could pass
// for a target of the agent's file.
func recipient(endpoint string, to notice.Target) string {
	switch {
	case notice.OfTenant(endpoint):
		return "webhook " + endpoint
	case len(to.Mail) == 0:
		return "webhook " + to.Name
	}
	all := strings.Join(to.Mail, ", ")
	if len(all) > mostRecipient {
		return "mail " + to.Name
	}
	return all
}
