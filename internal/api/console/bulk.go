package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkform"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/bulk"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Bulks answer several questions at once. The contract is that of [bulk.Desk].
type Bulks interface {
	Decide(ctx context.Context, c frontend.Caller, b wire.Bulk, atOnce bool) ([]bulk.Answer, error)
}

// shownField begins the name of the field with the fingerprint of a question, whose id follows.
const shownField = "shown-"

// bulkView is the page of several questions: those that wait, with every value, and what became of
// the others.
type bulkView struct {
	Form, ID  string
	Above     string // what is said first
	Waiting   []bulkRow
	Done      []bulkDone
	Together  bool // those that wait are alike, so that one answer can be given
	Approve   string
	Deny      string
	Hold      int // seconds; 0: an answer is final
	Final     string
	Left      int // milliseconds until the first answer that can be taken back takes effect
	LeftWhole int
	Undo      []heldAnswer
	Kept      []bulkDone // answers that weren't undone, though it was asked for, and why
}

// bulkRow is a question that waits, with all of its values.
type bulkRow struct {
	row
	Arguments []byte
	Preview   string
	By        string
	Shown     string // its fingerprint
	Refused   string // why an answer that was just sent wasn't stored
}

// bulkDone is a question that waits no more, and what was stored.
type bulkDone struct {
	Path, Question, Run, Tool, Said string
}

type heldAnswer struct{ Field, Decision string }

// together shows the questions that the address names.
func (c *Console) together(w http.ResponseWriter, l look) error {
	above := ""
	if l.URL.Query().Has("kept") {
		above = say("bulk.kept")
	}
	return c.review(w, l, http.StatusOK, l.URL.Query()["question"], remarks{above: above})
}

// remarks are what the page of several questions says of what was just sent, by question: why an
// answer wasn't stored, and why one wasn't undone.
type remarks struct {
	above         string
	refused, kept map[string]string
}

// review draws the page of several questions. A question that can't be read fails it, but one whose
// answer wasn't undone: it is only named.
func (c *Console) review(w http.ResponseWriter, l look, status int, ids []string, said remarks) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	switch n := len(ids); {
	case n == 0:
		c.seeOther(w, "/")
		return nil
	case n > bulk.Most:
		return tooMany()
	}
	form, err := c.Sessions.FormOf(l.Context(), l.session)
	if err != nil {
		return err
	}
	v := bulkView{Form: form, Above: said.above, Together: true, Hold: int(c.Hold / time.Second), Final: say("bulk.final")}
	if v.Hold > 0 {
		v.Final = say("bulk.hold", "n", strconv.Itoa(v.Hold))
	}
	now, alike, key := c.Clock.Now(), "", strings.Builder{}
	for _, id := range ids {
		kept, failed := said.kept[id]
		if failed {
			v.Kept = append(v.Kept, bulkDone{Path: "/questions/" + url.PathEscape(id), Question: id, Said: kept})
		}
		waits, became, err := c.Reads.Suspension(l.Context(), l.Caller(), id)
		switch {
		case err != nil && failed:
			continue
		case err != nil:
			return err
		case waits == nil:
			v.done(*became, l.Caller().By, now)
			continue
		}
		alike = first(alike, waits.Alike)
		v.Together = v.Together && waits.Alike != "" && waits.Alike == alike
		key.WriteString(id + " " + strconv.Itoa(len(waits.Suspension.Withdrawn)) + "\n")
		v.Waiting = append(v.Waiting, waiting(*waits, now, said.refused[id]))
	}
	l.stored = addressOf(ids)
	v.ID = "console-" + core.Digest([]byte(key.String()))[:32]
	n := strconv.Itoa(len(v.Waiting))
	v.Approve, v.Deny = say("bulk.approve", "n", n), say("bulk.deny", "n", n)
	return c.write(w, l, status, "bulk", v)
}

func tooMany() error {
	return refusal.New(refusal.CodeInvalid, "%s", say("bulk.many", "n", strconv.Itoa(bulk.Most)))
}

