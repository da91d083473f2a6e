// Package httpapi is the HTTP API, version 1: it translates requests to calls of package frontend
// and answers to JSON. It decides nothing about runs. Every error it answers with is a problem
// document (RFC 9457) whose code is one of a table; what is not in the table is "internal" and says
// nothing of the inside.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/params"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/paths"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/requestlog"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/sites"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/asks"
	"github.com/dormouse-dev/dormouse/internal/frontend/hooks"
	"github.com/dormouse-dev/dormouse/internal/frontend/links"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
)

// Keys knows who holds a bearer token. It is asked at each request, so that a token that is taken
// away is so at once.
type Keys interface {
	// Find returns the principal of a token; ok is false if the token is unknown. An error
	// means that the keys can't be read now.
	Find(ctx context.Context, token string) (p access.Principal, ok bool, err error)

	// Named says who holds the token of this name, as Find does for the token.
	Named(ctx context.Context, name string) (p access.Principal, ok bool, err error)
}

// Options configure [New]. Frontend and Clock are required.
type Options struct {
	Frontend *frontend.Frontend
	Clock    engine.Clock

	// Keys authenticates callers. If Keys and Gate are both nil, every caller is admitted as
	// [access.Anyone]: the server must then listen only on a loopback address, and requests
	// must name a loopback host.
	Keys Keys

	// Gate authenticates callers behind an authorizer, instead of Keys.
	Gate Gate

	// Part is what of the API is served here; the zero value is all of it.
	Part Part

	// Links sign the links by which a person answers without a token, and the tickets of
	// streams. None: there are no links.
	Links access.LinkKeys

	// LinkSource is where the keys come from if they are kept elsewhere, in place of Links.
	LinkSource access.LinkSource

	// SignIn signs people in who answer by a link that requires it. Nil: no link can require
	// it.
	SignIn people.SignIn

	// Hooks receives webhooks. Nil: there are none.
	Hooks *hooks.Receiver

	// Webhooks manages the tenants' webhooks. Nil: there are none.
	Webhooks *webhooks.Desk

	// Protocols are the protocols of stock clients that are served, too.
	Protocols []Protocol

	// Codes sends the one-time codes of links. Nil: links can't ask for one.
	Codes SendCode

	// Names are shown on the pages of links.
	Names Names

	// PublicURL is where people reach this server: links and the places of runs begin with it,
	// and what comes below its path is served, too.
	PublicURL access.PublicURL

	// StreamURL is where streams are served, if that is not here: who asks for one is sent
	// there with a ticket, which needs keys.
	StreamURL string

	// Watched is called when a reader of a run or a thread is sent there. Nil is not called.
	Watched func(ctx context.Context, tenant, id string)

	// Buffered says that something in front holds every answer until it is complete. A stream
	// then ends as soon as something was sent, or after a while, and its reader opens it again.
	Buffered bool

	// Origins are the sites whose pages may call from a browser, each as "https://host[:port]".
	// None: no site may.
	Origins []string

	Limits Limits

	// Stopping, once closed, ends the open streams. Nil never does.
	Stopping <-chan struct{}

	// Storage is the state of the store, for /healthz. Nil: nothing is known against it.
	Storage func() Storage

	Version string       // shown by /healthz
	Policy  string       // digest of the policy in force, shown by /healthz
	Logger  *slog.Logger // of what is answered as internal; nil discards

	// Access gets one line for each request, with the request's context and without anything
	// that is secret or says what a run is about; nil writes none.
	Access *slog.Logger
}

// desks answer callers.
type desks struct {
	front    *frontend.Frontend
	reads    *query.Reader
	making   *links.Maker
	asks     *asks.Desk
	webhooks *webhooks.Desk // nil: there are none
	people   *people.Desk   // nil: no one signs in
	codes    SendCode       // nil: none can be sent
}

// rates bound what callers do.
type rates struct {
	streams  *bounds.Streams
	paces    bounds.Paces
	holds    *bounds.Holds
	outgoing *bounds.Outgoing
	guesses  *bounds.Guesses
	senders  *bounds.Senders
}

type api struct {
	desks
	rates
	clock     engine.Clock
	keys      Keys
	gate      Gate
	part      Part
	links     access.LinkSource // nil: there are none
	hooks     *hooks.Receiver
	protocols []Protocol
	names     Names
	hold      time.Duration
	public    access.PublicURL
	tops      paths.Tops
	fixed     paths.Fixed
	streamURL string
	watched   func(ctx context.Context, tenant, id string) // may be nil
	buffered  bool
	limits    Limits
	stopping  <-chan struct{}
	version   string
	policy    string
	storage   func() Storage // may be nil
	unserved  requestlog.Unserved
	log       *slog.Logger
	mux       *http.ServeMux
}

