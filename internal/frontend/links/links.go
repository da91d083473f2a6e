package links

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

const (
	mostLinks     = 500 // records kept for one run
	mostRecipient = 120 // characters of a recipient
)

// LinkOrder is what a caller asks of a new link. Fingerprint and Name are those of the token it is
// made with.
type LinkOrder struct {
	Target, For       string
	Name, Fingerprint string
	Life              time.Duration
	Edit              bool
	Require           string // see [engine.RequireToken]
}

// mail is the address that one-time codes are sent to.
func (o LinkOrder) mail() string {
	if o.Require == engine.RequireCode {
		return o.For
	}
	return ""
}

// MakeLink records an approval link for one recipient and one suspension that waits for an
// approval. The record is stored before the link can be signed, so every link that was ever handed
// out is listed. A link whose recipient could only deny is refused with
// [refusal.CodeNotAnApprover] or [refusal.CodeSeparationOfDuties].
func (f *Maker) MakeLink(ctx context.Context, c frontend.Caller, run string, o LinkOrder) (engine.Link, error) {
	if err := checkRecipient(o.For); err != nil {
		return engine.Link{}, err
	}
	p, err := f.Addressed(ctx, c, run, o.Target)
	if err != nil {
		return engine.Link{}, err
	}
	run = p.Record.Run
	call, err := f.Target(ctx, p, o.Target)
	if err != nil {
		return engine.Link{}, err
	}
	if err := f.CanLink(p, call); err != nil {
		return engine.Link{}, err
	}
	if err := f.Family.Awaited(ctx, p); err != nil {
		return engine.Link{}, err
	}
	if o.Edit {
		if err := frontend.CanEdit(call); err != nil {
			return engine.Link{}, err
		}
	}
	if err := f.roomForLink(ctx, c, run); err != nil {
		return engine.Link{}, err
	}
	now := f.Now()
	l := engine.Link{Tenant: c.Tenant, Run: run, ID: f.linkID(now), Suspension: call.Suspension.ID, Call: call.CallID, Tool: call.ToolName, For: o.For,
		Edit: o.Edit, Require: o.Require, Mail: o.mail(), Maker: o.Name, Fingerprint: o.Fingerprint, Made: now, Expires: now + o.Life.Milliseconds(), Deadline: call.Deadline}
	if err := f.couldApprove(ctx, l, p, call); err != nil {
		return engine.Link{}, err
	}
	_, err = storecall.Try(ctx, f.Clock, func() (struct{}, error) { return struct{}{}, f.LinkStore.PutLink(ctx, l) })
	return l, err
}

// couldApprove refuses a link whose recipient could only deny, with the reason for which a yes
// would be refused. A link that requires a token or a sign-in isn't checked, because its approver
// is known only then. The recipient of a code is known.
func (f *Maker) couldApprove(ctx context.Context, l engine.Link, p journal.Place, call core.SuspendedCall) error {
	if l.Require == engine.RequireToken || l.Require == engine.RequireSignIn {
		return nil
	}
	err := f.MayApprove(ctx, frontend.LinkCaller(l), p, call, core.Resume{Action: core.ActionResume})
	if e, ok := errors.AsType[*refusal.Error](err); ok {
		return refusal.New(e.Code, "a link that you create for %s could only deny: %s", l.For, e.Detail)
	}
	return err
}

// OnlyDenies returns why the caller of a link could only deny its call at this moment; empty if the
// caller could approve it.
func (f *Maker) OnlyDenies(ctx context.Context, c frontend.Caller) (why string, err error) {
	p, err := f.Find(ctx, c.Tenant, c.Link.Run)
	if err != nil {
		return "", err
	}
	call, err := f.Target(ctx, p, c.Link.Suspension)
	if err != nil {
		return "", err
	}
	err = f.MayApprove(ctx, c, p, call, core.Resume{Action: core.ActionResume})
	if e, ok := errors.AsType[*refusal.Error](err); ok && (e.Code == refusal.CodeNotAnApprover || e.Code == refusal.CodeSeparationOfDuties) {
		return e.Detail, nil
	}
	return "", err
}

// linkID begins with the time, so that ids in order are links in order.
func (f *Maker) linkID(now int64) string {
	return fmt.Sprintf("lnk_%011x%s", now, f.Random.Text(16))
}

func checkRecipient(name string) error {
	switch {
	case name == "":
		return refusal.New(refusal.CodeInvalid, "for is missing; name the person or address that the link is sent to")
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > mostRecipient:
		return refusal.New(refusal.CodeInvalid, "for must be a name or an address of at most %d characters", mostRecipient)
	case name != strings.TrimSpace(name) || printable.Text(name) != name:
		return refusal.New(refusal.CodeInvalid, "for has invisible characters; write a plain name or address")
	}
	return nil
}

func (f *Maker) roomForLink(ctx context.Context, c frontend.Caller, run string) error {
	links, err := f.listLinks(ctx, c, run)
	if err == nil && len(links) >= mostLinks {
		err = refusal.New(refusal.CodeTooManyLinks, "the run has %d links, which is the limit; their records are kept for 30 days after they expire", len(links))
	}
	return err
}

func (f *Maker) listLinks(ctx context.Context, c frontend.Caller, run string) ([]engine.Link, error) {
	return storecall.Try(ctx, f.Clock, func() ([]engine.Link, error) { return f.LinkStore.Links(ctx, c.Tenant, run) })
}

// Links lists the links that were made for a run, oldest first. None of them can be used by who
// reads it.
func (f *Maker) Links(ctx context.Context, c frontend.Caller, run string) (wire.Page[wire.Link], error) {
	page := wire.Page[wire.Link]{Items: []wire.Link{}}
	if _, err := f.Find(ctx, c.Tenant, run); err != nil {
		return page, err
	}
	links, err := f.listLinks(ctx, c, run)
	for _, l := range links {
		page.Items = append(page.Items, frontend.ShowLink(l))
	}
	return page, err
}

// RevokeLink ends a link before its time. Revoking it again changes nothing.
func (f *Maker) RevokeLink(ctx context.Context, c frontend.Caller, run, id string) (wire.Link, error) {
	if _, err := f.Find(ctx, c.Tenant, run); err != nil {
		return wire.Link{}, err
	}
	if len(id) > journal.MaxID {
		return wire.Link{}, frontend.LinkNotFound()
	}
	l, err := storecall.Try(ctx, f.Clock, func() (engine.Link, error) { return f.LinkStore.RevokeLink(ctx, c.Tenant, run, id, f.Now(), c.By) })
	if errors.Is(err, engine.ErrNotFound) {
		return wire.Link{}, frontend.LinkNotFound()
	}
	return frontend.ShowLink(l), err
}
