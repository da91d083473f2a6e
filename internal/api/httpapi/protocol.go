package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/recall"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/requestlog"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Protocol serves the protocol of a stock client to the callers of the API: with the same tokens,
// tenants, roles, limits and log. What comes in through it is no more than what the API lets the
// caller do.
type Protocol interface {
	// Name is the entry point of its requests, in the journal.
	Name() string

	// Routes are the requests of the protocol.
	Routes() []ProtocolRoute

	// View begins the stream that [Visit.Show] was asked for, here or at the address of
	// streams.
	View(about url.Values) (Viewer, error)

	// Refuse words an error as the protocol has it.
	Refuse(w http.ResponseWriter, r *http.Request, p wire.Problem)
}

// ProtocolRoute is one request of a protocol.
type ProtocolRoute struct {
	Method, Path string        // as [http.ServeMux] takes them
	Roles        []access.Role // the caller needs one of them; none: no token needed
	Serve        func(w http.ResponseWriter, v *Visit) error
}

// Visit is one request in a protocol.
type Visit struct {
	*http.Request
	api      *api
	protocol Protocol
	read     recall.Events
	seat     *bounds.Seat
}

// Caller is who asks.
func (v *Visit) Caller() frontend.Caller {
	c := caller(v.Request)
	c.Via = v.protocol.Name()
	return c
}

// As is the visit as another principal's, whom the protocol knows by its own means.
func (v *Visit) As(p access.Principal) *Visit {
	r := v.api.heldOf(as(v.Request, p))
	return &Visit{Request: r.WithContext(context.WithValue(r.Context(), namedKey{}, true)), api: v.api, protocol: v.protocol, seat: v.seat}
}

// May is an error unless the caller has one of these roles.
func (v *Visit) May(roles ...access.Role) error { return authorize(principal(v.Request), roles) }

// MayStart is an error unless the caller may start work now. One without the role takes nothing of
// the rate of its tenant.
func (v *Visit) MayStart() error {
	if err := v.May(access.Start); err != nil {
		return err
	}
	return v.api.pace(v.Request, pace.Starts)
}

// MayDecide is an error unless the caller may decide now.
func (v *Visit) MayDecide() error {
	if err := v.May(access.Decide); err != nil {
		return err
	}
	return v.api.pace(v.Request, pace.Decisions)
}

// MayStream is an error if so many streams are open that [Visit.Show] would refuse. It is asked
// before anything is done that Show then shows: a refusal says that nothing was.
func (v *Visit) MayStream() error {
	if v.seat.Taken() {
		return nil
	}
	leave, err := v.api.seat(v.Request)
	v.seat.Take(leave)
	return err
}

// ReadBody reads one JSON object into to. Members that to lacks are left out: a client may send
// more than the server understands.
func (v *Visit) ReadBody(w http.ResponseWriter, to any) error {
	raw, err := bodies.ReadAll(http.MaxBytesReader(w, v.Body, bodies.Max))
	if err := bodies.Crowded(err); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return bodies.Malformed("the body doesn't have the form of this protocol's requests; check the version of the client")
	}
	return nil
}

// Events reads a page of the events of a run, or of a conversation.
func (v *Visit) Events(id string, q query.EventQuery) (wire.EventPage, error) {
	return v.api.readEvents(v.Request, id, q)
}

// Grown reads a page of the events of a run, and of the runs below it once there are any. What was
// read from the first event on, [Visit.Show] doesn't read again.
func (v *Visit) Grown(run string, q query.EventQuery) (wire.EventPage, error) {
	page, err := v.api.readGrown(v.Request, run, q)
	if err == nil {
		v.read.Add(run, q, page)
	}
	return page, err
}

// WriteJSON answers with body.
func (v *Visit) WriteJSON(w http.ResponseWriter, status int, body any) error {
	return v.api.writeJSON(w, v.Request, status, body)
}

