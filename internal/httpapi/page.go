package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/visible"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

const mediaPage = "text/html"

// writePage sends a page that runs nothing, loads nothing, is shown in nobody's frame and does not give its address, which is a
// secret, to other sites. (With no referrer at all, browsers would hide where the form comes from, and it would be refused.)
func writePage(w http.ResponseWriter, status int, body string) {
	h := w.Header()
	h.Set("Content-Type", mediaPage+"; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	fmt.Fprintf(w, pageFrame, body)
}

const pageFrame = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<title>Dormouse: an answer is needed</title>
<style>
:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem}
pre{border:1px solid;padding:.75rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}dt{font-weight:600}dd{margin:0 0 .5rem}
textarea{width:100%%;box-sizing:border-box;padding:.5rem;font:inherit}button{font:inherit;padding:.5rem 1.5rem;margin:1rem .5rem 0 0}
</style></head><body>
%s</body></html>
`

// questionPage has a first button that does nothing: it is the one that the enter key presses.
func questionPage(l question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>May %s run?</h1>\n", shown(l.call.Tool))
	if l.call.Suspension.Message != "" {
		fmt.Fprintf(&b, "<p>%s</p>\n", shown(l.call.Suspension.Message))
	}
	fmt.Fprintf(&b, "<p>It would run with exactly this:</p>\n<pre>%s</pre>\n<dl><dt>Agent</dt><dd>%s</dd><dt>Run</dt><dd>%s</dd>",
		shown(indented(l.call.Arguments)), shown(l.run.Agent), shown(l.run.ID))
	if l.call.Deadline != nil {
		fmt.Fprintf(&b, "<dt>Until</dt><dd>%s</dd>", l.call.Deadline.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	b.WriteString(`</dl>
<form method="post"><button type="submit" disabled hidden></button>
<label>Reason, if you want to give one <textarea name="reason" maxlength="1000" rows="2" autocomplete="off"></textarea></label>
<button name="action" value="resume">Yes, run it</button><button name="action" value="cancel">No</button></form>
`)
	return b.String()
}

func answeredPage(d wire.Decision, answer wire.DecisionAnswer) string {
	said := "Yes"
	if d.Action == "cancel" {
		said = "No"
	}
	if answer.Code == string(frontend.CodeAccepted) {
		return fmt.Sprintf("<h1>%s</h1>\n<p>Your answer is stored. You can close this page.</p>\n", said)
	}
	return fmt.Sprintf("<h1>%s</h1>\n<p>This was your answer before; it counts once.</p>\n", said)
}

func refusedPage(e *frontend.Error) string {
	detail := e.Detail
	if e.Winner != nil {
		detail += "; the answer that counts is " + e.Winner.Action
	}
	return fmt.Sprintf("<h1>%s</h1>\n<p>%s</p>\n", shown(problemOf[e.Code].title), shown(detail))
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// shown is text of a model or a tool for a page, its lines as they are: what a person reads is what runs.
func shown(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = visible.Text(lines[i])
	}
	return html.EscapeString(strings.Join(lines, "\n"))
}
