package httpapi

import (
	"context"
	"log/slog"
	"net/http"
)

// note is what becomes known of a request while it is served. It holds no path, which may be a
// link, and nothing that a caller wrote.
type note struct {
	route  string // as in the table; empty if there is none
	tenant string
	status int
}

type noteKey struct{}

// noteOf is where to write down what becomes known of the request.
func noteOf(r *http.Request) *note {
	if n, ok := r.Context().Value(noteKey{}).(*note); ok {
		return n
	}
	return &note{}
}

// noted writes one line for each request, after it was answered.
func (a *api) noted(log *slog.Logger, next http.Handler) http.Handler {
	if log == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, began := &note{}, a.clock.Now()
		defer func() {
			log.InfoContext(r.Context(), "request", "method", clipped(r.Method), "route", n.route, "status", n.answered(),
				"duration_ms", a.clock.Now().Sub(began).Milliseconds(), "tenant", n.tenant)
		}()
		next.ServeHTTP(statusWriter{w, n}, r.WithContext(context.WithValue(r.Context(), noteKey{}, n)))
	})
}

// answered is the status, which is 200 where none was said.
func (n *note) answered() int {
	if n.status == 0 {
		return http.StatusOK
	}
	return n.status
}

// statusWriter notes the first status.
type statusWriter struct {
	http.ResponseWriter
	note *note
}

func (w statusWriter) WriteHeader(status int) {
	if w.note.status == 0 {
		w.note.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets streams flush.
func (w statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
