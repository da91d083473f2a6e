package frontend

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
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

const (
	mostLinks     = 500 // records kept for one run
	mostRecipient = 120 // characters of a recipient
)

// LinkOrder is what a caller asks of a new link. Fingerprint and Name are those of the token it is made with.
type LinkOrder struct {
	Target, For       string
	Name, Fingerprint string
	Life              time.Duration
}

// MakeLink records an approval link for one recipient and one suspension that waits for an approval. The record is stored before the
// link can be signed, so every link that was ever handed out is listed. A link whose recipient could only deny is refused
// with [CodeNotAnApprover] or [CodeSeparationOfDuties].
func (f *Frontend) MakeLink(ctx context.Context, c Caller, run string, o LinkOrder) (engine.Link, error) {
	if err := checkRecipient(o.For); err != nil {
		return engine.Link{}, err
	}
	p, err := f.find(ctx, c, run)
	if err != nil {
		return engine.Link{}, err
	}
	call, err := f.target(ctx, p, o.Target)
	if err != nil {
		return engine.Link{}, err
	}
	if err := f.canLink(p, call); err != nil {
		return engine.Link{}, err
	}
	if err := f.roomForLink(ctx, c, run); err != nil {
		return engine.Link{}, err
	}
	now := f.now()
	l := engine.Link{Tenant: c.Tenant, Run: run, ID: f.linkID(now), Suspension: call.Suspension.ID, Call: call.CallID, Tool: call.ToolName, For: o.For,
		Maker: o.Name, Fingerprint: o.Fingerprint, Made: now, Expires: now + o.Life.Milliseconds(), Deadline: call.Deadline}
	if err := f.couldApprove(ctx, l, p, call); err != nil {
		return engine.Link{}, err
	}
	_, err = try(ctx, f, func() (struct{}, error) { return struct{}{}, f.links.PutLink(ctx, l) })
	return l, err
}

// couldApprove refuses a link whose recipient could only deny, with the reason for which a yes would be refused.
func (f *Frontend) couldApprove(ctx context.Context, l engine.Link, p place, call core.SuspendedCall) error {
	err := f.mayApprove(ctx, LinkCaller(l), p, call, core.Resume{Action: core.ActionResume})
	if e, ok := errors.AsType[*Error](err); ok {
		return refuse(e.Code, "a link that you make for %s could only deny: %s", l.For, e.Detail)
	}
	return err
}

// linkID begins with the time, so that ids in order are links in order.
func (f *Frontend) linkID(now int64) string {
	return fmt.Sprintf("lnk_%011x%s", now, f.random.Text(16))
}

func checkRecipient(name string) error {
	switch {
	case name == "":
		return refuse(CodeInvalid, "for is missing; name the person or address that the link is sent to")
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > mostRecipient:
		return refuse(CodeInvalid, "for is a name or an address of at most %d characters", mostRecipient)
	case name != strings.TrimSpace(name) || printable.Text(name) != name:
		return refuse(CodeInvalid, "for has characters that do not show; write a plain name or address")
	}
	return nil
}

// canLink demands that the call waits for a yes or a no at this moment. Other kinds of wait are answered by programs.
func (f *Frontend) canLink(p place, call core.SuspendedCall) error {
	d := decision{call: call}
	switch {
	case call.Kind != core.KindApproval:
		return refuse(CodeWrongKind, "a link answers an approval, and the call waits for an answer of another kind")
	case f.passed(call):
		return refuse(CodeNotSuspended, "the deadline of the call has passed, so a link could not answer it any more")
	case !p.current || !d.awaits(p.head):
		return p.whyClosed(d)
	}
	return nil
}

// passed says whether the deadline of a call is over, applied or not.
func (f *Frontend) passed(call core.SuspendedCall) bool {
	return call.Deadline != 0 && call.Deadline <= f.now()
}

func (f *Frontend) roomForLink(ctx context.Context, c Caller, run string) error {
	links, err := f.listLinks(ctx, c, run)
	if err == nil && len(links) >= mostLinks {
		err = refuse(CodeTooManyLinks, "the run has %d links, which is the most; their records are kept for 30 days after they expire", len(links))
	}
	return err
}

