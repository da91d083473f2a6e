package httpapi

import (
	"net/http"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/params"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/treefeed"
)

// maxDecisions is how many decisions one request may carry.
const maxDecisions = 100

func (a *api) startRun(w http.ResponseWriter, r *http.Request) error {
	var req wire.StartRequest
	if err := bodies.Read(w, r, &req); err != nil {
		return err
	}
	s, err := a.front.Start(r.Context(), caller(r), r.Header.Get("Idempotency-Key"), req)
	if err != nil {
		return err
	}
	return a.writeStarted(w, r, s)
}

// writeStarted answers a start or a message: 202 if it was stored now, 200 if it had been before.
func (a *api) writeStarted(w http.ResponseWriter, r *http.Request, s frontend.Started) error {
	status := http.StatusOK
	if s.New {
		status = http.StatusAccepted
	}
	w.Header().Set("Location", a.public.To("/v1/runs/"+s.Run.ID))
	return a.writeJSON(w, r, status, shownTo(principal(r), s.Run))
}

func (a *api) readRun(w http.ResponseWriter, r *http.Request) error {
	wait := params.PreferredWait(r)
	if wait > 0 {
		w.Header().Set("Preference-Applied", "wait")
	}
	run, err := a.front.AwaitRun(r.Context(), caller(r), r.PathValue("id"), inTime(r, wait))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, run)
}

func (a *api) listRuns(w http.ResponseWriter, r *http.Request) error {
	q, err := params.RunList(r)
	if err != nil {
		return err
	}
	page, err := a.reads.Runs(r.Context(), caller(r), q)
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

func (a *api) listCalls(w http.ResponseWriter, r *http.Request) error {
	q, err := params.List(r)
	if err != nil {
		return err
	}
	page, err := a.reads.Calls(r.Context(), caller(r), r.PathValue("id"), q)
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

func (a *api) readCall(w http.ResponseWriter, r *http.Request) error {
	call, err := a.reads.Call(r.Context(), caller(r), r.PathValue("id"), r.PathValue("call"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, call)
}

func (a *api) cancelRun(w http.ResponseWriter, r *http.Request) error {
	if err := bodies.ReadOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	run, err := a.front.Cancel(r.Context(), caller(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusAccepted, shownTo(principal(r), run))
}

// interruptRun takes a repeat for what it repeats: there is nothing new to say about it.
func (a *api) interruptRun(w http.ResponseWriter, r *http.Request) error {
	if err := bodies.ReadOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	run, err := a.front.Interrupt(r.Context(), caller(r), r.PathValue("id"), r.Header.Get("Idempotency-Key"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusAccepted, shownTo(principal(r), run))
}

func (a *api) resumeRun(w http.ResponseWriter, r *http.Request) error {
	var req wire.ResumeRequest
	if err := bodies.ReadOptional(w, r, &req); err != nil {
		return err
	}
	answer, err := a.front.Resume(r.Context(), caller(r), r.PathValue("id"), req)
	if err != nil {
		return err
	}
	answer.Status = decidedStatus(answer)
	return a.writeJSON(w, r, answer.Status, answer)
}

func (a *api) retryRun(w http.ResponseWriter, r *http.Request) error {
	if err := bodies.ReadOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	s, err := a.front.Retry(r.Context(), caller(r), r.PathValue("id"), r.Header.Get("Idempotency-Key"))
	if err != nil {
		return err
	}
	return a.writeStarted(w, r, s)
}

func isThread(id string) bool { return strings.HasPrefix(id, core.ThreadID("")) }

// readEvents reads the events of a run, or of a thread.
func (a *api) readEvents(r *http.Request, id string, q query.EventQuery) (wire.EventPage, error) {
	switch tree := r.URL.Query().Get("tree"); {
	case tree != "" && tree != "true" && tree != "false" || tree != "" && isThread(id):
		return wire.EventPage{}, &refusal.Error{Code: refusal.CodeInvalid, Detail: "tree must be true or false, and applies to the events of a run"}
	case isThread(id):
		return a.reads.ThreadEvents(r.Context(), caller(r), id, q)
	case tree == "true":
		q.Live = false
		return treefeed.Reader{Runs: a.reads}.Events(r.Context(), caller(r), id, q)
	}
	return a.reads.Events(r.Context(), caller(r), id, q)
}

// readGrown reads the events of a run, and those of the runs below it once there are any.
func (a *api) readGrown(r *http.Request, run string, q query.EventQuery) (wire.EventPage, error) {
	return treefeed.Reader{Runs: a.reads}.Grown(r.Context(), caller(r), run, q)
}

func (a *api) eventPage(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	if values.Has("follow") {
		return &refusal.Error{Code: refusal.CodeInvalid, Detail: "follow applies to streams, not to pages; send Accept: text/event-stream, or use wait"}
	}
	wait, err := params.Number(values, "wait")
	if err != nil {
		return err
	}
	limit, err := params.Number(values, "limit")
	if err != nil {
		return err
	}
	order, tail, err := params.EventOrder(values)
	if err != nil {
		return err
	}
	page, err := a.readEvents(r, r.PathValue("id"),
		query.EventQuery{After: values.Get("after"), Order: order, Tail: tail, Limit: limit, Wait: inTime(r, params.Seconds(wait)), Live: wait > 0 && !a.buffered})
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}
