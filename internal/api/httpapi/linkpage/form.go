package linkpage

import (
	"encoding/json"
	"strconv"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// form ends with the two answers.
func (v questionView) form(m *markup) {
	if v.Reads {
		m.add(`<p class="final">You may read this question; your access token lacks the role to answer it.</p>`)
		return
	}
	if v.SignInAt != "" && v.Person == "" {
		m.add(`<div class="answers"><a class="yes" href="`)
		m.words(v.SignInAt)
		m.add(`">Sign in to answer</a></div><p class="final">Nothing happens before you have signed in and answered.</p>`)
		return
	}
	v.begin(m, `look`)
	yes, no := tag(`Approve`), tag(`Deny`)
	switch {
	case v.OnlyDenies != "":
		m.add(`<p class="again"><strong>This link can only deny:</strong> `)
		m.foreign(printable.Spell(v.OnlyDenies))
		m.add(`</p>`)
	case v.answers():
		v.answerFields(m)
		yes = `Send this result`
	}
	if v.asksInput() || v.client() {
		yes, no = `Send this answer`, `Decline to answer`
	}
	v.reason(m)
	v.signIn(m)
	v.oneTime(m)
	m.add(`<div class="answers">`)
	if v.OnlyDenies == "" {
		m.add(`<button id="yes" class="yes" name="action" value="resume">`, yes, `</button>`)
	}
	m.add(`<button id="no" class="no" name="action" value="cancel">`, no, `</button></div>`)
	if v.Edit && v.OnlyDenies == "" && Edits(v.Pending) {
		m.add(`<button class="send" name="action" value="change">Change, then approve</button>`)
	}
	v.final(m)
	m.add(`</form>`)
}

// begin opens a form. Its first button is the one that Enter presses, and decides nothing. It must
// not be disabled, or Enter would press the next one that is not.
func (v questionView) begin(m *markup, enter tag) {
	m.add(`<form method="post"><input type="hidden" name="shown" value="`)
	m.words(v.Fingerprint)
	m.add(`">`)
	if v.Form != "" {
		m.add(`<input type="hidden" name="form" value="`)
		m.words(v.Form)
		m.add(`">`)
	}
	v.takes(m)
	m.add(`<button name="action" value="`, enter, `" hidden>Look</button>`)
}

func (v questionView) reason(m *markup) {
	m.add(`<label for="reason"><strong>Reason</strong> <span class="hint">optional; the assistant may read it</span></label>`,
		`<textarea id="reason" name="reason" maxlength="1000" rows="2" autocomplete="off">`)
	m.typed(v.Typed.Get("reason"))
	m.add(`</textarea>`)
}

// signIn asks for an access token. What was typed there is never shown again.
func (v questionView) signIn(m *markup) {
	if v.Person != "" {
		m.add(`<p>You have signed in as <strong>`)
		m.words(v.Person)
		m.add(`</strong>. The decision is recorded under this name. <a href="`)
		m.words(v.SignInAt)
		m.add(`">Use another account</a></p>`)
	}
	if v.Token {
		m.add(`<label for="token"><strong>Access token</strong> <span class="hint">yours: the decision is recorded under its name</span></label>`,
			`<input type="password" id="token" name="token" autocomplete="off">`)
	}
}

// oneTime asks for a code, and has one sent. The page doesn't show the address: it may have been
// passed on.
func (v questionView) oneTime(m *markup) {
	if v.Code {
		m.add(`<label for="code"><strong>One-time code</strong> <span class="hint">six digits; sent to the mail address that this link is for</span></label>`,
			`<input type="text" id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="12">`,
			`<p><button class="send" name="action" value="code">Send me a code</button></p>`)
	}
}

// typed writes what the person typed before, as it was, into a text area. (HTML drops a line break
// at its beginning.)
func (m *markup) typed(text string) {
	if text != "" {
		m.add("\n")
		m.escaped(text)
	}
}

// answerFields take the answer: a field for each value, or one for all of it.
func (v questionView) answerFields(m *markup) {
	form, ok := FormOf(v.Suspension.ResponseSchema)
	if !ok {
		v.resultField(m)
		return
	}
	m.add(`<h2>Your answer</h2>`)
	v.fields(m, form)
}

// fields writes a field for each value.
func (v questionView) fields(m *markup, form Form) {
	parent := ""
	for _, f := range form.fields {
		if f.parent() != parent && f.parent() != "" {
			m.add(`<p class="part"><bdi class="name">`)
			m.parts(printable.Spell(f.path[0]).Parts)
			m.add(`</bdi></p>`)
		}
		parent = f.parent()
		m.field(f, v)
	}
}

// parent is the object that a field belongs to; empty if it belongs to the answer itself.
func (f field) parent() string {
	if len(f.path) < 2 {
		return ""
	}
	return f.path[0]
}

// field writes a field with its label, and what was wrong with its value. Names, titles and options
// are of others.
func (m *markup) field(f field, v questionView) {
	problem, bad := v.Wrong[f.name]
	grouped := f.kind == fieldChoice || f.kind == fieldSome
	if grouped {
		m.add(`<fieldset class="field"`)
		m.describedBy(f, bad)
		m.add(`><legend>`)
		m.label(f)
		m.add(`</legend>`)
	} else {
		m.add(`<div class="field"><label for="`, f.id(), `">`)
		m.label(f)
		m.add(`</label>`)
	}
	m.about(f)
	if bad {
		m.add(`<p class="bad" id="`, f.id(), `-bad">`)
		m.foreign(printable.Spell(problem))
		m.add(`</p>`)
	}
	m.input(f, v, bad)
	if grouped {
		m.add(`</fieldset>`)
		return
	}
	m.add(`</div>`)
}

// id is the name of a field, which is of this page.
func (f field) id() tag { return tag(f.name) }

func (m *markup) label(f field) {
	if len(f.path) == 0 {
		m.add(`<strong>Answer</strong>`)
	} else {
		m.add(`<bdi class="name">`)
		m.parts(printable.Spell(f.path[len(f.path)-1]).Parts)
		m.add(`</bdi>`)
	}
	if !f.required {
		m.add(` <span class="hint">optional</span>`)
	}
}

// how says how to fill in a field that isn't clear by itself.
var how = map[fieldKind]tag{fieldNumber: `a number`, fieldLines: `one entry per line`, fieldJSON: `JSON`, fieldSome: `any number of these`}

func (m *markup) about(f field) {
	m.add(`<p class="hint" id="`, f.id(), `-about">`, how[f.kind])
	for _, text := range []string{f.title, f.about} {
		if text == "" {
			continue
		}
		m.add(` <bdi class="about">`)
		m.foreign(printable.Spell(text))
		m.add(`</bdi>`)
	}
	m.add(`</p>`)
	if f.kind == fieldJSON && len(f.schema) > len("true") {
		m.framed(`Schema of this value`, string(f.schema))
	}
}

func (m *markup) describedBy(f field, bad bool) {
	m.add(` aria-describedby="`, f.id(), `-about`)
	if bad {
		m.add(` `, f.id(), `-bad" aria-invalid="true`)
	}
	m.add(`"`)
}

func (m *markup) input(f field, v questionView, bad bool) {
	switch f.kind {
	case fieldChoice:
		if !f.required {
			m.choice(f.id(), `radio`, f.id(), ``, v.Typed.Get(f.name) == "")
			if v.answers() {
				m.add(`No answer</label>`)
			} else {
				m.add(`Left out</label>`)
			}
		}
		for i, option := range f.options {
			at := strconv.Itoa(i)
			m.choice(f.id()+tag("-"+at), `radio`, f.id(), tag(at), v.Typed.Get(f.name) == at)
			m.option(option)
		}
	case fieldSome:
		for i, option := range f.options {
			m.choice(tag(f.option(i)), `checkbox`, tag(f.option(i)), `on`, v.Typed.Get(f.option(i)) != "")
			m.option(option)
		}
	case fieldNumber, fieldLine:
		m.add(`<input type="text" autocomplete="off" id="`, f.id(), `" name="`, f.id(), `"`)
		if f.kind == fieldNumber {
			m.add(` inputmode="decimal"`)
		}
		m.describedBy(f, bad)
		m.add(` value="`)
		m.escaped(v.Typed.Get(f.name))
		m.add(`">`)
	default:
		m.add(`<textarea rows="2" autocomplete="off" id="`, f.id(), `" name="`, f.id(), `"`)
		m.describedBy(f, bad)
		m.add(`>`)
		m.typed(v.Typed.Get(f.name))
		m.add(`</textarea>`)
	}
}

// choice opens the label of a button to choose with.
func (m *markup) choice(id, kind, name, value tag, chosen bool) {
	m.add(`<label class="choice"><input id="`, id, `" type="`, kind, `" name="`, name, `" value="`, value, `"`)
	if chosen {
		m.add(` checked`)
	}
	m.add(`> `)
}

func (m *markup) option(option json.RawMessage) {
	text := textOf(option)
	switch {
	case string(option) == "true":
		m.add(`Yes`)
	case string(option) == "false":
		m.add(`No`)
	case text == "":
		m.add(`<span class="chip">empty text</span>`)
	default:
		m.add(`<bdi>`)
		m.parts(printable.Spell(text).Parts)
		m.add(`</bdi>`)
	}
	m.add(`</label>`)
}

// mostResult bounds the characters of a result that is typed into the page.
const mostResult = 20_000

// resultField takes an answer that has no fields.
func (v questionView) resultField(m *markup) {
	m.add(`<label for="result"><strong>Result</strong> <span class="hint">`)
	if takesJSON(v.Suspension.ResponseSchema) {
		m.add(`JSON that fits the schema below; the assistant reads it as the result of the call`)
	} else {
		m.add(`text; the assistant reads it as the result of the call`)
	}
	m.add(`</span></label><textarea id="result" name="result" rows="4" autocomplete="off" maxlength="`)
	m.words(strconv.Itoa(mostResult))
	m.add(`">`)
	m.typed(v.Typed.Get("result"))
	m.add(`</textarea>`)
	if len(v.Suspension.ResponseSchema) > 0 {
		m.framed(`Schema of the result`, string(v.Suspension.ResponseSchema))
	}
}

// takesJSON says whether a result that fits the schema is written as JSON. Without a schema, or
// with one of a text, it is typed as it is.
func takesJSON(schema json.RawMessage) bool {
	var of struct {
		Type any `json:"type"`
	}
	return len(schema) > 0 && json.Unmarshal(schema, &of) == nil && of.Type != "string"
}
