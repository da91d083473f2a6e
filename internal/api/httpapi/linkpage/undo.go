package linkpage

import (
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
)

// Holds is for how many seconds an answer is held. Votes, and answers that say whether the run goes
// on, can't be, nor those that are proved by what is typed in with them: taking them back would
// need it once more.
func (l Question) Holds() int {
	if l.Call == nil || l.Call.Votes != nil || l.Call.Kind == core.KindInterrupt.String() || l.SignIn || l.Code || len(l.Call.Suspension.Withdrawn) >= hold.MostWithdrawn {
		return 0
	}
	return l.Hold
}

// actionWithdraw takes back an answer that is held.
const actionWithdraw = "withdraw"

// takenBack says that an answer was withdrawn, for as long as the question is open.
func (v questionView) takenBack(m *markup) {
	if len(v.Suspension.Withdrawn) > 0 && v.Again == "" {
		who := tag(`The answer was taken back.`)
		if v.tookBack {
			who = `You took your answer back.`
		}
		m.add(`<p class="again"><strong>`, who, ` Nothing was done.</strong> The question is open again.</p>`)
	}
}

// final says, before the answer is given, whether it can be taken back.
func (v questionView) final(m *markup) {
	if v.hold == 0 {
		m.add(`<p class="final">Your answer is final. If you are unsure, close the page; nothing will happen.</p>`)
		return
	}
	m.add(`<p class="final">You can undo your answer for `)
	m.count(v.hold)
	m.add(` seconds. If the assistant is busy with other work, your answer takes effect at once and is final.</p>`)
}

// takes is what the form says of the hold, and of the answers before: a copy of it that is sent
// later stores nothing that was withdrawn.
func (v questionView) takes(m *markup) {
	if v.hold > 0 {
		m.add(`<input type="hidden" name="hold" value="`)
		m.count(v.hold)
		m.add(`">`)
	}
	if n := len(v.Suspension.Withdrawn); n > 0 {
		m.add(`<input type="hidden" name="withdrawn" value="`)
		m.count(n)
		m.add(`">`)
	}
}

// Undo is what the page of an answer that is held needs to take it back.
type Undo struct {
	Now  time.Time
	Mine bool   // the reader gave the answer
	Form string // as in [Question]
}

// held begins the page of an answer that is held: what was stored, when it takes effect, and the
// button that takes it back. The script of the console counts the seconds down.
func held(m *markup, o wire.Outcome, u Undo) {
	left := max(0, o.AppliesAt.Sub(u.Now))
	said, then := tag(`Approved`), tag(`It starts in `)
	switch {
	case o.Decision.Action == core.ActionCancel.String():
		said, then = `Denied`, `It takes effect in `
	case isResult(o) || o.Decision.Error != "":
		said, then = `Answered`, `It takes effect in `
	}
	m.add(`<h1>`, said, `</h1><p id="held" role="timer" data-left="`)
	m.count(int(left.Milliseconds()))
	m.add(`"><strong>`, then, `<span id="left">`)
	m.count(int((left + time.Second - 1) / time.Second))
	m.add(`</span> s</strong>, at <time datetime="`)
	m.words(o.AppliesAt.UTC().Format(time.RFC3339))
	m.add(`">`)
	m.words(o.AppliesAt.UTC().Format("15:04:05 UTC"))
	m.add(`</time>. Nothing has been done yet.</p>`)
	if u.Mine {
		undoForm(m, o, u)
	}
	m.add(`<p><a href="?">Look again</a> to see what happened.</p>`)
}

// undoForm is one button. It has no field in which Enter could press it.
func undoForm(m *markup, o wire.Outcome, u Undo) {
	m.add(`<form method="post" data-answer>`)
	if u.Form != "" {
		m.add(`<input type="hidden" name="form" value="`)
		m.words(u.Form)
		m.add(`">`)
	}
	m.add(`<input type="hidden" name="decision_id" value="`)
	m.escaped(o.Decision.DecisionID)
	m.add(`"><button id="undo" class="send" name="action" value="withdraw">Undo</button></form>`)
}

// number reads a count of a form; what is no number is none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
