package links

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// mostEndpointLinks is how many of a run's links the server makes, so that callers can make some
// too.
const mostEndpointLinks = mostLinks * 4 / 5

// EndpointOrder asks for the link that an endpoint is sent with a notice.
type EndpointOrder struct {
	Run, Suspension string
	Since           int64 // when the call began to wait
	At              int64 // of the event that the notice is about
	Endpoint, For   string
	Address         string // digest of where the notice goes; empty where that can't change
	Code            string // the address for one-time codes; empty: the link asks for none
	Life            time.Duration
}

// EndpointLink returns the link for an endpoint. However often a notice is sent, it is the same
// one: its id and times follow from the order, and notices about one suspension share a link for
// half of its life.
//
//	since          life/2           life
//	├── the first link ─────────────┤
//	                ├── the second ─────────────┤
//
// approve is false if its bearer could only deny. The error is a [*refusal.Error] if the call needs
// no link any more, or the link was revoked or has expired.
func (f *Maker) EndpointLink(ctx context.Context, c frontend.Caller, o EndpointOrder) (l engine.Link, approve bool, err error) {
	p, err := f.Find(ctx, c.Tenant, o.Run)
	if err != nil {
		return l, false, err
	}
	call, err := f.Target(ctx, p, o.Suspension)
	if err != nil {
		return l, false, err
	}
	if err := f.CanLink(p, call); err != nil {
		return l, false, err
	}
	l = o.link(c.Tenant, call)
	if l.Ends() <= f.Now() {
		return l, false, refusal.New(refusal.CodeNotSuspended, "the link of this notice has expired")
	}
	if err := f.keepEndpointLink(ctx, c, l); err != nil {
		return l, false, err
	}
	err = f.MayApprove(ctx, frontend.LinkCaller(l), p, call, core.Resume{Action: core.ActionResume})
	if e, refused := errors.AsType[*refusal.Error](err); refused && (e.Code == refusal.CodeNotAnApprover || e.Code == refusal.CodeSeparationOfDuties) {
		return l, false, nil
	}
	return l, err == nil, err
}

// link is the record that every attempt makes.
func (o EndpointOrder) link(tenant string, call core.SuspendedCall) engine.Link {
	life := o.Life.Milliseconds()
	half := max(life/2, 1)
	made := o.Since + max(o.At-o.Since, 0)/half*half
	of, require := o.Suspension+"\x00"+o.Endpoint+"\x00"+fmt.Sprint(made), ""
	if o.Code != "" { // a link that asked for none, or sent codes elsewhere, is another one
		of, require = of+"\x00"+o.Code, engine.RequireCode
	}
	if o.Address != "" { // an endpoint that was pointed elsewhere gets another one
		of += "\x00at\x00" + o.Address
	}
	sum := sha256.Sum256([]byte(of))
	id := fmt.Sprintf("lnk_%011x%s", made, strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:16])
	return engine.Link{Tenant: tenant, Run: o.Run, ID: id, Suspension: call.Suspension.ID, Call: call.CallID, Tool: call.ToolName, For: o.For,
		Endpoint: o.Endpoint, Address: o.Address, Mail: o.Code, Require: require, Made: made, Expires: made + life, Deadline: call.Deadline}
}

// keepEndpointLink stores the record unless it is there.
func (f *Maker) keepEndpointLink(ctx context.Context, c frontend.Caller, l engine.Link) error {
	kept, err := f.LinkRecord(ctx, l.Tenant, l.Run, l.ID)
	switch e, refused := errors.AsType[*refusal.Error](err); {
	case err == nil && kept.Revoked > 0:
		return refusal.New(refusal.CodeNotSuspended, "the link was revoked")
	case err == nil || !refused || e.Code != refusal.CodeLinkNotFound:
		return err
	}
	there, err := f.listLinks(ctx, c, l.Run)
	if err != nil {
		return err
	}
	if len(there) >= mostEndpointLinks {
		return refusal.New(refusal.CodeTooManyLinks, "the run has %d links, so notices come without", len(there))
	}
	_, err = storecall.Try(ctx, f.Clock, func() (struct{}, error) { return struct{}{}, f.LinkStore.PutLink(ctx, l) })
	return err
}
