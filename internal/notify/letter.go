package notify

import (
	"html"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
)

// Letter is a notice as a mail. Its links show a page, and none of them decides: programs that scan
// mail open every link.
type Letter struct {
	Subject string // one line
	Text    string
	HTML    string
	// the same for each attempt to send this notice to this address
	ID string
	// the same for all letters about a run
	Thread string
}

// NewLetter writes the letter about a notice for an address.
func NewLetter(n client.Notice, to string) Letter {
	s := Summarize(n)
	return Letter{Subject: s.Title, Text: s.letterText(), HTML: s.letterHTML(), ID: letterID(n.ID + " " + to), Thread: letterID(n.Event.RunID)}
}

// CodeLetter is the mail with a one-time code. Its id is random: the code can't be found by it.
func CodeLetter(code, id string) Letter {
	const about = "It is valid for 10 minutes. Enter it on the page that you opened from your link. If you did not ask for a code, ignore this mail, and give the code to no one."
	return Letter{Subject: "Your code for an approval", ID: id, Thread: id, Text: "Your one-time code is " + code + "\n\n" + about + "\n",
		HTML: `<!doctype html><html><body style="font-family:sans-serif;max-width:40em"><p>Your one-time code is <strong>` + html.EscapeString(code) + "</strong></p>\n<p>" + about + "</p></body></html>\n"}
}

// letterID is an id without characters that have a meaning in the headers of a mail.
func letterID(of string) string { return core.Digest([]byte(of))[len("sha256:"):][:32] }

// Together is the result of the letters to all addresses of a target, of which there is at least
// one: what can't be taken now is tried again, and it is enough if one was taken and the others
// were refused for good.
func Together(results []delivery.Result) delivery.Result {
	for _, outcome := range []notice.Outcome{notice.Refused, notice.Delivered} {
		if i := slices.IndexFunc(results, func(r delivery.Result) bool { return r.Outcome == outcome }); i >= 0 {
			return results[i]
		}
	}
	return results[0]
}

const openThePage = "Open the page to answer. Replies to this mail are not read."

func (s Summary) letterText() string {
	var b strings.Builder
	b.WriteString(s.Title + "\n\n")
	for _, f := range s.Facts {
		b.WriteString(f.Label + ": " + f.Text + "\n")
	}
	for _, p := range s.Texts {
		b.WriteString("\n" + p.Label + ":\n")
		for line := range strings.SplitSeq(p.Text, "\n") {
			b.WriteString("    " + line + "\n")
		}
	}
	switch {
	case s.Links != nil:
		b.WriteString("\n" + openThePage + "\n\n" + s.Links.Show + "\n")
	case s.Hint != "":
		b.WriteString("\n" + s.Hint + "\n")
	}
	return b.String()
}

// letterHTML uses no image, script or style sheet: many programs show none of them.
func (s Summary) letterHTML() string {
	var b strings.Builder
	e := html.EscapeString
	b.WriteString(`<!doctype html><html><body style="font-family:sans-serif;max-width:40em"><h2>` + e(s.Title) + "</h2>\n<table>\n")
	for _, f := range s.Facts {
		b.WriteString(`<tr><td style="padding-right:1em;color:#555">` + e(f.Label) + "</td><td>" + e(f.Text) + "</td></tr>\n")
	}
	b.WriteString("</table>\n")
	for _, p := range s.Texts {
		b.WriteString("<h4>" + e(p.Label) + "</h4>\n" + `<pre style="white-space:pre-wrap;background:#f4f4f4;padding:.5em">` + e(p.Text) + "</pre>\n")
	}
	switch {
	case s.Links != nil:
		b.WriteString(`<p><a href="` + e(s.Links.Show) + `">Open the page</a> to answer. Replies to this mail are not read.</p>` + "\n")
	case s.Hint != "":
		b.WriteString("<p>" + e(s.Hint) + "</p>\n")
	}
	b.WriteString("</body></html>\n")
	return b.String()
}
