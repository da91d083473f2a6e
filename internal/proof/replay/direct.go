package replay

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// direct carries requests to a handler in the same goroutine, so that a caller and the server it
// calls are one simulated task. A server that is lost while it answers looks like a broken
// connection.
type direct struct{ handler http.Handler }

var errBroken = errors.New("replay: the connection broke")

func (d direct) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				panic(p)
			}
			resp, err = nil, errBroken
		}
	}()
	in := req.Clone(req.Context())
	in.RequestURI = req.URL.RequestURI()
	in.Host = req.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := &answer{header: http.Header{}, status: http.StatusOK}
	d.handler.ServeHTTP(w, in)
	return &http.Response{StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: req}, nil
}

// answer is what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
