package console

import (
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkform"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/answer"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// question shows what is asked, or what became of it. It changes nothing.
func (c *Console) question(w http.ResponseWriter, l look) error {
	waits, became, err := c.Reads.Suspension(l.Context(), l.Caller(), l.PathValue("suspension"))
	switch {
	case err != nil:
		return err
	case waits == nil:
		above := ""
		switch asked := l.URL.Query(); {
		case asked.Has("late"):
			above = say("outcome.late")
		case asked.Has("before"):
			above = say("outcome.before")
		case asked.Has("kept") && became.AppliesAt == nil:
			above = say("outcome.kept")
		case asked.Has("final") && became.AppliesAt == nil:
			above = say("outcome.final")
		}
		return c.outcome(w, l, http.StatusOK, *became, above)
	}
	return c.ask(w, l, http.StatusOK, c.asked(*waits), "")
}

// asked is the question as the page of a link draws it, too.
func (c *Console) asked(a wire.Approval) linkpage.Question {
	return linkpage.Question{Product: c.Names.ProductName(), Call: &a.Pending, Edit: true, Hold: int(c.Hold / time.Second),
		Run: wire.Run{ID: a.RunID, ThreadID: a.ThreadID, Agent: a.Agent, AgentVersion: a.AgentVersion, Metadata: a.Metadata, StartedBy: a.StartedBy}}
}

func (c *Console) ask(w http.ResponseWriter, l look, status int, q linkpage.Question, again string) (err error) {
	if q.Form, err = c.Sessions.FormOf(l.Context(), l.session); err != nil {
		return err
	}
	if !l.who.May(canDecide...) {
		q.OnlyReads = true
	}
	if len(q.Call.Suspension.Withdrawn) > 0 {
		if q.TookBack, err = c.Reads.TookBack(l.Context(), l.Caller(), q.Call.Suspension.ID); err != nil {
			return err
		}
	}
	l.question, l.of, l.stored = q.Call.Suspension.ID, q.Run.ID, "/questions/"+q.Call.Suspension.ID
	return c.writeBody(w, l, status, "question", template.HTML(linkpage.Ask(q, c.Clock.Now(), again)))
}

func (c *Console) outcome(w http.ResponseWriter, l look, status int, o wire.Outcome, above string) error {
	var links strings.Builder
	if l.who.May(access.Read) {
		if err := c.pages.ExecuteTemplate(&links, "outcome.html", o); err != nil {
			return err
		}
	}
	l.run = o.RunID // the page says when the run has gone on
	u := linkpage.Undo{Now: c.Clock.Now(), Mine: o.Decision != nil && o.Decision.By == l.Caller().By && o.Decision.Via != core.ViaLink}
	if u.Mine = u.Mine && l.who.May(canDecide...); u.Mine && o.AppliesAt != nil {
		var err error
		if u.Form, err = c.Sessions.FormOf(l.Context(), l.session); err != nil {
			return err
		}
		l.stored = "/questions/" + o.Suspension
	}
	return c.writeBody(w, l, status, "outcome", template.HTML(linkpage.Outcome(o, u, above, links.String())))
}

// answer sends the form on as a decision, and the browser to what became of the question. The
// question is read first: the form says which answer was given, and the question what its fields
// mean.
func (c *Console) answer(w http.ResponseWriter, l look) error {
	sus := l.PathValue("suspension")
	form, err := c.readForm(w, l)
	if err != nil {
		return err
	}
	if form.Get("action") == linkform.Withdraw {
		return c.undo(w, l, sus, form)
	}
	waits, became, err := c.Reads.Suspension(l.Context(), l.Caller(), sus)
	switch {
	case err != nil && problems.MayBeStored(err): // by an earlier copy of the form
		return c.unsure(w, l, "/questions/"+sus, linkpage.Question{Typed: form}, err)
	case err != nil:
		return err
	case waits == nil:
		c.seeOther(w, "/questions/"+sus+countedAs(form, sus, became.Decision, l.Caller().By))
		return nil
	}
	q := c.asked(*waits)
	v, err := q.Read(form, q.Call)
	if err == nil && v.Action == core.ActionResume.String() {
		err = q.Complete(*q.Call, v)
	}
	switch {
	case err != nil:
		return c.again(w, l, q, err)
	case v.Action != core.ActionResume.String() && v.Action != core.ActionCancel.String():
		return c.ask(w, l, q.Looked(), q, "")
	case v.Shown == "":
		return c.ask(w, l, http.StatusConflict, q, say("question.changed"))
	}
	return c.decide(w, l, q, v)
}

// countedAs is what the address of an outcome says of a form that came behind the decision:
// nothing, if it is the answer of this person that was stored, sent again; "?late" if it isn't; and
// "?before" if that can't be known, as the question that says what its fields mean is gone.
func countedAs(form url.Values, sus string, d *wire.OutcomeDecision, by string) string {
	action, reason := form.Get("action"), strings.TrimSpace(form.Get("reason"))
	edits := linkpage.IsEdit(action)
	if edits {
		action = core.ActionResume.String()
	}
	switch {
	case d == nil || d.By != by || d.Action != action || d.Reason != reason:
		return "?late"
	case edits:
		sent := wire.Decision{Action: action, Reason: reason, Arguments: json.RawMessage(form.Get("arguments"))}
		withdrawn, _ := strconv.Atoi(form.Get("withdrawn"))
		if d.DecisionID != idOf(sus, sent, withdrawn) {
			return "?late"
		}
		return ""
	}
	for name := range form {
		if !slices.Contains([]string{"action", "reason", "shown", "hold", "withdrawn"}, name) && form.Get(name) != "" {
			return "?before"
		}
	}
	return ""
}

// decide stores an answer. One that can't be held takes effect at once, as the page said that it
// might: an answer isn't lost because the run is busy.
func (c *Console) decide(w http.ResponseWriter, l look, q linkpage.Question, v wire.Verdict) error {
	sus := l.PathValue("suspension")
	d := wire.Decision{Action: v.Action, Reason: v.Reason, Result: v.Result, Arguments: v.Arguments, Shown: v.Shown, ShownBy: linkpage.Renderer, Hold: v.Hold}
	if v.Withdrawn > 0 {
		d.DecisionID = idOf(sus, d, v.Withdrawn)
	}
	stored, err := holds.OrAtOnce(d, true, func(d wire.Decision) (wire.DecisionAnswer, error) {
		return c.Acts.DecideSuspension(l.Context(), l.Caller(), sus, d)
	})
	switch {
	case err != nil:
		return c.again(w, l, q, err)
	case d.Hold > 0 && stored.AppliesAt == nil:
		c.seeOther(w, "/questions/"+sus+"?final")
		return nil
	}
	c.seeOther(w, "/questions/"+sus)
	return nil
}

// idOf is the id of an answer, which follows from what it says: sent again, it is the same answer.
// After some were withdrawn, it follows from their number, too: a copy of a form that was drawn
// before has the id of an answer that was withdrawn, and stores nothing.
func idOf(sus string, d wire.Decision, withdrawn int) string {
	in := answer.Input{Suspension: sus, Action: d.Action, Result: d.Result, Arguments: d.Arguments, Reason: d.Reason}
	if withdrawn > 0 {
		return "again-" + strconv.Itoa(withdrawn) + "-" + in.Digest()
	}
	return in.OwnID()
}

// undo takes back an answer of this person that is held, and shows the question, or what became of
// it.
func (c *Console) undo(w http.ResponseWriter, l look, sus string, form url.Values) error {
	_, err := c.Acts.Withdraw(l.Context(), l.Caller(), sus, form.Get("decision_id"))
	if e, known := problems.Refused(err); known && problems.Of(e.Code).Status == http.StatusConflict {
		c.seeOther(w, "/questions/"+sus+"?kept")
		return nil
	}
	if err != nil && problems.MayBeStored(err) {
		return c.unsure(w, l, "/questions/"+sus, linkpage.Question{Typed: form}, err)
	}
	if err != nil {
		return err
	}
	c.seeOther(w, "/questions/"+sus)
	return nil
}

// correctable are the refusals after which the person can answer otherwise.
var correctable = []refusal.Code{refusal.CodeResultRequired, refusal.CodeSchemaMismatch, refusal.CodeInvalid, refusal.CodeInvalidArguments,
	refusal.CodeNotAnApprover, refusal.CodeSeparationOfDuties}

// again answers a refused answer: with the question, where the person can correct it or has to read
// it again, and otherwise with what counts instead.
func (c *Console) again(w http.ResponseWriter, l look, q linkpage.Question, err error) error {
	if problems.MayBeStored(err) {
		return c.unsure(w, l, "/questions/"+l.PathValue("suspension"), q, err)
	}
	e, _ := problems.Refused(err)
	status := problems.Of(e.Code).Status
	if e.Code == refusal.CodeInvalidArguments {
		q.Wrong = map[string]string{"arguments": e.Detail}
	}
	switch {
	case e.Code == refusal.CodeChanged:
		now, _, err := c.Reads.Suspension(l.Context(), l.Caller(), l.PathValue("suspension"))
		if err != nil {
			return err
		}
		if now != nil {
			return c.ask(w, l, status, c.asked(*now), say("question.changed"))
		}
	case e.Code == refusal.CodeDecisionWithdrawn:
		return c.ask(w, l, status, q, linkpage.Spent)
	case slices.Contains(correctable, e.Code):
		return c.ask(w, l, status, q, say("question.refused", "detail", e.Detail))
	case status != http.StatusConflict:
		return err
	}
	c.seeOther(w, "/questions/"+l.PathValue("suspension")+"?late")
	return nil
}

// unsure answers after an error that says nothing of what was stored, or undone: with a form that
// sends the same again. What is stored is shown at an address.
func (c *Console) unsure(w http.ResponseWriter, l look, at string, q linkpage.Question, why error) (err error) {
	c.Logger.ErrorContext(l.Context(), "an answer may be stored or not", "at", at, "error", why)
	e, _ := problems.Refused(why)
	if q.Form, err = c.Sessions.FormOf(l.Context(), l.session); err != nil {
		return err
	}
	l.question, l.stored = l.PathValue("suspension"), at
	return c.writeBody(w, l, problems.Of(e.Code).Status, "question", template.HTML(linkpage.Unsure(q, c.Public.Prefix()+at)))
}

// readForm reads a form of this session.
func (c *Console) readForm(w http.ResponseWriter, l look) (url.Values, error) {
	form, err := bodies.Form(w, l.Request, "the page")
	if err != nil {
		return nil, err
	}
	is, err := c.Sessions.IsForm(l.Context(), l.session, form.Get("form"))
	if err == nil && !is {
		err = &refusal.Error{Code: problems.CodeForbidden, Detail: "the form is of another session; open the page again. Nothing was stored"}
	}
	form.Del("form")
	if err == nil && l.in {
		err = c.stillIn(l)
	}
	return form, err
}
