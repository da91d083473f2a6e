package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// maxDecisions is how many decisions one request may carry.
const maxDecisions = 100

func (a *api) startRun(w http.ResponseWriter, r *http.Request) error {
	var req wire.StartRequest
	if err := readBody(w, r, &req); err != nil {
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
	wait := preferredWait(r)
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
	q, err := runList(r)
	if err != nil {
		return err
	}
	page, err := a.front.Runs(r.Context(), caller(r), q)
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

func (a *api) listCalls(w http.ResponseWriter, r *http.Request) error {
	q, err := list(r)
	if err != nil {
		return err
	}
	page, err := a.front.Calls(r.Context(), caller(r), r.PathValue("id"), q)
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

func (a *api) readCall(w http.ResponseWriter, r *http.Request) error {
	call, err := a.front.Call(r.Context(), caller(r), r.PathValue("id"), r.PathValue("call"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, call)
}

func (a *api) cancelRun(w http.ResponseWriter, r *http.Request) error {
	if err := readOptionalBody(w, r, &struct{}{}); err != nil {
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
	if err := readOptionalBody(w, r, &struct{}{}); err != nil {
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
	if err := readOptionalBody(w, r, &req); err != nil {
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
	if err := readOptionalBody(w, r, &struct{}{}); err != nil {
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
	if isThread(id) {
		return a.front.ThreadEvents(r.Context(), caller(r), id, q)
	}
	return a.front.Events(r.Context(), caller(r), id, q)
}

// fromTail says whether only new events are wanted.
func fromTail(values url.Values) (bool, error) {
	switch values.Get("from") {
	case "":
		return false, nil
	case "tail":
		return true, nil
	}
	return false, &frontend.Error{Code: frontend.CodeInvalid, Detail: "from is tail, or left out"}
}

func (a *api) eventPage(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	if values.Has("follow") {
		return &frontend.Error{Code: frontend.CodeInvalid, Detail: "follow is for a stream, not for pages; send Accept: text/event-stream, or use wait"}
	}
	wait, err := number(values, "wait")
	if err != nil {
		return err
	}
	limit, err := number(values, "limit")
	if err != nil {
		return err
	}
	tail, err := fromTail(values)
	if err != nil {
		return err
	}
	page, err := a.readEvents(r, r.PathValue("id"),
		query.EventQuery{After: values.Get("after"), Tail: tail, Limit: limit, Wait: inTime(r, seconds(wait)), Live: wait > 0 && !a.buffered})
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

// decide takes one decision, or several that are answered one by one: a refused one does not keep the others from being stored.
func (a *api) decide(w http.ResponseWriter, r *http.Request) error {
	raw, err := rawBody(w, r)
	if err != nil {
		return err
	}
	var several struct {
		Decisions []json.RawMessage `json:"decisions"`
	}
	if json.Unmarshal(raw, &several) == nil && several.Decisions != nil {
		return a.decideAll(w, r, raw)
	}
	var d wire.Decision
	if err := decodeStrict(raw, &d); err != nil {
		return err
	}
	answer, err := a.front.Decide(r.Context(), caller(r), r.PathValue("id"), d)
	if err != nil {
		return err
	}
	answer.Status = decidedStatus(answer)
	return a.writeJSON(w, r, answer.Status, answer)
}

func (a *api) readSuspension(w http.ResponseWriter, r *http.Request) error {
	waits, became, err := a.front.Suspension(r.Context(), caller(r), r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case waits != nil:
		return a.writeJSON(w, r, http.StatusOK, waits)
	}
	return a.writeJSON(w, r, http.StatusOK, became)
}

func (a *api) answerSuspension(w http.ResponseWriter, r *http.Request) error {
	var d wire.Answer
	if err := readBody(w, r, &d); err != nil {
		return err
	}
	answer, err := a.front.DecideSuspension(r.Context(), caller(r), r.PathValue("id"), d.Decision(""))
	if err != nil {
		return err
	}
	answer.Status = decidedStatus(answer)
	return a.writeJSON(w, r, answer.Status, answer)
}

func decidedStatus(answer wire.DecisionAnswer) int {
	if answer.Code == string(frontend.CodeAccepted) {
		return http.StatusAccepted
	}
	return http.StatusOK
}

func (a *api) decideAll(w http.ResponseWriter, r *http.Request, raw json.RawMessage) error {
	decisions, together, err := readDecisions(raw)
	if err != nil {
		return err
	}
	if together {
		return a.decideTogether(w, r, decisions)
	}
	answers := wire.DecisionAnswers{Answers: make([]wire.DecisionAnswer, len(decisions))}
	for i, d := range decisions {
		answers.Answers[i] = a.decideOne(r, d)
		if answers.Answers[i].Code == string(frontend.CodeRunNotFound) { // of all of them, then
			return &frontend.Error{Code: frontend.CodeRunNotFound, Detail: answers.Answers[i].Detail}
		}
	}
	return a.writeJSON(w, r, http.StatusOK, answers)
}

// decideTogether stores all of the decisions or none.
func (a *api) decideTogether(w http.ResponseWriter, r *http.Request, decisions []wire.Decision) error {
	answers, err := a.front.DecideTogether(r.Context(), caller(r), r.PathValue("id"), decisions)
	if err != nil {
		return err
	}
	for i := range answers {
		answers[i].Status = decidedStatus(answers[i])
	}
	return a.writeJSON(w, r, answers[0].Status, wire.DecisionAnswers{Answers: answers})
}

func readDecisions(raw json.RawMessage) (decisions []wire.Decision, together bool, err error) {
	var several struct {
		Decisions []json.RawMessage `json:"decisions"`
		AllOrNone bool              `json:"all_or_none"`
	}
	if err := decodeStrict(raw, &several); err != nil {
		return nil, false, err
	}
	if n := len(several.Decisions); n == 0 || n > maxDecisions {
		return nil, false, &frontend.Error{Code: frontend.CodeInvalid, Detail: fmt.Sprintf("decisions must hold 1 to %d decisions", maxDecisions)}
	}
	decisions = make([]wire.Decision, len(several.Decisions))
	for i, one := range several.Decisions {
		if err := decodeStrict(one, &decisions[i]); err != nil {
			return nil, false, err
		}
	}
	return decisions, several.AllOrNone, nil
}

func (a *api) decideOne(r *http.Request, d wire.Decision) wire.DecisionAnswer {
	answer, err := a.front.Decide(r.Context(), caller(r), r.PathValue("id"), d)
	if err == nil {
		answer.Status = decidedStatus(answer)
		return answer
	}
	e, ok := refused(err)
	if !ok {
		a.logFault(r, err)
	}
	doc := document(e)
	return wire.DecisionAnswer{Status: doc.Status, Code: doc.Code, Detail: doc.Detail, Target: d.Target,
		DecisionID: d.DecisionID, Same: e.Same, Winner: e.Winner}
}
