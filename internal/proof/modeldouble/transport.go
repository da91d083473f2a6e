package modeldouble

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// Transport answers requests with h, in this process and without a connection. A body that h writes
// can be read while h goes on; one that h gives up with [http.ErrAbortHandler] ends in an error, as
// a broken connection does. When the request's context ends, so do h's and the body.
func Transport(h http.Handler) http.RoundTripper { return transport{h} }

type transport struct{ handler http.Handler }

// errAborted is what a reader is told of a connection that broke.
var errAborted = errors.New("modeldouble: the connection broke")

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	body, feed := io.Pipe()
	w := &writer{header: http.Header{}, feed: feed, ready: make(chan struct{})}
	served := req.Clone(ctx)
	if served.Body == nil {
		served.Body = http.NoBody
	}
	served.RequestURI = req.URL.RequestURI()
	if served.Host == "" {
		served.Host = req.URL.Host
	}
	go func() {
		defer cancel()
		w.finish(serve(t.handler, w, served))
	}()
	stop := context.AfterFunc(ctx, func() { feed.CloseWithError(context.Cause(ctx)) })
	select {
	case <-w.ready:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if w.status == 0 {
		stop()
		return nil, errAborted
	}
	return &http.Response{StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.shown,
		Body: reader{body, cancel}, ContentLength: -1, Request: req}, nil
}

// serve says how the handler ended.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = errAborted
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// reader tells the handler when nobody reads any more.
type reader struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (r reader) Close() error {
	r.cancel()
	return r.ReadCloser.Close()
}

// writer hands what a handler writes to the reader of the answer.
type writer struct {
	header, shown http.Header
	status        int
	feed          *io.PipeWriter
	once          sync.Once
	ready         chan struct{}
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.shown = status, w.header.Clone()
		close(w.ready)
	})
}

func (w *writer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.feed.Write(b)
}

// Flush implements [http.Flusher]; everything written was.
func (w *writer) Flush() { w.WriteHeader(http.StatusOK) }

// finish ends the answer, also one that was never begun.
func (w *writer) finish(err error) {
	if err == nil {
		w.WriteHeader(http.StatusOK)
	} else {
		w.once.Do(func() { close(w.ready) })
	}
	w.feed.CloseWithError(err)
}
