// Package asks answers programs that ask people: it reads their requests, and shows what became of
// an ask. The run behind it does the rest; see package ask of core.
package asks

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Limits of a request.
const (
	mostTitle     = 500       // characters
	mostArguments = 64 << 10  // bytes
	mostApprovers = 32        // entries
	longest       = 365 * day // that an ask waits
	day           = 24 * time.Hour
)

// Desk takes asks and reads them.
type Desk struct{ reads *query.Reader }

// New returns a desk on a frontend.
func New(f *frontend.Frontend) *Desk { return &Desk{query.New(f)} }

// Ask starts an ask, once for each key; isNew is false for a repeat.
func (d *Desk) Ask(ctx context.Context, c frontend.Caller, key string, req wire.AskRequest) (asked wire.Ask, isNew bool, err error) {
	a, err := read(req)
	if err != nil {
		return asked, false, err
	}
	s, err := d.reads.StartAsk(ctx, c, key, a)
	if err != nil {
		return asked, false, err
	}
	if !s.New {
		asked, err = d.showNow(ctx, c, s.Run.ID)
		return asked, false, err
	}
	asked = begun(s.Run)
	asked.Title, asked.Arguments = a.Title, a.Arguments
	return asked, true, nil
}

func read(req wire.AskRequest) (a frontend.Asked, err error) {
	a = frontend.Asked{Title: req.Title, Metadata: req.Metadata, Group: req.Group, Policy: req.Policy, Terms: ask.Terms{Approvers: req.Approvers, NotBy: req.NotBy}}
	switch {
	case strings.TrimSpace(req.Title) == "":
		return a, invalid("title is missing; send the question that a person answers")
	case utf8.RuneCountInString(req.Title) > mostTitle:
		return a, invalid("title is longer than %d characters; put details into arguments", mostTitle)
	case strings.ContainsFunc(req.Title, unicode.IsControl):
		return a, invalid("title contains control characters, such as a line break; put details into arguments")
	case req.NotBy != "" && req.NotBy != core.NotByStarter:
		return a, invalid("not_by must be %s or omitted", core.NotByStarter)
	}
	if req.Approvers != nil && req.Group+req.Policy != "" {
		return a, invalid("approvers can't be combined with group or policy; send one of them")
	}
	if err := checkApprovers(req.Approvers); err != nil {
		return a, err
	}
	if cb := req.Callback; cb != nil {
		a.Notify = []wire.NotifyTarget{{Name: "callback", URL: cb.URL, Secret: cb.Secret, On: cb.On}}
		if len(cb.On) == 0 {
			a.Notify[0].On = []string{client.NoticeDecided, client.NoticeDone}
		}
	}
	if a.Arguments, err = readArguments(req.Arguments); err != nil {
		return a, err
	}
	within, err := readDeadline(req.Deadline)
	a.Terms.Within = within.Milliseconds()
	return a, err
}

func readArguments(raw json.RawMessage) (json.RawMessage, error) {
	switch {
	case core.IsNull(raw):
		return nil, nil
	case len(raw) > mostArguments:
		return nil, invalid("arguments are larger than %d bytes; send a link to the details", mostArguments)
	}
	if err := strict.Check(raw); err != nil {
		return nil, refusal.New(refusal.CodeInvalidArguments, "invalid arguments: %v", err)
	}
	canonical, err := core.Canonical(raw)
	if err != nil || canonical[0] != '{' {
		return nil, refusal.New(refusal.CodeInvalidArguments, "invalid arguments: they must be an object")
	}
	return canonical, nil
}

// checkApprovers refuses an empty list, which reads like "no one" and means every caller.
func checkApprovers(list []string) error {
	if list != nil && len(list) == 0 || len(list) > mostApprovers {
		return invalid("approvers must hold 1 to %d callers; omit it for every caller with the role decide", mostApprovers)
	}
	for _, name := range list {
		if err := access.CheckCaller(name); err != nil {
			return invalid("approvers: %v", err)
		}
	}
	return nil
}

// readDeadline reads a Go duration, or whole days such as 7d.
func readDeadline(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	within, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		within = time.Duration(n) * day
	}
	if err != nil || within < time.Second || within > longest {
		return 0, invalid("deadline must be a duration from 1s to 365d, such as 30m, 24h or 7d")
	}
	return within, nil
}

func invalid(format string, args ...any) *refusal.Error {
	return refusal.New(refusal.CodeInvalid, format, args...)
}

// Read reads an ask. It holds the answer until the ask is decided, for as long as wait.
func (d *Desk) Read(ctx context.Context, c frontend.Caller, id string, wait time.Duration) (shown wire.Ask, err error) {
	thread, _ := core.ThreadOf(id)
	seen := int64(-1) // the revision that was read
	err = d.reads.Held.Until(ctx, c.Tenant, thread, wait, false, func() (bool, error) {
		p, err := d.reads.Find(ctx, c.Tenant, id)
		if err != nil || p.Head.Rev == seen {
			return false, err
		}
		run, err := d.run(ctx, c, p)
		if err != nil {
			return false, err
		}
		shown, err = d.show(ctx, p, run)
		seen = p.Head.Rev
		return shown.Status != wire.AskWaiting, err
	})
	return shown, err
}

// Cancel withdraws an ask that waits.
func (d *Desk) Cancel(ctx context.Context, c frontend.Caller, id string) (wire.Ask, error) {
	p, err := d.reads.Find(ctx, c.Tenant, id)
	if err != nil {
		return wire.Ask{}, err
	}
	if _, err := d.run(ctx, c, p); err != nil {
		return wire.Ask{}, err
	}
	if _, err := d.reads.Cancel(ctx, c, id); err != nil {
		return wire.Ask{}, err
	}
	return d.showNow(ctx, c, id)
}

// run is the run of the ask at p, if the caller may see it. A caller who may neither read runs nor
// decide sees what it asked itself.
func (d *Desk) run(ctx context.Context, c frontend.Caller, p journal.Place) (wire.Run, error) {
	run, err := d.reads.Show(ctx, p)
	switch {
	case err != nil:
		return run, err
	case run.Agent != ask.Agent, !mayRead(c, run):
		return run, refusal.New(refusal.CodeRunNotFound, "the ask doesn't exist; check its id")
	}
	return run, nil
}

func mayRead(c frontend.Caller, run wire.Run) bool {
	for _, role := range []access.Role{access.Read, access.Decide, access.Admin} {
		if slices.Contains(c.Roles, role) {
			return true
		}
	}
	return c.By != "" && run.StartedBy != nil && run.StartedBy.By == c.By
}