func (f *Frontend) listLinks(ctx context.Context, c Caller, run string) ([]engine.Link, error) {
	return try(ctx, f, func() ([]engine.Link, error) { return f.links.Links(ctx, c.Tenant, run) })
}

// Links lists the links that were made for a run, oldest first. None of them can be used by who reads it.
func (f *Frontend) Links(ctx context.Context, c Caller, run string) (wire.Page[wire.Link], error) {
	page := wire.Page[wire.Link]{Items: []wire.Link{}}
	if _, err := f.find(ctx, c, run); err != nil {
		return page, err
	}
	links, err := f.listLinks(ctx, c, run)
	for _, l := range links {
		page.Items = append(page.Items, ShowLink(l))
	}
	return page, err
}

// RevokeLink ends a link before its time. Revoking it again changes nothing.
func (f *Frontend) RevokeLink(ctx context.Context, c Caller, run, id string) (wire.Link, error) {
	if _, err := f.find(ctx, c, run); err != nil {
		return wire.Link{}, err
	}
	if len(id) > maxID {
		return wire.Link{}, linkNotFound()
	}
	l, err := try(ctx, f, func() (engine.Link, error) { return f.links.RevokeLink(ctx, c.Tenant, run, id, f.now(), c.By) })
	if errors.Is(err, engine.ErrNotFound) {
		return wire.Link{}, linkNotFound()
	}
	return ShowLink(l), err
}

// LinkRecord reads the record of a link whose signature is good. [CodeLinkNotFound] if it is not there.
func (f *Frontend) LinkRecord(ctx context.Context, tenant, run, id string) (engine.Link, error) {
	l, err := try(ctx, f, func() (engine.Link, error) { return f.links.Link(ctx, tenant, run, id) })
	if errors.Is(err, engine.ErrNotFound) {
		return l, linkNotFound()
	}
	return l, err
}

func linkNotFound() *Error { return refuse(CodeLinkNotFound, "there is no such link") }

// ShowLink is a record as callers see it.
func ShowLink(l engine.Link) wire.Link {
	shown := wire.Link{ID: l.ID, RunID: l.Run, Suspension: l.Suspension, CallID: l.Call, Tool: l.Tool, For: l.For, CreatedBy: makerOf(l),
		CreatedAt: wire.Millis(l.Made), ExpiresAt: wire.Millis(l.Ends()), RevokedBy: l.RevokedBy}
	if l.Revoked > 0 {
		at := wire.Millis(l.Revoked)
		shown.RevokedAt = &at
	}
	return shown
}

// makerOf is who made the link, as a decision by it is stored with.
func makerOf(l engine.Link) string {
	if l.Maker == "" {
		return ""
	}
	return "token:" + l.Maker
}

// LinkCaller is the caller who answers by a link: its recipient, as the maker named it.
func LinkCaller(l engine.Link) Caller {
	return Caller{Tenant: l.Tenant, By: "link:" + l.For, Via: core.ViaLink, Link: &l}
}

// DecideByLink answers the suspension of the caller's link, once: the link is the name of the decision, so the same answer again is the
// same decision, and another answer, or another link, is another one.
func (f *Frontend) DecideByLink(ctx context.Context, c Caller, d wire.Decision) (wire.DecisionAnswer, error) {
	d.Target, d.DecisionID = c.Link.Suspension, c.Link.ID
	return f.Decide(ctx, c, c.Link.Run, d)
}

// noLinks is the store where no links can be made.
type noLinks struct{}

func (noLinks) PutLink(context.Context, engine.Link) error { return engine.ErrNotFound }

func (noLinks) Link(context.Context, string, string, string) (engine.Link, error) {
	return engine.Link{}, engine.ErrNotFound
}

func (noLinks) Links(context.Context, string, string) ([]engine.Link, error) { return nil, nil }

func (noLinks) RevokeLink(context.Context, string, string, string, int64, string) (engine.Link, error) {
	return engine.Link{}, engine.ErrNotFound
}
