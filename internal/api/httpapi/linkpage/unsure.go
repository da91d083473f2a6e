package linkpage

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Unsure says that it isn't known whether an answer was stored, or undone, and has a form that
// sends the same again: it counts once. An answer that is proved by what is typed in with it can't
// be sent again without that; its page only leads to what is stored, which is at an address.
func Unsure(l Question, at string) string {
	var m markup
	what := tag(`answer`)
	action := l.Typed.Get("action")
	if action == actionWithdraw {
		what = `undo`
	}
	m.add(`<main><h1>We do not know whether your `, what, ` arrived</h1>`)
	said := map[string]tag{core.ActionResume.String(): `Send my answer again: Yes`, core.ActionCancel.String(): `Send my answer again: No`,
		actionEdit: `Send my answer again: Yes, with your change`, actionWithdraw: `Undo my answer again`}[action]
	if said != "" && !l.SignIn && !l.Code {
		m.add(`<p class="again"><strong>It may have been stored.</strong> Send it again: it counts once.</p>`)
		l.again(&m, said)
	} else {
		m.add(`<p class="again"><strong>It may have been stored.</strong> Look first. If the question is still open, answer it again.</p>`)
	}
	m.add(`<p><a href="`)
	m.escaped(at)
	m.add(`">See what is stored</a></p></main>`)
	return m.String()
}

// again is one button. It has no field in which Enter could press it.
func (l Question) again(m *markup, said tag) {
	m.add(`<form method="post" data-answer>`)
	hides := func(name, value string) {
		m.add(`<input type="hidden" name="`)
		m.escaped(name)
		m.add(`" value="`)
		m.escaped(value)
		m.add(`">`)
	}
	if l.Form != "" {
		hides("form", l.Form)
	}
	names := make([]string, 0, len(l.Typed))
	for name := range l.Typed {
		if !slices.Contains([]string{"action", "form", "token", "code"}, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range l.Typed[name] {
			hides(name, value)
		}
	}
	m.add(`<button class="send" name="action" value="`)
	m.escaped(l.Typed.Get("action"))
	m.add(`">`, said, `</button></form>`)
}
