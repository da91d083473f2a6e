package console

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
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
		if l.URL.Query().Has("late") {
			above = say("outcome.late")
		}
		return c.outcome(w, l, http.StatusOK, *became, above)
	}
	return c.ask(w, l, http.StatusOK, c.asked(*waits), "")
}

// asked is the question as the page of a link draws it, too.
func (c *Console) asked(a wire.Approval) linkpage.Question {
	return linkpage.Question{Product: c.Names.ProductName(), Call: &a.Pending, Edit: true,
		Run: wire.Run{ID: a.RunID, ThreadID: a.ThreadID, Agent: a.Agent, AgentVersion: a.AgentVersion, Metadata: a.Metadata, StartedBy: a.StartedBy}}
}

func (c *Console) ask(w http.ResponseWriter, l look, status int, q linkpage.Question, again string) (err error) {
	if q.Form, err = c.Sessions.FormOf(l.Context(), l.session); err != nil {
		return err
	}
	if !l.who.May(canDecide...) {
		q.OnlyReads = true
	}
	l.question, l.of = q.Call.Suspension.ID, q.Run.ID
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
	return c.writeBody(w, l, status, "outcome", template.HTML(linkpage.Outcome(o, above, links.String())))
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
	waits, _, err := c.Reads.Suspension(l.Context(), l.Caller(), sus)
	if err != nil {
		return err
	}
	if waits == nil {
		c.seeOther(w, "/questions/"+sus+"?late")
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
	d := wire.Decision{Action: v.Action, Reason: v.Reason, Result: v.Result, Arguments: v.Arguments, Shown: v.Shown, ShownBy: linkpage.Renderer}
	if _, err := c.Acts.DecideSuspension(l.Context(), l.Caller(), sus, d); err != nil {
		return c.again(w, l, q, err)
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
	e, known := problems.Refused(err)
	if !known {
		return err
	}
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
	case slices.Contains(correctable, e.Code):
		return c.ask(w, l, status, q, say("question.refused", "detail", e.Detail))
	case status != http.StatusConflict:
		return err
	}
	c.seeOther(w, "/questions/"+l.PathValue("suspension")+"?late")
	return nil
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
