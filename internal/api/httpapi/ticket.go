package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

const streamsPath = "/v1/streams/"

// ticketLife is enough to follow a redirect.
const ticketLife = time.Minute

// sendStreamsTo keeps where streams are served; empty is here.
func (a *api) sendStreamsTo(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q is not a URL for streams; write it as https://host", address)
	}
	if a.links == nil {
		return errors.New("streams at a separate address need a key to sign their tickets; configure one")
	}
	a.streamURL = strings.TrimSuffix(address, "/")
	return nil
}

// sendToStream redirects to the address of the stream, once it knows that the stream will open:
// every refusal happens here.
//
//	reader   GET /v1/runs/R/events   the API authenticates the caller and checks access
//	         307 Location: .../v1/streams/TICKET
//	reader   GET /v1/streams/TICKET  the ticket opens one stream, within a minute
//	         events ... the stream ends
//	reader   GET /v1/runs/R/events   with Last-Event-ID: checked again, for a new ticket
func (a *api) sendToStream(r *http.Request, f *openStream) error {
	page, err := a.readEvents(r, f.id, query.EventQuery{After: f.after, Tail: f.tail, Limit: 1})
	if err != nil {
		return err
	}
	if f.tail && f.after == "" {
		f.after = page.Next
	}
	if f.read(page) {
		f.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := a.pace(r, pace.Streams); err != nil {
		return err
	}
	values := url.Values{}
	if r.URL.Query().Get("tree") == "true" {
		values.Set("tree", "true")
	}
	return a.redirect(r, f, canRead, http.StatusTemporaryRedirect, values)
}

// redirect sends the reader to the stream with a ticket that has these roles.
func (a *api) redirect(r *http.Request, f *openStream, roles []access.Role, status int, query url.Values) error {
	p := principal(r)
	keys, err := a.links(r.Context(), access.KeysAge)
	if err != nil {
		return err
	}
	if a.watched != nil && f.id != "" {
		a.watched(r.Context(), p.Tenant, f.id)
	}
	if f.after != "" {
		query.Set("after", f.after)
	}
	if f.follow {
		query.Set("follow", "true")
	}
	ticket := keys.SignTicket(access.Ticket{Tenant: p.Tenant, Name: p.Name, Fingerprint: p.Fingerprint, Roles: roles, Run: f.id,
		Expires: a.clock.Now().Add(ticketLife), ID: a.front.Random.Text(26), Query: query.Encode()})
	h := f.w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Location", a.streamURL+streamsPath+ticket)
	f.w.WriteHeader(status)
	return nil
}

// readStream is the stream that a ticket opens.
func (a *api) readStream(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Referrer-Policy", "no-referrer")
	ticket, err := access.OpenSigned(r.Context(), a.links, func(keys access.LinkKeys) (access.Ticket, error) {
		return keys.OpenTicket(r.PathValue("ticket"), a.clock.Now())
	})
	switch {
	case errors.Is(err, access.ErrExpiredLink):
		return &refusal.Error{Code: problems.CodeLinkExpired, Detail: "the ticket has expired; request the events again at the original address"}
	case errors.Is(err, access.ErrBadLink):
		return &refusal.Error{Code: problems.CodeNotFound, Detail: "the ticket is not from this server; request the events again at the original address"}
	case err != nil:
		return err
	}
	if r, err = a.useTicket(r, ticket); err != nil {
		return err
	}
	r = as(r, ticket.Principal())
	r = r.WithContext(context.WithValue(r.Context(), namedKey{}, true))
	if r.URL.Query().Has("view") {
		return a.readView(w, r, ticket.Run)
	}
	f, err := a.newStream(w, r, ticket.Run)
	if err != nil {
		return err
	}
	if ticket.Run == "" {
		return a.readFeedStream(r, f)
	}
	if err := authorize(principal(r), canRead); err != nil {
		return err
	}
	return a.eventStream(r, f)
}

// useTicket returns the request for the stream that the ticket is for. A ticket that can't be
// marked as used opens nothing: its reader gets another one.
func (a *api) useTicket(r *http.Request, t access.Ticket) (*http.Request, error) {
	if t.ID == "" {
		return r, nil
	}
	if r.URL.RawQuery != "" {
		return r, &refusal.Error{Code: refusal.CodeInvalid, Detail: "the ticket names its stream; send no query, or request the events again at the original address"}
	}
	first, err := a.limits.Tickets.Use(r.Context(), t.ID, t.Expires)
	if err == nil && !first {
		err = &refusal.Error{Code: problems.CodeTicketUsed, Detail: "the ticket has opened a stream; request the events again at the original address for a new one"}
	}
	r = r.Clone(r.Context())
	r.URL.RawQuery = t.Query
	return r, err
}

// readFeedStream is the stream of a feed that a ticket opens.
func (a *api) readFeedStream(r *http.Request, f *openStream) error {
	if err := authorize(principal(r), canSeeInbox); err != nil {
		return err
	}
	q, err := feedQuery(r.URL.Query())
	if err != nil {
		return err
	}
	return a.feedStream(r, f, q)
}

// namedKey marks a request whose principal a ticket names, or a protocol: it holds no token itself.
type namedKey struct{}

// stillReads says whether the stream's reader still has one of these roles.
func (a *api) stillReads(r *http.Request, roles []access.Role) bool {
	if r.Context().Value(namedKey{}) != nil {
		may, err := a.stillMay(r, principal(r), roles...)
		return may && err == nil
	}
	p, err := a.who(r)
	return err == nil && p.Tenant == principal(r).Tenant && authorize(p, roles) == nil
}