func first(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func waiting(a wire.Approval, now time.Time, refused string) bulkRow {
	r := bulkRow{row: rowOf(a, now), Arguments: a.Arguments, Shown: a.Fingerprint, Refused: refused}
	if a.Preview != nil {
		r.Preview = a.Preview.Text
	}
	if a.StartedBy != nil {
		r.By = a.StartedBy.By
	}
	return r
}

// done notes what was stored, and whether the reader may take it back.
func (v *bulkView) done(o wire.Outcome, by string, now time.Time) {
	d := bulkDone{Path: "/questions/" + o.Suspension, Question: o.Suspension, Run: o.RunID, Tool: o.Tool, Said: say("bulk.gone")}
	switch {
	case o.State == query.OutcomeTimedOut:
		d.Said = say("bulk.timed_out")
	case o.Decision != nil && o.Decision.Action == core.ActionCancel.String():
		d.Said = say("bulk.denied", "by", nameOf(o.Decision.By))
	case o.Decision != nil:
		d.Said = say("bulk.approved", "by", nameOf(o.Decision.By))
	}
	v.Done = append(v.Done, d)
	if o.AppliesAt == nil || o.Decision == nil || o.Decision.By != by || o.Decision.Via == core.ViaLink {
		return
	}
	left := max(0, int(o.AppliesAt.Sub(now).Milliseconds()))
	if v.Undo == nil || left < v.Left {
		v.Left, v.LeftWhole = left, (left+999)/1000
	}
	v.Undo = append(v.Undo, heldAnswer{"undo-" + o.Suspension, o.Decision.DecisionID})
}

// nameOf is who decided, as people know them.
func nameOf(by string) string {
	kind, name, _ := strings.Cut(by, ":")
	switch {
	case by == "":
		return say("bulk.caller")
	case kind == "token":
		return name
	}
	return by
}

// answerTogether sends the form on as one bulk, and the browser to what became of the questions.
// Answers that weren't stored are said on the page of those questions, which wait for another.
func (c *Console) answerTogether(w http.ResponseWriter, l look) error {
	form, err := c.readForm(w, l)
	if err != nil {
		return err
	}
	ids, address := questionsIn(form, shownField)
	if len(ids) > bulk.Most {
		return tooMany()
	}
	switch form.Get("action") {
	case core.ActionResume.String(), core.ActionCancel.String():
	case linkform.Withdraw:
		return c.undoTogether(w, l, form)
	default: // what the enter key sends
		c.seeOther(w, address)
		return nil
	}
	b := wire.Bulk{BulkID: form.Get("bulk_id"), Action: form.Get("action"), Reason: strings.TrimSpace(form.Get("reason")), ShownBy: linkpage.Renderer}
	if form.Get("hold") != "" {
		b.Hold = int(c.Hold / time.Second)
	}
	for _, id := range ids {
		b.Questions = append(b.Questions, wire.BulkQuestion{Suspension: id, Shown: form.Get(shownField + id)})
	}
	answers, err := c.Bulks.Decide(l.Context(), l.Caller(), b, true)
	if e, known := problems.Refused(err); known && problems.Of(e.Code).Status == http.StatusConflict {
		return c.review(w, l, http.StatusConflict, ids, remarks{above: say("question.refused", "detail", e.Detail)})
	}
	if err != nil {
		return c.orUnsure(w, l, address, form, err)
	}
	refused := map[string]string{}
	for _, a := range answers {
		if a.Err == nil {
			continue
		}
		if e, known := problems.Refused(a.Err); known {
			refused[a.Target] = e.Detail
			continue
		}
		c.Logger.ErrorContext(l.Context(), "an answer of several failed", "question", a.Target, "error", a.Err)
		refused[a.Target] = say("bulk.unknown")
	}
	if len(refused) > 0 {
		some := remarks{above: say("bulk.some", "n", strconv.Itoa(len(refused)), "all", strconv.Itoa(len(ids))), refused: refused}
		return c.orUnsure(w, l, address, form, c.review(w, l, http.StatusConflict, ids, some))
	}
	c.seeOther(w, address)
	return nil
}

// questionsIn are the questions that fields of a form begin with, in order, and the address of
// their page.
func questionsIn(form url.Values, prefix string) (ids []string, address string) {
	for name := range form {
		if id, is := strings.CutPrefix(name, prefix); is {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, addressOf(ids)
}

func addressOf(ids []string) string { return "/bulk?" + url.Values{"question": ids}.Encode() }

// orUnsure offers what was sent once more, if it failed, or its page did, in a way that doesn't say
// what is stored.
func (c *Console) orUnsure(w http.ResponseWriter, l look, address string, form url.Values, err error) error {
	if err == nil || !problems.MayBeStored(err) {
		return err
	}
	return c.unsure(w, l, address, linkpage.Question{Typed: form}, err)
}

// undoTogether takes back what can be: each answer is held on its own, and the failure of one stops
// no other. If all that failed came too late, the browser is sent to what became of the questions.
func (c *Console) undoTogether(w http.ResponseWriter, l look, form url.Values) error {
	ids, address := questionsIn(form, "undo-")
	if len(ids) > bulk.Most {
		return tooMany()
	}
	kept, late := map[string]string{}, 0
	for _, id := range ids {
		_, err := c.Acts.Withdraw(l.Context(), l.Caller(), id, form.Get("undo-"+id))
		if err == nil {
			continue
		}
		e, known := problems.Refused(err)
		switch {
		case !known:
			c.Logger.ErrorContext(l.Context(), "an undo of several failed", "question", id, "error", err)
			kept[id] = say("bulk.undo_unknown")
			continue
		case problems.Of(e.Code).Status == http.StatusConflict:
			late++
		}
		kept[id] = e.Detail
	}
	others, _ := questionsIn(form, "with-")
	if len(others) > 0 {
		address = addressOf(append(ids, others...))
	}
	if len(kept) > late {
		above := say("bulk.undo_some", "n", strconv.Itoa(len(kept)), "all", strconv.Itoa(len(ids)))
		return c.orUnsure(w, l, address, form, c.review(w, l, http.StatusConflict, append(ids, others...), remarks{above: above, kept: kept}))
	}
	if late > 0 {
		address += "&kept"
	}
	c.seeOther(w, address)
	return nil
}