// New returns the API, or the part of it that is served here, as one handler. It fails on an origin
// or an address that is none.
func New(opts Options) (http.Handler, error) {
	limits := opts.Limits.OrDefaults(opts.now)
	a := &api{desks: desks{opts.Frontend, query.New(opts.Frontend), links.New(opts.Frontend), asks.New(opts.Frontend), opts.Webhooks, nil, opts.Codes}, clock: opts.Clock, keys: opts.Keys, gate: opts.Gate, part: opts.Part,
		links: opts.linkSource(), hooks: opts.Hooks, protocols: opts.Protocols, names: opts.Names, hold: opts.Limits.Hold, public: opts.PublicURL, watched: opts.Watched, buffered: opts.Buffered, limits: limits,
		rates:    rates{bounds.NewStreams(limits.Streams, limits.TenantStreams), bounds.NewPaces(limits.Rates, limits.StartsPerSecond, limits.Buckets, opts.Logger), nil, bounds.NewOutgoing(), bounds.NewGuesses(), bounds.NewSenders()},
		stopping: opts.Stopping, version: opts.Version, policy: opts.Policy, storage: opts.Storage, log: opts.Logger, mux: http.NewServeMux()}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if a.people, err = a.peopleDesk(opts.SignIn); err != nil {
		return nil, err
	}
	if err := a.sendStreamsTo(opts.StreamURL); err != nil {
		return nil, err
	}
	a.holds = bounds.NewHolds(limits.Held, limits.TenantHeld, a.paces, opts.now)
	table := a.table()
	a.fixed, a.tops = paths.Fixed{}, paths.Tops{}
	for _, rt := range table {
		a.tops.Add(rt.path)
		if a.part.serves(rt) {
			a.mux.HandleFunc(rt.method+" "+rt.path, a.handle(rt))
			a.fixed.Add(rt.method, rt.path)
		}
	}
	a.serveProtocols()
	var first sync.Once // further lines would say nothing new
	callers, err := sites.New(opts.Origins, a.ownOrigin(), streamsPath, func(w http.ResponseWriter, r *http.Request, detail string) {
		first.Do(func() { a.log.InfoContext(r.Context(), "a page of another site was refused", "reason", detail) })
		a.answer(w, r, &refusal.Error{Code: problems.CodeForbidden, Detail: detail})
	})
	if err != nil {
		return nil, err
	}
	return requestlog.Each(opts.Access, a.clock, a.recovered(a.loopback(a.tops.Below(a.public.Prefix(), callers.Guard(http.HandlerFunc(a.serve)))))), nil
}

// handler answers a request, or returns why not before it has written anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// handle lets in who may, holds the query against the table, and then serves.
func (a *api) handle(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		requestlog.Of(r).Route = rt.path
		r, err := a.enter(r, rt)
		if err == nil {
			err = rt.serve(w, r)
		}
		if err != nil {
			a.answer(w, r, err)
		}
	}
}

func (a *api) enter(r *http.Request, rt route) (*http.Request, error) {
	if len(rt.roles) > 0 {
		known, err := a.authenticate(r)
		if err != nil {
			return r, err
		}
		r = a.heldOf(known)
		if err := authorize(principal(r), rt.roles); err != nil {
			return r, err
		}
		a.untilRead(r, rt.roles)
	}
	if err := rt.understands(r); err != nil {
		return r, err
	}
	if rt.paced == "" {
		return r, nil
	}
	return r, a.pace(r, rt.paced)
}

// understands holds query and headers against the table: a parameter is known, and is there once.
func (rt route) understands(r *http.Request) error {
	var names []string
	for _, p := range rt.params {
		switch {
		case p.in == "query":
			names = append(names, p.name)
		case !p.several && len(r.Header.Values(p.name)) > 1:
			return &refusal.Error{Code: refusal.CodeInvalid, Detail: "the header " + p.name + " is repeated; send it once"}
		}
	}
	if rt.link {
		return nil
	}
	return params.Known(r, names)
}

// serve lets the mux find the handler and turns the mux's refusals into problems. The mux would
// redirect a path with empty or dotted segments. Here such a path doesn't exist, because some
// callers follow the redirect of a POST without its body.
func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	h, pattern := a.mux.Handler(r)
	escaped := r.URL.EscapedPath()
	if allowed, other := a.fixed.Lacks(r); other {
		h, pattern = paths.NotAllowed(allowed), ""
	}
	if pattern != "" && path.Clean(escaped) == escaped {
		a.mux.ServeHTTP(w, r)
		return
	}
	if err := a.mayKnow(r); err != nil {
		a.answer(w, r, err)
		return
	}
	refused := headerTaker{header: http.Header{}}
	h.ServeHTTP(&refused, r)
	if refused.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", refused.header.Get("Allow"))
		a.answer(w, r, &refusal.Error{Code: problems.CodeMethodNotAllowed, Detail: bodies.Clipped(r.Method) + " is not supported here; use a method that the Allow header lists"})
		return
	}
	a.answer(w, r, &refusal.Error{Code: problems.CodeNotFound, Detail: "this path doesn't exist; /openapi.json lists the paths of the API"})
}

// mayKnow returns an error if the caller may not learn that a path doesn't exist. The part that
// serves streams answers every caller, because its requests carry no token.
func (a *api) mayKnow(r *http.Request) error {
	if a.part == PartStreams {
		return nil
	}
	_, err := a.authenticate(r)
	return err
}

// headerTaker takes the status and the header of an answer, and none of its text.
type headerTaker struct {
	header http.Header
	status int
}

func (r *headerTaker) Header() http.Header { return r.header }

func (r *headerTaker) Write(b []byte) (int, error) { return len(b), nil }

func (r *headerTaker) WriteHeader(status int) { r.status = status }

// recovered answers a panic as any other fault of ours.
func (a *api) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				a.answer(w, r, panicked{p})
			}
		}()
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// now is the time of the clock, which some options of tests lack.
func (o Options) now() time.Time { return o.Clock.Now() }

func (o Options) linkSource() access.LinkSource {
	if o.LinkSource != nil || len(o.Links) == 0 {
		return o.LinkSource
	}
	return func(context.Context, time.Duration) (access.LinkKeys, error) { return o.Links, nil }
}
