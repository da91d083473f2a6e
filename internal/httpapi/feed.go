package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// feedTypes are the types of the events of a tenant's feed.
var feedTypes = slices.Sorted(maps.Keys(frontend.FeedKinds))

// tenantEvents is a page of what begins to wait, is decided and ends in all runs of a tenant, or a stream of it.
func (a *api) tenantEvents(w http.ResponseWriter, r *http.Request) error {
	w.Header().Add("Vary", "Accept")
	q, err := feedQuery(r.URL.Query())
	if err != nil {
		return err
	}
	if wantsJSON(r) {
		return a.feedPage(w, r, q)
	}
	f, err := a.newFeed(w, r, "")
	switch {
	case err != nil:
		return err
	case a.streamURL != "":
		return a.sendToFeed(r, f, q)
	}
	return a.feedStream(r, f, q)
}

// feedQuery reads the filters of a feed.
func feedQuery(values url.Values) (q frontend.FeedQuery, err error) {
	q.Agent = values.Get("agent")
	if types := values.Get("types"); types != "" {
		for name := range strings.SplitSeq(types, ",") {
			kind, known := frontend.FeedKinds[name]
			if !known {
				return q, &frontend.Error{Code: frontend.CodeInvalid, Detail: "types are one or more of " + strings.Join(feedTypes, ", ") + ", with commas between them"}
			}
			q.Marks = append(q.Marks, kind)
		}
	}
	return q, nil
}

func (a *api) feedPage(w http.ResponseWriter, r *http.Request, q frontend.FeedQuery) error {
	values := r.URL.Query()
	wait, err := number(values, "wait")
	if err != nil {
		return err
	}
	if q.Limit, err = number(values, "limit"); err != nil {
		return err
	}
	if q.Tail, err = fromTail(values); err != nil {
		return err
	}
	q.After, q.Wait = values.Get("after"), inTime(r, seconds(wait))
	page, err := a.readFeed(r, q)
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

// readFeed reads a page as its reader may see it.
func (a *api) readFeed(r *http.Request, q frontend.FeedQuery) (wire.FeedPage, error) {
	page, err := a.front.Feed(r.Context(), caller(r), q)
	if !principal(r).May(access.Read) {
		for i, e := range page.Items {
			page.Items[i] = toDecider(e)
		}
	}
	return page, err
}

// toDecider is an event for one who may answer and not read. A decision is shown as a link shows it, without the arguments and the result that it
// gave. Of a call, what it takes to find it in the inbox: that one waited once is no reason to see its arguments.
func toDecider(e wire.Event) wire.Event {
	switch e.Type {
	case string(core.EventDecisionRecorded):
		var d wire.DecisionRecordedData
		if json.Unmarshal(e.Data, &d) != nil {
			e.Data = nil
			return e
		}
		d.Result, d.Arguments = nil, nil
		e.Data = core.Encode(d)
	case string(core.EventCallSuspended):
		var p wire.Pending
		_ = json.Unmarshal(e.Data, &p) // what is not there is left out
		e.Data = core.Encode(wire.Pending{CallID: p.CallID, ToolName: p.ToolName, Tool: p.Tool, Kind: p.Kind, ResumeMode: p.ResumeMode, Since: p.Since, Deadline: p.Deadline,
			Suspension: wire.Suspension{ID: p.Suspension.ID, Action: p.Suspension.Action}, NotBy: p.NotBy, Approvers: p.Approvers})
	}
	return e
}

// feedRoles are the roles of which the holder of an open stream of a feed must keep one: a reader stays one, so that what is shown fits.
func feedRoles(p access.Principal) []access.Role {
	if p.May(access.Read) {
		return reading
	}
	return seeing
}

// feedStream sends what is there and then what comes. It has no end of its own. Behind the first page, and where they change, it says how many
// calls wait:
//
//	id: CURSOR
//	event: counts
//	data: {"waiting":3,"kinds":{"approval":2,"client":1},"at_least":false}
//
// A reader that loses the stream goes on from the last id.
func (a *api) feedStream(r *http.Request, f *feed, q frontend.FeedQuery) error {
	leave, err := a.streams.enter(principal(r).Tenant)
	if err != nil {
		return err
	}
	defer leave()
	s := feedStream{feed: f, r: r, q: q}
	s.q.After, s.q.Tail, s.q.Limit, s.q.Bytes = f.after, f.tail, streamPage, streamBytes
	page, err := a.readFeed(r, s.q)
	if err != nil {
		return err
	}
	f.begin()
	s.run(page)
	return nil
}

// feedStream is an open stream of a feed.
type feedStream struct {
	*feed
	r       *http.Request
	q       frontend.FeedQuery
	counted *wire.Counts // what was said last
}

func (s *feedStream) run(page wire.FeedPage) {
	for {
		s.q.After = page.Next
		if !s.sendPage(s.r, wire.EventPage{Items: page.Items}) || !s.sendCounts(page) || s.stopped(s.r) || s.api.buffered && s.sent {
			return
		}
		if len(page.Items) == 0 && !s.send([]byte(": nothing yet\n\n")) {
			return
		}
		s.q.Wait = min(s.api.limits.KeepAlive, s.end.Sub(s.api.clock.Now()))
		var err error
		if page, err = s.api.readFeed(s.r, s.q); err == nil && !s.api.stillReads(s.r, feedRoles(principal(s.r))) {
			err = errLocked
		}
		if err != nil {
			s.broken(s.r, err)
			return
		}
	}
}

// sendCounts counts anew where the page does not say, and sends what has changed.
func (s *feedStream) sendCounts(page wire.FeedPage) bool {
	counts := page.Counts
	if counts == nil {
		found, err := s.api.front.Counts(s.r.Context(), caller(s.r), s.q.Agent)
		if err != nil {
			s.broken(s.r, err)
			return false
		}
		counts = &found
	}
	if s.counted != nil && reflect.DeepEqual(counts, s.counted) {
		return true
	}
	s.counted = counts
	return s.send(fmt.Appendf(nil, "id: %s\nevent: counts\ndata: %s\n\n", page.Next, core.Encode(counts)))
}

// sendToFeed answers with where the stream is, as [api.sendToStream] does.
func (a *api) sendToFeed(r *http.Request, f *feed, q frontend.FeedQuery) error {
	p := principal(r)
	q.After, q.Tail, q.Limit = f.after, f.tail, 1
	page, err := a.readFeed(r, q)
	if err != nil {
		return err
	}
	if f.tail && f.after == "" {
		f.after = page.Next
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
	return a.redirect(r, f, roles, query)
}

func (a *api) listDecisions(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	q := frontend.DecisionQuery{By: values.Get("by"), Via: values.Get("via"), Agent: values.Get("agent"), Action: values.Get("action"), Cursor: values.Get("cursor")}
	var err error
	if q.Limit, err = number(values, "limit"); err != nil {
		return err
	}
	if q.CreatedAfter, err = instant(values, "created_after"); err != nil {
		return err
	}
	if q.CreatedBefore, err = instant(values, "created_before"); err != nil {
		return err
	}
	page, err := a.front.Decisions(r.Context(), caller(r), q)
	if err != nil {
		return err
	}
	if !principal(r).May(access.Read) {
		for i := range page.Items {
			page.Items[i].Result, page.Items[i].Arguments = nil, nil
		}
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}
