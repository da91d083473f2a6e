package linkpage

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// A person changes arguments on a page of its own, and is shown the difference before anything is
// sent. What was typed goes along in the forms; the server keeps nothing.
//
//	question ── change ──▶ fields ── compare ──▶ difference ── edit ──▶ the decision
//	   ▲                    │   ▲                    │
//	   └─────── look ───────┘   └────── change ──────┘
const (
	actionChange  = "change"  // the fields, please
	actionCompare = "compare" // the difference, please
	actionEdit    = "edit"    // approve the call with the arguments of this form
)

// Edits says whether a decision can change the arguments of a call on its page.
func Edits(call wire.Pending) bool {
	return call.Tool != "" && !Answers(call) && len(call.Arguments) <= mostEdited
}

// IsEdit says whether a form with this action approves the call with other arguments.
func IsEdit(action string) bool { return action == actionEdit }

// mostEdited is how many bytes of arguments fit into a form, escaped.
const mostEdited = 8 << 10

// Looked is the status of the page that a form without an answer is answered with.
func (q *Question) Looked() int {
	switch action := q.Typed.Get("action"); {
	case len(q.Wrong) > 0:
		return http.StatusUnprocessableEntity
	case action == actionChange || action == actionCompare:
		return http.StatusOK
	}
	return http.StatusBadRequest // the enter key, in a field
}

// argumentsForm has a field for each argument of a call, and what is in them when they are filled
// with the arguments. ok is false if fields could not hold these arguments as they are: then all of
// them are written as JSON.
func argumentsForm(call *wire.Pending, arguments json.RawMessage) (f Form, filled url.Values, ok bool) {
	if call.ToolDetails == nil {
		return f, nil, false
	}
	if f, ok = FormOf(call.ToolDetails.Parameters); ok && f.object {
		filled, ok = f.Fill(arguments)
	}
	return f, filled, ok && f.object
}

// Fill fills the fields so that [Form.Read] reads this answer from them. ok is false if that isn't
// possible: the answer has members without a field, say, or a text that a browser would change.
func (f Form) Fill(answer json.RawMessage) (typed url.Values, ok bool) {
	typed = url.Values{}
	for _, one := range f.fields {
		if value := at(answer, one.path); value != nil {
			one.fill(typed, value)
		}
	}
	back, wrong := f.Read(sent(typed))
	if len(wrong) > 0 {
		// a value that doesn't fit its schema is corrected where it stands
		return typed, f.fills(answer, typed)
	}
	return typed, same(back, answer)
}

// fills says whether the fields show the answer, also where its values don't fit their schemas.
func (f Form) fills(answer json.RawMessage, typed url.Values) bool {
	loose := Form{object: f.object}
	for _, one := range f.fields {
		one.schema, one.required = json.RawMessage("true"), false
		loose.fields = append(loose.fields, one)
	}
	back, wrong := loose.Read(sent(typed))
	return len(wrong) == 0 && same(back, answer)
}

func same(a, b json.RawMessage) bool {
	one, err := core.Canonical(a)
	if err != nil {
		return false
	}
	other, err := core.Canonical(b)
	return err == nil && string(one) == string(other)
}

// sent is what a browser sends of a form that was filled like this.
func sent(filled url.Values) url.Values {
	breaks := strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n", "\x00", "\ufffd")
	all := url.Values{}
	for name, values := range filled {
		for _, text := range values {
			all.Add(name, breaks.Replace(text))
		}
	}
	return all
}

// at is the value at a path; nil if there is none.
func at(value json.RawMessage, path []string) json.RawMessage {
	for _, name := range path {
		members := membersOf(value)
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		if i < 0 {
			return nil
		}
		value = members[i].schema
	}
	return value
}

