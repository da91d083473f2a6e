package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/recall"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// Viewer turns the events of a run into what a client is sent.
type Viewer interface {
	// Header sets the header of the answer.
	Header(h http.Header)

	// Push takes the next event, committed or live, of the run or of one below it, whose events
	// have a path.
	Push(e wire.Event) ([]byte, error)

	// Rest is called when all committed events were pushed and the run does nothing until
	// someone acts.
	Rest() []byte

	// Break is what is sent if the server ends the stream before it is over.
	Break() []byte

	// Over says that nothing more is to be sent.
	Over() bool
}

// Recaller is a [Viewer] that may show what was said before the run, or files. Recall is called
// first; events reads a page of events of the run, or of its conversation, with the bytes of files.
type Recaller interface {
	Recall(run string, events func(id, after string) (wire.EventPage, error))
}

var viewParam = inQuery("view", "Set by the redirects of other protocols, such as the AI SDK's: how the stream is shown.")

// sendToView sends the client to the address of streams. It follows with a GET, whatever it sent.
//
//	client   POST /ai-sdk/AGENT      the API starts the run, or takes the decisions
//	         303 Location: .../v1/streams/TICKET
//	client   GET /v1/streams/TICKET  the stream, in the protocol
func (a *api) sendToView(w http.ResponseWriter, v *Visit, run string, about url.Values) error {
	f := &openStream{api: a, id: run, w: w}
	return a.redirect(v.Request, f, []access.Role{access.Read}, http.StatusSeeOther, url.Values{"view": {v.protocol.Name() + "?" + about.Encode()}})
}

// cutView splits what sendToView put into the ticket.
func cutView(view string) (protocol string, about url.Values, err error) {
	protocol, encoded, _ := strings.Cut(view, "?")
	about, err = url.ParseQuery(encoded)
	return protocol, about, err
}

// show streams a run through a viewer, from its first event: earlier ones tell it what the rest
// means. The stream ends when the viewer says so.
func (a *api) show(w http.ResponseWriter, r *http.Request, run string, v Viewer, read *recall.Events) error {
	known, after := read.Take(run)
	r = a.streamed(r)
	page, err := a.readGrown(r, run, query.EventQuery{After: after, Limit: streamPage, Bytes: streamBytes, Live: !a.buffered})
	if err != nil {
		return err
	}
	page.Items = append(known, page.Items...)
	f := a.openedStream(w, r, run)
	f.below = true
	if past, ok := v.(Recaller); ok {
		past.Recall(run, func(id, after string) (wire.EventPage, error) {
			return a.readEvents(r, id, query.EventQuery{After: after, Data: true})
		})
	}
	v.Header(w.Header())
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if f.view(r, page, v) {
		f.send(v.Break())
	}
	return nil
}

// view sends pages until the viewer has shown all; it returns whether the client still waits for
// the rest. When its time is up, what runs ask while others go on is the end, and can be answered.
// Behind the end of its run nothing comes that the viewer could wait for.
func (f *openStream) view(r *http.Request, page wire.EventPage, v Viewer) (unfinished bool) {
	for {
		out, err := viewed(page, v)
		if err != nil {
			f.broken(r, err)
			return true
		}
		if len(out) == 0 {
			out = []byte(": nothing yet\n\n")
		}
		if !f.sendShown(r, out) || v.Over() || f.last || page.Done {
			return (f.last || page.Done) && !v.Over()
		}
		f.after, f.rested, f.last = page.Next, page.Waiting, f.stopped(r)
		if page, err = f.next(r); err != nil {
			f.broken(r, err)
			return true
		}
	}
}

func viewed(page wire.EventPage, v Viewer) (out []byte, err error) {
	for _, e := range page.Items {
		more, err := v.Push(e)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	if page.Waiting || page.Done {
		out = append(out, v.Rest()...)
	}
	return out, nil
}
