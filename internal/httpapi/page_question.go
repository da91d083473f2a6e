package httpapi

import (
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/visible"
)

// questionView is what the page of a question shows. The strings in it are of others: they reach
// the page by markup alone.
type questionView struct {
	Tenant string
	Agent  string
	Tool   string
	Run    string
	ID     string // of the suspension

	Arguments []byte
	Reason    string // of the rule that asks, or of the tool
	Answers   bool   // the answer is the result, and the tool does not run
	Deadline  *time.Time
	Now       time.Time
}

func viewOf(l question, now time.Time) questionView {
	v := questionView{Tenant: l.link.Tenant, Agent: l.run.Agent, Tool: l.call.Tool, Run: l.run.ID, ID: l.call.Suspension.ID, Now: now,
		Arguments: l.call.Arguments, Reason: l.call.Suspension.Message, Answers: l.call.ResumeMode == "use_decision_as_tool_result"}
	if l.call.Deadline != nil {
		v.Deadline = &l.call.Deadline.Time
	}
	return v
}

func questionPage(l question, now time.Time) string { return viewOf(l, now).page() }

// page is the body: who asks what, until when, exactly what, why, and the answer below all of it.
func (v questionView) page() string {
	var m markup
	m.add(`<main class="question"><div class="head"><p class="asks">`)
	m.named(v.Agent)
	m.add(`, an automatic assistant, asks for your permission</p><h1>`)
	v.heading(&m)
	m.add(`</h1>`)
	v.timeLeft(&m)
	m.add(`</div><section>`)
	v.what(&m)
	m.add(`</section><section>`)
	v.why(&m)
	v.form(&m)
	m.add(`</section></main>`)
	return m.String()
}

// named is a tool's name that cannot be taken for words of the page.
var named = regexp.MustCompile(`^[A-Za-z0-9]+([_.-][A-Za-z0-9]+)*$`)

const longName = 40

func plainTool(name string) bool { return len(name) <= longName && named.MatchString(name) }

func (v questionView) heading(m *markup) {
	switch {
	case v.Answers:
		m.add(`What is the answer to this call?`)
	case plainTool(v.Tool):
		m.add(`May it run `)
		m.named(v.Tool)
		m.add(`?`)
	default:
		m.add(`May it run this tool?`)
	}
}

func (v questionView) what(m *markup) {
	if v.Answers {
		m.add(`<h2>What was asked for, exactly</h2><p class="hint">Chosen by the assistant. The tool does not run: the answer is its result.</p>`)
	} else {
		m.add(`<h2>What will be done, exactly</h2><p class="hint">Chosen by the assistant. The tool gets these arguments and no others.</p>`)
	}
	if v.Answers || !plainTool(v.Tool) {
		m.framed(`Tool`, v.Tool)
	}
	m.values(v.Arguments)
	m.add(`<details><summary>For specialists</summary><div class="zone"><dl>`)
	m.fact(`Tool`, v.Tool)
	m.fact(`Agent`, v.Agent)
	m.fact(`Run`, v.Run)
	m.fact(`Question`, v.ID)
	m.add(`</dl></div></details>`)
}

func (v questionView) why(m *markup) {
	if v.Reason == "" {
		return
	}
	m.add(`<h2>Why you are asked</h2>`)
	m.framed(`Rule`, v.Reason)
}

// form ends with the two answers. Its first button is the one that Enter presses: it answers
// nothing and shows the question again. It must not be disabled, or Enter would press the next one
// that is not.
func (v questionView) form(m *markup) {
	m.add(`<form method="post"><button name="action" value="look" hidden>Look</button>`,
		`<label for="reason"><strong>Reason</strong> <span class="hint">optional; the assistant may read it</span></label>`,
		`<textarea id="reason" name="reason" maxlength="1000" rows="2" autocomplete="off"></textarea>`,
		`<div class="answers"><button class="yes" name="action" value="resume">Approve</button>`,
		`<button class="no" name="action" value="cancel">Deny</button></div>`,
		`<p class="final">Your answer is final. Unsure? Close the page; nothing happens.</p></form>`)
}

// urgent is from when on the time that is left stands out.
const urgent = 4 * time.Hour

func (v questionView) timeLeft(m *markup) {
	if v.Deadline == nil {
		m.add(`<p class="time"><strong>No time limit.</strong> It is not done unless you say yes.</p>`)
		return
	}
	left := v.Deadline.Sub(v.Now)
	if left < urgent {
		m.add(`<p class="time urgent"><strong>`)
	} else {
		m.add(`<p class="time"><strong>`)
	}
	m.words(leftInWords(left))
	m.add(`</strong> It is not done unless you say yes by `)
	m.words(v.Deadline.UTC().Format("Monday 2 January 2006, 15:04:05 UTC"))
	m.add(`.</p>`)
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
		return "The time is over."
	}
	return "Less than two minutes left."
}

// fact writes one row of what a specialist looks for.
func (m *markup) fact(label tag, text string) {
	m.add(`<div class="row"><dt>`, label, `</dt>`)
	m.add(`<dd class="value code" dir="auto">`)
	m.parts(visible.Spell(text).Parts)
	m.add(`</dd></div>`)
}

// onlyLooks says whether a form of the page came back without an answer, as by Enter: then the
// question is shown again. A program is told.
func onlyLooks(r *http.Request, err error) bool {
	e, known := refused(err)
	return known && e.Code == frontend.CodeBadAction && wantsPage(r)
}
