package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/feedtext"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/params"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// feedTypes are the types of the events of a tenant's feed.
var feedTypes = feedTypeNames()

func feedTypeNames() (names []string) {
	for t := range core.FeedTypes {
		names = append(names, string(t))
	}
	slices.Sort(names)
	return names
}

// tenantEvents is a page of the feed of a tenant, or a stream of it.
func (a *api) tenantEvents(w http.ResponseWriter, r *http.Request) error {
	w.Header().Add("Vary", "Accept")
	q, err := feedQuery(r.URL.Query())
	if err != nil {
		return err
	}
	if params.WantsJSON(r) {
		return a.feedPage(w, r, q)
	}
	f, err := a.newStream(w, r, "")
	switch {
	case err != nil:
		return err
	case a.streamURL != "":
		return a.sendToFeed(r, f, q)
	}
	return a.feedStream(r, f, q)
}

// feedQuery reads the filters of a feed.
func feedQuery(values url.Values) (q query.FeedQuery, err error) {
	q.Agent = values.Get("agent")
	if types := values.Get("types"); types != "" {
		for name := range strings.SplitSeq(types, ",") {
			mark, known := core.FeedTypes[core.EventType(name)]
			if !known {
				return q, &refusal.Error{Code: refusal.CodeInvalid, Detail: "types must be a comma-separated list of " + strings.Join(feedTypes, ", ")}
			}
			q.Marks += mark
		}
	}
	return q, nil
}

func (a *api) feedPage(w http.ResponseWriter, r *http.Request, q query.FeedQuery) error {
	values := r.URL.Query()
	wait, err := params.Number(values, "wait")
	if err != nil {
		return err
	}
	if q.Limit, err = params.Number(values, "limit"); err != nil {
		return err
	}
	if q.Tail, err = params.FromTail(values); err != nil {
		return err
	}
	q.After, q.Wait = values.Get("after"), inTime(r, params.Seconds(wait))
	page, err := a.readFeed(r, q)
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

// readFeed reads a page as its reader may see it.
func (a *api) readFeed(r *http.Request, q query.FeedQuery) (wire.FeedPage, error) {
	page, err := a.reads.Feed(r.Context(), caller(r), q)
	if !principal(r).May(access.Read) {
		for i, e := range page.Items {
			page.Items[i] = feedtext.ToDecider(e)
		}
	}
	return page, err
}

// feedRoles are the roles of which the reader of an open stream must keep one. A reader whose token
// has read must keep read, since the stream shows what only that role may see.
func feedRoles(p access.Principal) []access.Role {
	if p.May(access.Read) {
		return canRead
	}
	return canSeeInbox
}

// feedStream sends the events there are and then new ones; it ends only with its time. After the
// first page, and whenever the numbers change, it sends how many calls wait:
//
//	id: CURSOR
//	event: counts
//	data: {"waiting":3,"kinds":{"approval":2,"client":1},"at_least":false}
//
// A reader that loses the stream resumes from the last id.
//
// In brief, what happens within [pagePace] is sent together.
func (a *api) feedStream(r *http.Request, f *openStream, q query.FeedQuery) error {
	leave, err := a.enterStream(r)
	if err != nil {
		return err
	}
	defer leave()
	r = a.streamed(r)
	s := feedStream{openStream: f, r: r, q: q}
	s.q.After, s.q.Tail, s.q.Limit, s.q.Bytes = f.after, f.tail, streamPage, streamBytes
	page, err := a.reads.SharedFeed(r.Context(), caller(r), s.q)
	if err != nil {
		return err
	}
	f.begin()
	s.run(page)
	return nil
}

// feedStream is an open stream of a feed.
type feedStream struct {
	*openStream
	r       *http.Request
	q       query.FeedQuery
	counted []byte // the counts that were sent last
}

func (s *feedStream) run(page *query.SharedPage) {
	for {
		s.q.After = page.Next
		if !s.sendShared(page) || !s.sendCounts(page.FeedPage) || s.stopped(s.r) || s.api.buffered && s.sent {
			return
		}
		if len(page.Items) == 0 && !s.send([]byte(": nothing yet\n\n")) {
			return
		}
		if s.q.Brief && len(page.Items) > 0 && engine.Sleep(s.r.Context(), s.api.clock, pagePace) != nil {
			return
		}
		s.q.Wait = min(s.api.limits.KeepAlive, s.end.Sub(s.api.clock.Now()))
		var err error
		if page, err = s.api.reads.SharedFeed(s.r.Context(), caller(s.r), s.q); err == nil && !s.api.stillReads(s.r, feedRoles(principal(s.r))) {
			err = errLocked
		}
		if err != nil {
			s.broken(s.r, err)
			return
		}
	}
}

func (s *feedStream) sendShared(page *query.SharedPage) bool {
	for _, text := range feedtext.Chunks(page, principal(s.r).May(access.Read)) {
		if !s.sendShown(s.r, text) {
			return false
		}
		s.sent = true
	}
	return true
}

// sendCounts sends the counts of a page if they changed. The first page has some in any case.
func (s *feedStream) sendCounts(page wire.FeedPage) bool {
	counts := page.Counts
	switch {
	case counts == nil && s.counted != nil:
		return true
	case counts == nil:
		found, err := s.api.reads.Counts(s.r.Context(), caller(s.r), s.q.Agent)
		if err != nil {
			s.broken(s.r, err)
			return false
		}
		counts = &found
	}
	text := core.Encode(counts)
	if bytes.Equal(text, s.counted) {
		return true
	}
	s.counted = text
	return s.send(fmt.Appendf(nil, "id: %s\nevent: counts\ndata: %s\n\n", page.Next, text))
}

// sendToFeed answers with the address of the stream, as [api.sendToStream] does.
func (a *api) sendToFeed(r *http.Request, f *openStream, q query.FeedQuery) error {
	p := principal(r)
	q.After, q.Tail = f.after, f.tail
	var err error
	if f.after, err = a.reads.FeedStart(r.Context(), caller(r), q); err != nil {
		return err
	}
	if err := a.pace(r, pace.Streams); err != nil {
		return err
	}
	var roles []access.Role
	for _, role := range feedRoles(p) {
		if p.May(role) {
			roles = append(roles, role)
		}
	}
	query := url.Values{}
	for _, name := range []string{"agent", "types"} {
		if value := r.URL.Query().Get(name); value != "" {
			query.Set(name, value)
		}
	}
	return a.redirect(r, f, roles, http.StatusTemporaryRedirect, query)
}
