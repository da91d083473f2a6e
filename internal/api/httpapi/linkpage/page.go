// Package linkpage draws the pages that a signed link opens: the question, its answers, and what
// became of them. They run no script and load nothing.
package linkpage

import (
	"crypto/sha256"
	_ "embed" // the style of the pages
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// Media is the media type of a page.
const Media = "text/html"

// Question is the call that a page is about. It waits, or did.
type Question struct {
	Product string // as the operator names it
	Tenant  string
	Run     wire.Run
	Call    *wire.Pending // nil: it is no longer waiting, or its deadline has passed
	// "approve" or "deny": the answer that the page has ready; it still needs a click
	Ready string
	// what was typed into the form before, and by its field what is wrong with it
	Typed url.Values
	Wrong map[string]string
	// what the link allows and asks for besides
	Edit, SignIn, Code bool
	CodeSent           bool // just now
	// where the person signs in before the question can be answered, and who has signed in;
	// empty for a link that doesn't ask for it
	SignInAt, Person string
	// why the link's caller can only deny; empty if the caller may approve, or isn't known
	OnlyDenies string
	// the person may read the question, and not answer it
	OnlyReads bool
	// what the form has to carry besides, of a person who has signed in to the console
	Form string
	// for how many seconds an answer is held; 0: it is final
	Hold int
	// the reader took back the newest answer that was withdrawn
	TookBack bool

	edited json.RawMessage // what was typed into the page of an edit
}

// Write sends a page that runs no script, loads nothing, can't be framed, and doesn't reveal its
// address, which is a secret, to other sites. (With no referrer at all, browsers would hide the
// origin of the form, and the server would refuse it.)
func (l Question) Write(w http.ResponseWriter, status int, body string) {
	h := w.Header()
	h.Set("Content-Type", Media+"; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src '"+styleHash()+"'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	fmt.Fprintf(w, pageFrame, shown(l.Product), style, shown(strings.TrimSuffix(l.Product+" · "+l.Tenant, " · ")), body)
}

//go:embed page.css
var style string

// styleHash lets the page's own style through its policy, and no other.
var styleHash = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(style))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
})

const pageFrame = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<title>%s: approval</title>
<style>%s</style></head><body>
<header><strong>%s</strong></header>
%s</body></html>
`

// Answered says that an answer was stored, now or before.
func Answered(d wire.Decision, answer wire.DecisionAnswer) string {
	said := "Yes"
	switch {
	case d.Action == "cancel":
		said = "No"
	case d.Result != nil:
		said = "Your result"
	}
	if answer.Code == string(refusal.CodeAccepted) {
		return fmt.Sprintf("<main><h1>%s</h1>\n<p>Your decision is recorded, and is final. You can close this page.</p></main>\n", said)
	}
	return fmt.Sprintf("<main><h1>%s</h1>\n<p>You gave this decision before. It is applied once.</p></main>\n", said)
}

// Style is the style of the pages.
func Style() string { return style }

// Text is text of others, as HTML for an element that contains nothing else.
func Text(text string) string { return shown(text) }

// Title is the question of a tool's author with its values, as HTML.
func Title(parts []wire.TitlePart) string {
	var m markup
	m.title(parts)
	return m.String()
}

// Values is JSON of others by value, as HTML.
func Values(raw []byte) string {
	var m markup
	m.values(raw)
	return m.String()
}

// shown is text of others within a page that has no values.
func shown(text string) string {
	var m markup
	m.foreign(printable.Spell(text))
	return m.String()
}

// Approval is the entry of the inbox that the link answers. Its call waits.
func (l Question) Approval() wire.Approval {
	return wire.Approval{RunID: l.Run.ID, ThreadID: l.Run.ThreadID, Agent: l.Run.Agent, AgentVersion: l.Run.AgentVersion,
		Metadata: l.Run.Metadata, StartedBy: l.Run.StartedBy, Pending: *l.Call}
}