// Show answers with a stream of the events of the run and those below it, as the protocol's viewer
// shows them. Where streams have a separate address, the client is sent there.
func (v *Visit) Show(w http.ResponseWriter, run string, about url.Values) error {
	if err := v.May(canRead...); err != nil {
		return err
	}
	viewer, err := v.protocol.View(about)
	if err := errors.Join(err, v.MayStream()); err != nil {
		return err
	}
	if v.api.streamURL != "" {
		return v.api.sendToView(w, v, run, about)
	}
	return v.api.show(w, v.Request, run, viewer, &v.read)
}

// pagePace is how often an open page is told what is new while much happens. People don't read
// faster, and hundreds of pages would cost more than the runs that they show.
const pagePace = 250 * time.Millisecond

// Follow answers with the feed of the caller's tenant, as the API streams it, at the pace of a page
// and in brief.
func (v *Visit) Follow(w http.ResponseWriter) error {
	if err := v.May(canSeeInbox...); err != nil {
		return err
	}
	q, err := feedQuery(v.URL.Query())
	if err != nil {
		return err
	}
	f, err := v.api.newStream(w, v.Request, "")
	if err != nil {
		return err
	}
	if v.api.streamURL != "" {
		return v.api.sendToFeed(v.Request, f, q)
	}
	q.Brief = true
	return v.api.feedStream(v.Request, f, q)
}

// FollowRun answers with the events of a run, and what its model is saying, as the API streams
// them.
func (v *Visit) FollowRun(w http.ResponseWriter, run string) error {
	if err := v.May(canRead...); err != nil {
		return err
	}
	f, err := v.api.newStream(w, v.Request, run)
	if err != nil {
		return err
	}
	if v.api.streamURL != "" {
		return v.api.sendToStream(v.Request, f)
	}
	return v.api.eventStream(v.Request, f)
}

// enterProtocol is handle for the route of a protocol.
func (a *api) enterProtocol(d Protocol, rt ProtocolRoute) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		requestlog.Of(r).Route = rt.Path
		r, err := a.enter(r, route{roles: rt.Roles, link: true})
		if err == nil {
			var seat bounds.Seat
			defer seat.Leave()
			err = rt.Serve(w, &Visit{Request: r, api: a, protocol: d, seat: &seat})
		}
		if err != nil {
			a.refuseIn(d, w, r, err)
		}
	}
}

func (a *api) refuseIn(d Protocol, w http.ResponseWriter, r *http.Request, err error) {
	e, ok := problems.Refused(err)
	refusalHeaders(w, e)
	a.logRefused(r, e, err, ok)
	d.Refuse(w, r, problems.Document(e))
}

// protocolNamed finds the protocol of a view's address.
func (a *api) protocolNamed(name string) (Protocol, error) {
	for _, d := range a.protocols {
		if d.Name() == name {
			return d, nil
		}
	}
	return nil, &refusal.Error{Code: refusal.CodeInvalid, Detail: "view names a protocol that this server doesn't speak; send the request again at the original address"}
}

// readView is the stream of a ticket in a protocol.
func (a *api) readView(w http.ResponseWriter, r *http.Request, run string) error {
	if err := authorize(principal(r), canRead); err != nil {
		return err
	}
	name, about, err := cutView(r.URL.Query().Get("view"))
	if err != nil {
		return bodies.Malformed("view can't be parsed; send the request again at the original address")
	}
	d, err := a.protocolNamed(name)
	if err != nil {
		return err
	}
	viewer, err := d.View(about)
	if err != nil {
		return err
	}
	leave, err := a.enterStream(r)
	if err != nil {
		return err
	}
	defer leave()
	return a.show(w, r, run, viewer, &recall.Events{})
}

// serveProtocols serves the routes of all protocols, where runs are served.
func (a *api) serveProtocols() {
	if !a.part.serves(route{}) && a.part != PartPages {
		return
	}
	for _, d := range a.protocols {
		for _, rt := range d.Routes() {
			a.tops.Add(rt.Path)
			a.mux.HandleFunc(rt.Method+" "+rt.Path, a.enterProtocol(d, rt))
			a.fixed.Add(rt.Method, rt.Path)
		}
	}
}
