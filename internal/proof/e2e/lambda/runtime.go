package lambda

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mostAnswer is the largest answer that is not streamed.
const mostAnswer = 6<<20 + 100<<10

// invocation is one call of a function.
type invocation struct {
	f        Function
	id       string
	trace    string
	event    []byte
	deadline time.Time

	once   sync.Once
	begun  chan struct{} // closed when reply or failed is set
	reply  *Reply
	failed error

	endOnce sync.Once
	over    chan struct{}  // closed when the process may have another one
	pipe    *io.PipeWriter // of a reply that streams
}

func newInvocation(f Function, event []byte) *invocation {
	raw := make([]byte, 28)
	rand.Read(raw) // never fails
	text := hex.EncodeToString(raw)
	id := text[:8] + "-" + text[8:12] + "-4" + text[13:16] + "-8" + text[17:20] + "-" + text[20:32]
	trace := fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0", time.Now().Unix(), text[32:56], text[:16])
	return &invocation{f: f, id: id, trace: trace, event: event, begun: make(chan struct{}), over: make(chan struct{})}
}

// answer is the first that comes: the function's, or that it died.
func (inv *invocation) answer(reply *Reply, failed error, pipe *io.PipeWriter) {
	inv.once.Do(func() {
		inv.reply, inv.failed, inv.pipe = reply, failed, pipe
		close(inv.begun)
	})
}

// end says that nothing more comes; what has not been answered by then has failed.
func (inv *invocation) end(failed *Error) {
	inv.endOnce.Do(func() {
		inv.answer(nil, failed, nil)
		if inv.pipe != nil {
			// nothing if it was closed in good order
			_ = inv.pipe.CloseWithError(failed)
		}
		close(inv.over)
	})
}

// routes is the runtime API of 2018-06-01.
func (b *sandbox) routes() http.Handler {
	mux := http.NewServeMux()
	const root = "/2018-06-01/runtime/"
	mux.HandleFunc("GET "+root+"invocation/next", b.giveNext)
	mux.HandleFunc("POST "+root+"invocation/{id}/response", b.takeResponse)
	mux.HandleFunc("POST "+root+"invocation/{id}/error", b.takeError)
	mux.HandleFunc("POST "+root+"init/error", b.takeInitError)
	return mux
}

func (b *sandbox) giveNext(w http.ResponseWriter, r *http.Request) {
	if before := b.speaksOf(nil); before != nil {
		before.end(&Error{Type: "Runtime.NoResponse", Message: "the function asked for more without an answer"})
	}
	select {
	case b.ready <- struct{}{}:
	default: // it has asked already, and its connection was lost
	}
	select {
	case inv := <-b.next:
		b.speaksOf(inv)
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", inv.f.ARN)
		h.Set("Lambda-Runtime-Trace-Id", inv.trace)
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(inv.event) // a process that is gone is noticed as such
	case <-b.gone:
	case <-r.Context().Done():
	}
}

// speaksOf sets the invocation that the process works on from now on, and returns the one it worked
// on.
func (b *sandbox) speaksOf(inv *invocation) (before *invocation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, b.now = b.now, inv
	return before
}

// mine is the invocation that the process works on, if the request names it.
func (b *sandbox) mine(w http.ResponseWriter, r *http.Request) *invocation {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == nil || b.now.id != r.PathValue("id") {
		http.Error(w, `{"errorType":"InvalidRequestID"}`, http.StatusBadRequest)
		return nil
	}
	return b.now
}

func (b *sandbox) takeResponse(w http.ResponseWriter, r *http.Request) {
	inv := b.mine(w, r)
	if inv == nil {
		return
	}
	// The Go runtime says that an answer streams by its type alone: what it has whole is JSON.
	if strings.EqualFold(r.Header.Get("Lambda-Runtime-Function-Response-Mode"), "streaming") || r.Header.Get("Content-Type") != "application/json" {
		b.stream(inv, r)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, mostAnswer+1))
	switch {
	case err != nil:
		return // the process is dead or dying
	case len(body) > mostAnswer:
		b.pool.service.counts.failed.Add(1)
		inv.answer(nil, &Error{Type: "Function.ResponseSizeTooLarge", Message: "Response payload size exceeded maximum allowed payload size (6291556 bytes)."}, nil)
		http.Error(w, `{"errorType":"RequestEntityTooLarge"}`, http.StatusRequestEntityTooLarge)
	default:
		inv.answer(&Reply{ContentType: r.Header.Get("Content-Type"), Body: io.NopCloser(bytes.NewReader(body))}, nil, nil)
		w.WriteHeader(http.StatusAccepted)
	}
}

// stream passes the body on as it comes. A reader that goes away does not end it: the function
// works on.
func (b *sandbox) stream(inv *invocation, r *http.Request) {
	out, in := io.Pipe()
	inv.answer(&Reply{ContentType: r.Header.Get("Content-Type"), Streams: true, Body: out}, nil, in)
	_, err := io.Copy(tolerant{in}, r.Body)
	if err == nil && r.Trailer.Get("Lambda-Runtime-Function-Error-Type") != "" {
		b.pool.service.counts.failed.Add(1)
		err = &Error{Type: r.Trailer.Get("Lambda-Runtime-Function-Error-Type"), Message: "the function failed while it streamed"}
	}
	_ = in.CloseWithError(err)
}

// tolerant takes everything, also once its reader is gone.
type tolerant struct{ w io.Writer }

func (t tolerant) Write(p []byte) (int, error) {
	_, _ = t.w.Write(p)
	return len(p), nil
}

func (b *sandbox) takeError(w http.ResponseWriter, r *http.Request) {
	inv := b.mine(w, r)
	if inv == nil {
		return
	}
	b.pool.service.counts.failed.Add(1)
	inv.answer(nil, readError(r), nil)
	w.WriteHeader(http.StatusAccepted)
}

func (b *sandbox) takeInitError(w http.ResponseWriter, r *http.Request) {
	e := readError(r)
	b.pool.service.o.Logger.Error("the function cannot start", "function", b.pool.f.Name, "error", e)
	w.WriteHeader(http.StatusAccepted)
}

func readError(r *http.Request) *Error {
	var said struct{ ErrorType, ErrorMessage string }
	raw, _ := io.ReadAll(io.LimitReader(r.Body, mostAnswer))
	if json.Unmarshal(raw, &said) != nil || said.ErrorType == "" {
		said.ErrorType, said.ErrorMessage = r.Header.Get("Lambda-Runtime-Function-Error-Type"), string(raw)
	}
	return &Error{Type: said.ErrorType, Message: said.ErrorMessage}
}