// fill puts a value into the field.
func (f field) fill(typed url.Values, value json.RawMessage) {
	switch f.kind {
	case fieldChoice:
		if i := f.optionOf(value); i >= 0 {
			typed.Set(f.name, f.optionAt(i))
		}
	case fieldSome:
		var chosen []json.RawMessage
		_ = json.Unmarshal(value, &chosen) // what is no list is written as JSON
		for _, one := range chosen {
			if i := f.optionOf(one); i >= 0 {
				typed.Set(f.option(i), "on")
			}
		}
	case fieldLines:
		var all []string
		_ = json.Unmarshal(value, &all)
		typed.Set(f.name, strings.Join(all, "\n"))
	case fieldText, fieldLine:
		typed.Set(f.name, textOf(value))
	case fieldNumber:
		typed.Set(f.name, string(value))
	default:
		typed.Set(f.name, printable.JSON(string(value)))
	}
}

// readEdit reads the arguments of a page of an edit. There is a button for each answer, so that a
// person who has changed them can't approve the original ones by mistake, nor the other way round.
func (q *Question) readEdit(v *wire.Verdict, form url.Values, call *wire.Pending) error {
	if v.Action == actionChange {
		return nil
	}
	typed := json.RawMessage(form.Get("arguments"))
	if fields, _, ok := argumentsForm(call, call.Arguments); ok && !form.Has("arguments") {
		if typed, q.Wrong = fields.Read(form); len(q.Wrong) > 0 {
			return nil
		}
	}
	edited, err := core.Canonical(typed)
	original, _ := core.Canonical(call.Arguments)
	changed := err != nil || string(edited) != string(original)
	wrong := func(detail string) error {
		q.Wrong = map[string]string{"arguments": detail}
		if v.Action == actionCompare {
			return nil
		}
		return &refusal.Error{Code: refusal.CodeInvalidArguments, Detail: detail}
	}
	switch {
	// of a call that doesn't wait any more, the original is nil
	case v.Action == core.ActionResume.String() && changed && original != nil && len(typed) > 0:
		return wrong("the arguments were changed; approve them on the page that shows the difference, or undo the change")
	case v.Action == core.ActionResume.String():
		return nil
	case err != nil:
		return wrong("the arguments aren't JSON; put names and texts in double quotes")
	case edited[0] != '{':
		return wrong("the arguments must be an object")
	case strictjson.Check(typed) != nil: // which of the two was meant is not known
		return wrong("the arguments are ambiguous: an object has a name twice")
	case !changed:
		return wrong("nothing is changed; change something, or go back and approve the call as it is")
	}
	if q.edited = edited; v.Action == actionEdit {
		v.Action, v.Arguments = core.ActionResume.String(), typed
	}
	return nil
}

// change is the page with a field for each argument.
func (v questionView) change(m *markup) {
	fields, filled, ok := argumentsForm(&v.Pending, v.Arguments)
	if v.Typed.Has("arguments") { // from the page of the difference
		var refill url.Values
		if _, refill, ok = argumentsForm(&v.Pending, json.RawMessage(v.Typed.Get("arguments"))); ok {
			filled = refill
		}
	} else if v.Typed.Get("action") == actionCompare {
		filled = v.Typed
	}
	m.add(`<main class="question"><div class="head">`)
	v.again(m)
	if problem, bad := v.Wrong["arguments"]; bad && ok {
		m.add(`<p class="again"><strong>`)
		m.foreign(printable.Spell(problem))
		m.add(`</strong></p>`)
	}
	m.add(`<h1>Change, then approve</h1><p class="hint">You see the difference before anything is sent.</p></div><section>`)
	v.begin(m, actionCompare)
	if ok {
		shown := v
		shown.Typed = filled
		shown.fields(m, fields)
	} else {
		v.argumentsField(m)
	}
	v.reason(m)
	m.add(`<div class="answers"><button class="yes" name="action" value="compare">Show the difference</button>`,
		`<button class="send" name="action" value="look">Back</button></div></form></section></main>`)
}

