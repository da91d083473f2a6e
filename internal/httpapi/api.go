// Package httpapi is the HTTP API, version 1: it translates requests to calls of package frontend and answers to JSON. It decides
// nothing about runs. Every error it answers with is a problem document (RFC 9457) whose code is one of a table; what is
// not in the table is "internal" and says nothing of the inside.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"path"

	"github.com/dormouse-dev/dormouse/internal/access"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// Keys knows who holds a bearer token. It is asked at each request, so that a token that is taken away is so at once.
type Keys interface {
	// Find says who holds the token; ok is false if nobody does. An error means that it cannot be told now.
	Find(ctx context.Context, token string) (p access.Principal, ok bool, err error)

	// Named says who holds the token of this name, as Find does for the token.
	Named(ctx context.Context, name string) (p access.Principal, ok bool, err error)
}

// Options configure [New]. Frontend and Clock are required.
type Options struct {
	Frontend *frontend.Frontend
	Clock    engine.Clock

	// Keys decides who is let in. Nil lets everybody in as [access.Anyone], so that whoever listens must do so on a loopback
	// address only; requests must then name one as their host.
	Keys Keys

	// Links sign the links by which a person answers without a token. None: there are no links.
	Links access.LinkKeys

	// Origins are the sites whose pages may call from a browser, each as "https://host[:port]". None: no site may.
	Origins []string

	Limits Limits

	// Stopping, once closed, ends the open streams. Nil never does.
	Stopping <-chan struct{}

	Version string       // shown by /healthz
	Logger  *slog.Logger // of what is answered as internal; nil discards
}

type api struct {
	front    *frontend.Frontend
	clock    engine.Clock
	keys     Keys
	links    access.LinkKeys
	limits   Limits
	streams  *streams
	paces    *paces
	outgoing *outgoing
	stopping <-chan struct{}
	version  string
	log      *slog.Logger
	mux      *http.ServeMux
}

// New returns the whole API as one handler. It fails on an origin that is none.
func New(opts Options) (http.Handler, error) {
	limits := opts.Limits.orDefaults()
	a := &api{front: opts.Frontend, clock: opts.Clock, keys: opts.Keys, links: opts.Links, limits: limits, streams: newStreams(limits), paces: newPaces(limits), outgoing: newOutgoing(),
		stopping: opts.Stopping, version: opts.Version, log: opts.Logger, mux: http.NewServeMux()}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	for _, rt := range a.table() {
		a.mux.HandleFunc(rt.method+" "+rt.path, a.handle(rt))
	}
	sites, err := newSites(opts.Origins, a.answer)
	if err != nil {
		return nil, err
	}
	return a.recovered(a.loopback(sites.guard(http.HandlerFunc(a.serve)))), nil
}

// handler answers a request, or returns why not before it has written anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// handle lets in who may, holds the query against the table, and then serves.
func (a *api) handle(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
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
		r = known
		if err := authorize(principal(r), rt.roles); err != nil {
			return r, err
		}
	}
	if err := rt.understands(r); err != nil {
		return r, err
	}
	if rt.paced {
		return r, a.paces.take(principal(r).Tenant, a.clock.Now())
	}
	return r, nil
}

// understands holds query and headers against the table: a parameter is known, and is there once.
func (rt route) understands(r *http.Request) error {
	var names []string
	for _, p := range rt.params {
		switch {
		case p.in == "query":
			names = append(names, p.name)
		case !p.several && len(r.Header.Values(p.name)) > 1:
			return &frontend.Error{Code: frontend.CodeInvalid, Detail: "the header " + p.name + " is there twice"}
		}
	}
	if rt.link {
		return nil
	}
	return readQuery(r, names)
}

// serve lets the mux find the handler, and words its own refusals as problems. A path with empty or dotted segments, which the
// mux would redirect, is no path of ours: a redirected POST is one that some callers send again without its body.
func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	h, pattern := a.mux.Handler(r)
	escaped := r.URL.EscapedPath()
	if pattern != "" && path.Clean(escaped) == escaped {
		a.mux.ServeHTTP(w, r)
		return
	}
	if _, err := a.authenticate(r); err != nil {
		a.answer(w, r, err)
		return
	}
	refused := refusal{header: http.Header{}}
	h.ServeHTTP(&refused, r)
	if refused.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", refused.header.Get("Allow"))
		a.answer(w, r, &frontend.Error{Code: codeMethodNotAllowed, Detail: clipped(r.Method) + " is not offered here"})
		return
	}
	a.answer(w, r, &frontend.Error{Code: codeNotFound, Detail: "there is nothing at this path"})
}

// refusal takes the status and the header of an answer, and none of its text.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }
func (r *refusal) WriteHeader(status int)      { r.status = status }

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

func (a *api) health(w http.ResponseWriter, r *http.Request) error {
	return a.writeJSON(w, r, http.StatusOK, wire.Health{Status: "ok", Version: a.version})
}
