// Package httpapi is the HTTP API, version 1: it translates requests to calls of package frontend and answers to JSON. It decides
// nothing about runs. Every error it answers with is a problem document (RFC 9457) whose code is one of a table; what is
// not in the table is "internal" and says nothing of the inside.
package httpapi

import (
	"crypto/sha256"
	"log/slog"
	"net/http"
	"path"

	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// Tenant is whose things are served. There is one for now.
const Tenant = "default"

// Options configure [New]. Frontend is required.
type Options struct {
	Frontend *frontend.Frontend

	// Tokens are the SHA-256 hashes of the bearer tokens that are let in. None lets everybody in, so that whoever listens must
	// do so on a loopback address only; requests must then name one as their host.
	Tokens [][sha256.Size]byte

	Version string       // shown by /healthz
	Logger  *slog.Logger // of what is answered as internal; nil discards
}

type api struct {
	front   *frontend.Frontend
	version string
	log     *slog.Logger
	mux     *http.ServeMux
}

// New returns the whole API as one handler.
func New(opts Options) http.Handler {
	a := &api{front: opts.Frontend, version: opts.Version, log: opts.Logger, mux: http.NewServeMux()}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.routes()
	guard := access{tokens: opts.Tokens, answer: a.answer}
	return a.recovered(guard.loopback(guard.sameOrigin(guard.token(http.HandlerFunc(a.serve)))))
}

func (a *api) routes() {
	for pattern, h := range map[string]handler{
		"GET /healthz":                   a.health,
		"POST /v1/runs":                  a.startRun,
		"GET /v1/runs":                   a.listRuns,
		"GET /v1/runs/{id}":              a.readRun,
		"POST /v1/runs/{id}/decisions":   a.decide,
		"POST /v1/runs/{id}/cancel":      a.cancelRun,
		"POST /v1/runs/{id}/interrupt":   a.interruptRun,
		"POST /v1/runs/{id}/resume":      a.resumeRun,
		"POST /v1/runs/{id}/retry":       a.retryRun,
		"GET /v1/runs/{id}/events":       a.readEvents,
		"GET /v1/threads/{id}":           a.readThread,
		"GET /v1/threads/{id}/messages":  a.readMessages,
		"POST /v1/threads/{id}/messages": a.sendMessage,
		"GET /v1/threads/{id}/runs":      a.listThreadRuns,
		"GET /v1/approvals":              a.listApprovals,
		"GET /v1/agents":                 a.listAgents,
		"GET /v1/agents/{name}":          a.readAgent,
	} {
		a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				a.answer(w, r, err)
			}
		})
	}
}

// handler answers a request, or returns why not before it has written anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// serve lets the mux find the handler, and words its own refusals as problems. A path with empty or dotted segments, which the
// mux would redirect, is no path of ours: a redirected POST is one that some callers send again without its body.
func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	h, pattern := a.mux.Handler(r)
	escaped := r.URL.EscapedPath()
	if pattern != "" && path.Clean(escaped) == escaped {
		a.mux.ServeHTTP(w, r)
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

func (a *api) health(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, wire.Health{Status: "ok", Version: a.version})
}
