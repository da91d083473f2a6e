package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/params"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// canSeeAsks also has the role start: a caller without read and decide sees what it asked itself.
var canSeeAsks = []access.Role{access.Read, access.Decide, access.Start}

func (a *api) askRoutes() []route {
	located := func(status int, about string) answered {
		return answered{status: status, of: wire.Ask{}, about: about, headers: []string{"Location"}}
	}
	return []route{
		{method: http.MethodPost, path: "/v1/asks", name: "ask", tag: "asks", title: "Ask people to approve something", roles: canStart, paced: pace.Starts,
			about: "An approval without an agent, for scripts and other programs. It appears in the inbox and is decided like the approval of a tool call; nothing runs after it. " +
				"It is a run of the built-in agent `dormouse-ask`, with the same id, so everything that reads, links, lists and cancels runs works for it.",
			body: takes(wire.AskRequest{}), params: []param{keyHeader},
			answers: []answered{located(202, "Accepted."), located(200, "The key was used before with the same body. Returns the ask as it is now.")},
			codes:   []refusal.Code{refusal.CodeInvalid, refusal.CodeInvalidArguments, refusal.CodeIdempotencyMismatch, refusal.CodeTooManyRuns, refusal.CodeTenantFull, problems.CodeRateLimited},
			serve:   a.ask},
		{method: http.MethodGet, path: "/v1/asks/{id}", name: "readAsk", tag: "asks", title: "Read an ask", roles: canSeeAsks,
			about: "A token with neither `read` nor `decide` sees only what it asked itself.",
			params: []param{{in: "header", name: "Prefer", several: true,
				about: "`wait=N` delays the response until the ask is decided, at most N seconds (N up to 20)."}},
			answers: []answered{{status: 200, of: wire.Ask{}, about: "The ask at this moment.", headers: []string{"Preference-Applied"}}},
			codes:   []refusal.Code{refusal.CodeRunNotFound}, serve: a.readAsk},
		{method: http.MethodPost, path: "/v1/asks/{id}/cancel", name: "cancelAsk", tag: "asks", title: "Cancel an ask", roles: canStop, body: mayTake(struct{}{}),
			about:   "Withdraws the question. Of a cancel and a decision, the first one counts; read the ask to see which it was.",
			answers: []answered{answers(202, wire.Ask{}, "Accepted.")},
			codes:   []refusal.Code{refusal.CodeRunNotFound, refusal.CodeRunDone}, serve: a.cancelAsk},
	}
}

func (a *api) ask(w http.ResponseWriter, r *http.Request) error {
	var req wire.AskRequest
	if err := bodies.Read(w, r, &req); err != nil {
		return err
	}
	asked, isNew, err := a.asks.Ask(r.Context(), caller(r), r.Header.Get("Idempotency-Key"), req)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if isNew {
		status = http.StatusAccepted
	}
	w.Header().Set("Location", a.public.To("/v1/asks/"+asked.ID))
	return a.writeJSON(w, r, status, asked)
}

func (a *api) readAsk(w http.ResponseWriter, r *http.Request) error {
	wait := params.PreferredWait(r)
	if wait > 0 {
		w.Header().Set("Preference-Applied", "wait")
	}
	asked, err := a.asks.Read(r.Context(), caller(r), r.PathValue("id"), inTime(r, wait))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, asked)
}

func (a *api) cancelAsk(w http.ResponseWriter, r *http.Request) error {
	if err := bodies.ReadOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	asked, err := a.asks.Cancel(r.Context(), caller(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusAccepted, asked)
}
