package httpapi

import (
	"bytes"
	"errors"
	"net/http"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/feedtext"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/params"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

const (
	mediaStream = "text/event-stream"
	mediaJSON   = "application/json"
)

// streamPage is how many events are read at once.
const streamPage = 100

// streamBytes is about how much of a journal one stream holds in memory.
const streamBytes = 256 << 10

func (a *api) events(w http.ResponseWriter, r *http.Request) error {
	if isThread(r.PathValue("id")) {
		return &refusal.Error{Code: refusal.CodeRunNotFound, Detail: "the run doesn't exist; check its id"}
	}
	return a.journal(w, r)
}

// threadEvents are the events of all runs of a conversation.
func (a *api) threadEvents(w http.ResponseWriter, r *http.Request) error {
	if !isThread(r.PathValue("id")) {
		return &refusal.Error{Code: refusal.CodeThreadNotFound, Detail: "the thread doesn't exist; check its id"}
	}
	return a.journal(w, r)
}

// journal is a page of events, or a stream of them.
func (a *api) journal(w http.ResponseWriter, r *http.Request) error {
	w.Header().Add("Vary", "Accept")
	if params.WantsJSON(r) {
		return a.eventPage(w, r)
	}
	f, err := a.newStream(w, r, r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case a.streamURL != "":
		return a.sendToStream(r, f)
	}
	return a.eventStream(r, f)
}

// eventStream sends the stored events, then the live text of the current model call, then new
// events as they are committed:
//
//	events ... turn.ended      the run is done or suspended: the stream ends after that commit
//	reopened while suspended   it stays open until an answer arrives, then until the turn ends
//	reopened after the end     204
//
// If the stream breaks, is stopped or reaches its maximum age, it ends after a whole event, and the
// reader resumes from there.
func (a *api) eventStream(r *http.Request, f *openStream) error {
	leave, err := a.enterStream(r)
	if err != nil {
		return err
	}
	defer leave()
	r = a.streamed(r)
	page, err := a.readEvents(r, f.id, query.EventQuery{After: f.after, Tail: f.tail, Limit: streamPage, Bytes: streamBytes, Live: !a.buffered})
	if err != nil {
		return err
	}
	if f.tail && f.after == "" {
		f.after = page.Next
	}
	if f.read(page) {
		f.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	f.begin()
	f.run(r, page)
	return nil
}

// openStream is one open stream of events.
type openStream struct {
	api    *api
	id     string // of the run, or of the thread; empty for the feed of a tenant
	w      http.ResponseWriter
	out    *http.ResponseController
	after  string // the cursor of what was sent last
	sent   bool   // something was
	tail   bool   // without a cursor, only new events
	follow bool
	below  bool // the events of runs below are wanted too
	rested bool // the newest page said that nothing goes on
	last   bool // the next page is the last
	end    time.Time
}

// bufferedLife is that of a stream whose reader sees nothing of it before its end.
const bufferedLife = 20 * time.Second

func (a *api) newStream(w http.ResponseWriter, r *http.Request, id string) (*openStream, error) {
	values := r.URL.Query()
	for _, name := range []string{"wait", "limit", "order"} {
		if values.Has(name) {
			return nil, &refusal.Error{Code: refusal.CodeInvalid, Detail: name + " applies to pages, not to streams; remove it, or send Accept: application/json"}
		}
	}
	f := a.openedStream(w, r, id)
	f.after = values.Get("after")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		f.after = last
	}
	var err error
	if f.tail, err = params.FromTail(values); err != nil {
		return nil, err
	}
	switch values.Get("follow") {
	case "", "false":
	case "true":
		f.follow = true
	default:
		return nil, &refusal.Error{Code: refusal.CodeInvalid, Detail: "follow must be true or false"}
	}
	return f, nil
}

func (a *api) openedStream(w http.ResponseWriter, r *http.Request, id string) *openStream {
	life := a.limits.StreamLife
	if a.buffered {
		life = min(life, bufferedLife)
	}
	return &openStream{api: a, id: id, w: w, out: http.NewResponseController(w), end: a.clock.Now().Add(inTime(r, life))}
}

// read says that the reader has seen all that there will be.
func (f *openStream) read(page wire.EventPage) bool {
	return page.Done && len(page.Items) == 0 && f.after != ""
}

// begin sends the header, and how soon a reader that lost the stream opens it again.
func (f *openStream) begin() {
	h := f.w.Header()
	h.Set("Content-Type", mediaStream)
	h.Set("X-Accel-Buffering", "no") // of proxies that would hold it back
	f.w.WriteHeader(http.StatusOK)
	f.send([]byte("retry: 1000\n\n"))
}

// run sends pages until the stream is over. An error after the header can only end the stream; the
// reader connects again and gets the error then.
func (f *openStream) run(r *http.Request, page wire.EventPage) {
	for {
		if !f.sendPage(r, page) || f.over(page) || f.stopped(r) {
			return
		}
		if len(page.Items) == 0 && !f.send([]byte(": nothing yet\n\n")) {
			return
		}
		var err error
		if page, err = f.next(r); err != nil {
			f.broken(r, err)
			return
		}
	}
}

// broken logs why a stream ended, if the server is at fault.
func (f *openStream) broken(r *http.Request, err error) {
	if r.Context().Err() == nil && !errors.Is(err, errLocked) && !errors.Is(err, engine.ErrUnavailable) {
		f.api.logFault(r, err)
	}
}

// errLocked: the token is not good any more, or not for this.
var errLocked = errors.New("httpapi: the token was revoked")

// next waits for new events. It sends none that came after the token was revoked.
func (f *openStream) next(r *http.Request) (wire.EventPage, error) {
	read := f.api.readEvents
	if f.below {
		read = f.api.readGrown
	}
	page, err := read(r, f.id, query.EventQuery{After: f.after, Limit: streamPage, Bytes: streamBytes, Live: !f.api.buffered, Rest: f.sent && !f.follow || f.below && !f.rested, Asked: f.last,
		Wait: min(f.api.limits.KeepAlive, f.end.Sub(f.api.clock.Now()))})
	if err != nil {
		return page, err
	}
	if !f.api.stillReads(r, canRead) {
		return wire.EventPage{}, errLocked
	}
	return page, nil
}

// over says whether what was sent is an end that a reader can take for one.
func (f *openStream) over(page wire.EventPage) bool {
	if page.Done || f.api.buffered && f.sent {
		return true
	}
	return page.Waiting && f.sent && !f.follow
}

func (f *openStream) stopped(r *http.Request) bool {
	select {
	case <-f.api.stopping:
		return true
	case <-r.Context().Done():
		return true
	default:
		return cut(r) || !f.api.clock.Now().Before(f.end)
	}
}

func (f *openStream) sendPage(r *http.Request, page wire.EventPage) bool {
	var buf bytes.Buffer
	for i, e := range page.Items {
		data, err := core.EncodeAny(e)
		if err != nil {
			return false
		}
		feedtext.WriteEvent(&buf, e, data)
		if buf.Len() > bounds.SmallAnswer || i == len(page.Items)-1 {
			if !f.sendEvents(r, &buf) {
				return false
			}
			f.after, f.sent = e.Cursor, true
		}
	}
	return true
}

// sendEvents fails, too, where too much is on its way to the tenant already: the reader comes
// again, and goes on from there.
func (f *openStream) sendEvents(r *http.Request, events *bytes.Buffer) bool {
	defer events.Reset()
	return f.sendShown(r, events.Bytes())
}

func (f *openStream) sendShown(r *http.Request, text []byte) bool {
	taken, ok := f.api.outgoing.Take(principal(r).Tenant, len(text))
	if !ok {
		return false
	}
	defer taken()
	return f.send(text)
}

// send gives the reader some time to take the text, however long the stream has been open. ok is
// false once it is gone.
func (f *openStream) send(text []byte) (ok bool) {
	// where there is a connection to set it on
	_ = f.out.SetWriteDeadline(time.Now().Add(f.api.limits.WriteTime))
	if _, err := f.w.Write(text); err != nil {
		return false
	}
	return f.api.buffered || f.out.Flush() == nil
}
