package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/feedtext"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/params"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/bulk"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// listDecisions is the history of a tenant's decisions.
func (a *api) listDecisions(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	q := query.DecisionQuery{By: values.Get("by"), Via: values.Get("via"), Agent: values.Get("agent"), Action: values.Get("action"), Cursor: values.Get("cursor")}
	var err error
	if q.Limit, err = params.Number(values, "limit"); err != nil {
		return err
	}
	if q.CreatedAfter, q.CreatedBefore, err = params.Period(values); err != nil {
		return err
	}
	page, err := a.reads.Decisions(r.Context(), caller(r), q)
	if err != nil {
		return err
	}
	if !principal(r).May(access.Read) {
		for i := range page.Items {
			feedtext.WithoutAnswer(&page.Items[i].DecisionRecordedData)
			page.Items[i].Title = ""
		}
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

// decide takes one decision, or several that are answered one by one: a refused one does not keep
// the others from being stored.
func (a *api) decide(w http.ResponseWriter, r *http.Request) error {
	raw, err := bodies.Raw(w, r)
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
	if err := bodies.Decode(raw, &d); err != nil {
		return err
	}
	answer, err := a.front.Decide(r.Context(), caller(r), r.PathValue("id"), d)
	return a.writeDecided(w, r, answer, err)
}

func (a *api) readSuspension(w http.ResponseWriter, r *http.Request) error {
	waits, became, err := a.reads.Suspension(r.Context(), caller(r), r.PathValue("id"))
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
	if err := bodies.Read(w, r, &d); err != nil {
		return err
	}
	answer, err := a.front.DecideSuspension(r.Context(), caller(r), r.PathValue("id"), d.Decision(""))
	return a.writeDecided(w, r, answer, err)
}

func (a *api) withdrawDecision(w http.ResponseWriter, r *http.Request) error {
	answer, err := a.front.Withdraw(r.Context(), caller(r), r.PathValue("id"), r.PathValue("decision"))
	return a.writeDecided(w, r, answer, err)
}

func (a *api) writeDecided(w http.ResponseWriter, r *http.Request, answer wire.DecisionAnswer, err error) error {
	if err != nil {
		return err
	}
	answer.Status = decidedStatus(answer)
	return a.writeJSON(w, r, answer.Status, answer)
}

func decidedStatus(answer wire.DecisionAnswer) int {
	if answer.Code == string(refusal.CodeAccepted) {
		return http.StatusAccepted
	}
	return http.StatusOK
}

func (a *api) decideAll(w http.ResponseWriter, r *http.Request, raw json.RawMessage) error {
	decisions, together, err := readDecisions(raw)
	if err == nil { // the request has counted as one
		err = a.paces.AdmitMore(r.Context(), pace.Decisions, principal(r).Tenant, len(decisions)-1, a.clock.Now())
	}
	if err != nil {
		return err
	}
	if together {
		return a.decideTogether(w, r, decisions)
	}
	answers := wire.DecisionAnswers{Answers: make([]wire.DecisionAnswer, len(decisions))}
	for i, d := range decisions {
		answers.Answers[i] = a.decideOne(r, d)
		// of all of them, then
		if answers.Answers[i].Code == string(refusal.CodeRunNotFound) {
			return &refusal.Error{Code: refusal.CodeRunNotFound, Detail: answers.Answers[i].Detail}
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

// decideBulk answers several approvals of one kind, each with an answer of its own.
func (a *api) decideBulk(w http.ResponseWriter, r *http.Request) error {
	var b wire.Bulk
	if err := bodies.Read(w, r, &b); err != nil {
		return err
	}
	if err := a.paces.AdmitMore(r.Context(), pace.Decisions, principal(r).Tenant, len(b.Questions)-1, a.clock.Now()); err != nil {
		return err
	}
	answers, err := bulk.New(a.front).Decide(r.Context(), caller(r), b, false)
	if err != nil {
		return err
	}
	shown := wire.DecisionAnswers{Answers: make([]wire.DecisionAnswer, len(answers))}
	for i, one := range answers {
		shown.Answers[i] = a.answered(r, one.DecisionAnswer, one.Err)
	}
	return a.writeJSON(w, r, http.StatusOK, shown)
}

func readDecisions(raw json.RawMessage) (decisions []wire.Decision, together bool, err error) {
	var several struct {
		Decisions []json.RawMessage `json:"decisions"`
		AllOrNone bool              `json:"all_or_none"`
	}
	if err := bodies.Decode(raw, &several); err != nil {
		return nil, false, err
	}
	if n := len(several.Decisions); n == 0 || n > maxDecisions {
		return nil, false, &refusal.Error{Code: refusal.CodeInvalid, Detail: fmt.Sprintf("decisions must hold 1 to %d decisions", maxDecisions)}
	}
	decisions = make([]wire.Decision, len(several.Decisions))
	for i, one := range several.Decisions {
		if err := bodies.Decode(one, &decisions[i]); err != nil {
			return nil, false, err
		}
	}
	return decisions, several.AllOrNone, nil
}

func (a *api) decideOne(r *http.Request, d wire.Decision) wire.DecisionAnswer {
	answer, err := a.front.Decide(r.Context(), caller(r), r.PathValue("id"), d)
	if err != nil {
		answer = wire.DecisionAnswer{Target: d.Target, DecisionID: d.DecisionID}
	}
	return a.answered(r, answer, err)
}

// answered is one of several answers, with the status that it would have on its own. Of a refused
// decision, the answer says which it was.
func (a *api) answered(r *http.Request, answer wire.DecisionAnswer, err error) wire.DecisionAnswer {
	if err == nil {
		answer.Status = decidedStatus(answer)
		return answer
	}
	e, ok := problems.Refused(err)
	if !ok {
		a.logFault(r, err)
	}
	doc := problems.Document(e)
	return wire.DecisionAnswer{Status: doc.Status, Code: doc.Code, Detail: doc.Detail, Target: answer.Target,
		DecisionID: answer.DecisionID, Same: e.Same, Winner: refusal.Brief(e.Winner)}
}
