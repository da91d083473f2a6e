// Package requestlog writes a line for each request, and says now and then why requests are
// refused.
package requestlog

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// Note is what becomes known of a request while it is served. It holds no path, which may be a
// link, and nothing that a caller wrote.
type Note struct {
	Route  string // as in the table; empty if there is none
	Tenant string

	status int
}

type noteKey struct{}

// Of is where to write down what becomes known of the request.
func Of(r *http.Request) *Note {
	if n, ok := r.Context().Value(noteKey{}).(*Note); ok {
		return n
	}
	return &Note{}
}

// Each writes one line for each request, after it was answered; a nil log gets none.
func Each(log *slog.Logger, clock engine.Clock, next http.Handler) http.Handler {
	if log == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, began := &Note{}, clock.Now()
		defer func() {
			log.InfoContext(r.Context(), "request", "method", strictjson.Clipped(r.Method), "route", n.Route, "status", n.answered(),
				"duration_ms", clock.Now().Sub(began).Milliseconds(), "tenant", n.Tenant)
		}()
		next.ServeHTTP(statusWriter{w, n}, r.WithContext(context.WithValue(r.Context(), noteKey{}, n)))
	})
}

// answered is the status, which is 200 where none was said.
func (n *Note) answered() int {
	if n.status == 0 {
		return http.StatusOK
	}
	return n.status
}

// statusWriter notes the first status.
type statusWriter struct {
	http.ResponseWriter
	note *Note
}

func (w statusWriter) WriteHeader(status int) {
	if w.note.status == 0 {
		w.note.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets streams flush.
func (w statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