// argumentsField takes arguments that have no fields.
func (v questionView) argumentsField(m *markup) {
	problem, bad := v.Wrong["arguments"]
	m.add(`<div class="field"><label for="arguments"><strong>Arguments</strong> <span class="hint">JSON; the tool gets these in place of the ones it was to get</span></label>`)
	if bad {
		m.add(`<p class="bad" id="arguments-bad">`)
		m.foreign(printable.Spell(problem))
		m.add(`</p>`)
	}
	m.add(`<textarea id="arguments" name="arguments" rows="8" autocomplete="off" spellcheck="false"`)
	if bad {
		m.add(` aria-describedby="arguments-bad" aria-invalid="true"`)
	}
	m.add(`>`)
	if v.Typed.Has("arguments") {
		m.typed(v.Typed.Get("arguments"))
	} else {
		m.typed(printable.JSON(string(v.Arguments)))
	}
	m.add(`</textarea></div>`)
}

// difference is the page that shows what was changed, and approves exactly that.
func (v questionView) difference(m *markup) {
	m.add(`<main class="question"><div class="head">`)
	v.again(m)
	m.add(`<h1>`)
	if plainTool(v.Tool) {
		m.add(`May it run `)
		m.named(v.Tool)
		m.add(`, with your change?`)
	} else {
		m.add(`May it run this tool, with your change?`)
	}
	m.add(`</h1>`)
	v.timeLeft(m)
	m.add(`</div><section><h2>What will be done, exactly</h2><p class="hint">The tool gets these arguments and no others.</p>`)
	if !plainTool(v.Tool) {
		m.framed(`Tool`, v.Tool)
	}
	m.differences(v.Arguments, v.edited)
	m.add(`</section><section>`)
	v.begin(m, actionCompare)
	m.add(`<input type="hidden" name="arguments" value="`)
	m.escaped(string(v.edited))
	m.add(`">`)
	v.reason(m)
	v.signIn(m)
	v.oneTime(m)
	m.add(`<div class="answers"><button id="yes" class="yes" name="action" value="edit">Approve with this change</button>`,
		`<button class="send" name="action" value="change">Back</button></div>`)
	v.final(m)
	m.add(`</form></section></main>`)
}

// differences writes all rows of both texts: what was asked for and is gone, or is another value
// now, is written beside what takes its place.
func (m *markup) differences(asked, edited []byte) {
	old, now := printable.Rows(asked), printable.Rows(edited)
	find := func(rows []printable.Row, pointer string) *printable.Row {
		if i := slices.IndexFunc(rows, func(r printable.Row) bool { return r.Pointer == pointer }); i >= 0 {
			return &rows[i]
		}
		return nil
	}
	m.add(`<div class="zone"><dl class="values">`)
	for _, row := range old {
		switch next := find(now, row.Pointer); {
		case next == nil:
			m.changed(&row, nil)
		case next.Type == row.Type && next.Words == row.Words && next.Value.String() == row.Value.String():
			m.value(*next)
		default:
			m.changed(&row, next)
		}
	}
	for _, row := range now {
		if find(old, row.Pointer) == nil {
			m.changed(nil, &row)
		}
	}
	m.add(`</dl></div>`)
}

// changed writes a value that was asked for, and the one in its place; nil is none.
func (m *markup) changed(asked, yours *printable.Row) {
	of := asked
	if of == nil {
		of = yours
	}
	m.add(`<div class="row wide changed">`)
	m.path(of.Path)
	m.add(`<dd class="mark">changed by you</dd>`)
	m.side(`Asked`, ` was`, `not asked for`, asked)
	m.side(`Yours`, ` now`, `left out`, yours)
	m.nameOrder(*of)
	m.add(`</div>`)
}

func (m *markup) side(label, class, none tag, row *printable.Row) {
	m.add(`<dd class="side">`, label, `</dd>`)
	if row == nil {
		m.add(`<dd class="value own">`, none, `</dd>`)
		return
	}
	m.valued(*row, isLong(*row), class)
}
