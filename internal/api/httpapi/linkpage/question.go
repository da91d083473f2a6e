package linkpage

import (
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// Renderer names this page in the record of a decision: what drew the question that was
// answered. It changes with what the page shows.
const Renderer = "page/3"

// questionView is what the page of a question shows. The strings in it are of others: they reach
// the page by markup alone.
type questionView struct {
	wire.Approval
	Mode  core.ResumeMode
	Now   time.Time
	Again string // why the question is shown once more; empty the first time
	Ready string // as in [Question]
	Typed url.Values
	Wrong map[string]string
	Edit  bool
	Token bool
	Code  bool
	Sent  bool // a code, just now
	Reads bool // only

	SignInAt, Person, OnlyDenies, Form string // as in [Question]

	hold     int  // for how many seconds this answer can be held
	tookBack bool // as in [Question]

	edited json.RawMessage // as in [Question]
}

func viewOf(l Question, now time.Time) questionView {
	v := questionView{Approval: l.Approval(), Now: now, Ready: l.Ready, Typed: l.Typed, Wrong: l.Wrong, Edit: l.Edit, Token: l.SignIn, SignInAt: l.SignInAt, Person: l.Person, Code: l.Code, Sent: l.CodeSent, OnlyDenies: l.OnlyDenies, Form: l.Form, Reads: l.OnlyReads, edited: l.edited, hold: l.Holds(), tookBack: l.TookBack}
	_ = v.Mode.UnmarshalText([]byte(l.Call.ResumeMode)) // the frontend wrote it
	return v
}

// Ask is the page that shows the call and asks for an answer. again is why the question is shown
// once more, though nothing was stored; it is empty the first time.
func Ask(l Question, now time.Time, again string) string {
	v := viewOf(l, now)
	v.Again = again
	var m markup
	switch action := l.Typed.Get("action"); {
	case !v.Edit || v.OnlyDenies != "" || v.Reads || !Edits(v.Pending):
		v.page(&m)
	case l.edited != nil && (action == actionCompare || action == actionEdit):
		v.difference(&m)
	case action == actionChange || action == actionCompare || action == actionEdit:
		v.change(&m)
	default:
		v.page(&m)
	}
	return m.String()
}

// answers says whether the answer has a value: it is the call's result, or what the tool or its
// program needs.
func (v questionView) answers() bool { return Answers(v.Pending) }

// Answers says whether an answer to a call has a value, and more than a yes.
func Answers(call wire.Pending) bool {
	return call.Kind != core.KindApproval.String() || call.ResumeMode == core.UseDecisionAsToolResult.String()
}

// asksToGoOn says whether the run itself asks whether it may go on.
func (v questionView) asksToGoOn() bool {
	return v.Kind == core.KindApproval.String() && v.Tool == ""
}

// client says whether a program was to run the call.
func (v questionView) client() bool { return v.Kind == core.KindClient.String() }

// asksInput says whether a tool asks the question.
func (v questionView) asksInput() bool { return v.Kind == core.KindInput.String() }

// messageLabel says whose words the message of the question is.
func (v questionView) messageLabel() tag {
	if v.asksInput() {
		return `The tool asks`
	}
	return `Rule`
}

// page is the body: who asks what, until when, exactly what, why, and the answer below all of it.
func (v questionView) page(m *markup) {
	m.add(`<main class="question"><div class="head">`)
	v.again(m)
	if v.Sent {
		m.add(`<p class="again"><strong>A code was sent.</strong> Enter it below within 10 minutes. Nothing is decided yet.</p>`)
	} else {
		v.takenBack(m)
		v.ready(m)
	}
	m.add(`<p class="asks">`)
	m.named(v.Agent)
	if v.asksInput() || v.client() {
		m.add(`, an automatic assistant, asks for your answer</p><h1>`)
	} else {
		m.add(`, an automatic assistant, asks for your permission</p><h1>`)
	}
	v.heading(m)
	m.add(`</h1>`)
	v.timeLeft(m)
	v.tally(m)
	m.add(`</div><section>`)
	v.what(m)
	m.add(`</section><section>`)
	v.why(m)
	v.form(m)
	m.add(`</section></main>`)
}

// again says why the question is shown once more.
func (v questionView) again(m *markup) {
	if v.Again != "" {
		m.add(`<p class="again"><strong>`)
		m.foreign(printable.Spell(v.Again))
		m.add(`</strong></p>`)
	}
}

// ready says that opening a link to approve or to deny has decided nothing, and where the button
// is. The page doesn't scroll there by itself: the question comes first.
func (v questionView) ready(m *markup) {
	switch {
	case v.Again != "" || v.answers() || v.OnlyDenies != "" && v.Ready == readyApprove:
	case v.Ready == readyApprove:
		m.add(`<p class="again"><strong>Nothing is decided yet.</strong> Read the question, then <a href="#yes">approve it</a>.</p>`)
	case v.Ready == readyDeny:
		m.add(`<p class="again"><strong>Nothing is decided yet.</strong> Read the question, then <a href="#no">deny it</a>.</p>`)
	}
}

// The answers that a page may have ready.
const (
	readyApprove = "approve"
	readyDeny    = "deny"
)

// named is a tool's name that cannot be taken for words of the page.
var named = lazyregexp.New(`^[A-Za-z0-9]+([_.-][A-Za-z0-9]+)*$`)

const longName = 40

func plainTool(name string) bool { return len(name) <= longName && named.MatchString(name) }

func (v questionView) heading(m *markup) {
	switch {
	case v.asksToGoOn():
		m.add(`May it go on?`)
	case v.answers():
		m.add(`What is the answer to this call?`)
	case v.ToolDetails != nil && v.ToolDetails.Title != nil:
		m.title(v.ToolDetails.Title)
	case plainTool(v.Tool):
		m.add(`May it run `)
		m.named(v.Tool)
		m.add(`?`)
	default:
		m.add(`May it run this tool?`)
	}
}

// tally says how far several people have come. It names no one: a link may be passed on.
func (v questionView) tally(m *markup) {
	of := v.Votes
	if of == nil {
		return
	}
	have := tag(` have approved`)
	if of.Need == 1 {
		have = ` has approved`
	}
	m.add(`<p class="tally">`)
	m.count(of.Yes)
	m.add(` of `)
	m.count(of.Need)
	m.add(have)
	if of.Stages > 1 {
		m.add(`; stage `)
		m.count(of.Stage)
		m.add(` of `)
		m.count(of.Stages)
	}
	m.add(`.`)
	if of.No > 0 {
		m.add(` Denials: `)
		m.count(of.No)
		m.add(` of `)
		m.count(of.Deny)
		m.add(`.`)
	}
	m.add(`</p>`)
}

// urgent is the time left below which the page highlights it.
const urgent = 4 * time.Hour

func (v questionView) timeLeft(m *markup) {
	if v.Deadline == nil {
		m.add(`<p class="time"><strong>No time limit.</strong> `, v.unless(), `.</p>`)
		return
	}
	left := v.Deadline.Sub(v.Now)
	if left < urgent {
		m.add(`<p class="time urgent"><strong>`)
	} else {
		m.add(`<p class="time"><strong>`)
	}
	m.words(leftInWords(left))
	m.add(`</strong> `, v.unless(), ` by `)
	m.words(v.Deadline.UTC().Format("Monday 2 January 2006, 15:04:05 UTC"))
	m.add(`.</p>`)
}

// unless says what happens without an answer.
func (v questionView) unless() tag {
	if v.answers() {
		return `The call gets no result unless you send one`
	}
	return `It does not run unless you approve it`
}

func leftInWords(left time.Duration) string {
	const day = 24 * time.Hour
	for _, u := range []struct {
		one  time.Duration
		name string
	}{{day, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}} {
		if left >= 2*u.one && (u.one != day || left > 2*day) {
			return strconv.Itoa(int(left/u.one)) + " " + u.name + " left."
		}
	}
	if left <= 0 {
		return "The deadline has passed."
	}
	return "Less than two minutes left."
}

// fact writes one row of what a specialist looks for.
func (m *markup) fact(label tag, text string) {
	m.add(`<div class="row"><dt>`, label, `</dt>`)
	m.add(`<dd class="value code" dir="auto">`)
	m.parts(printable.Spell(text).Parts)
	m.add(`</dd></div>`)
}
