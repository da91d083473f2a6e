package console

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

//go:embed templates/*.html
var templates embed.FS

// drawn are the templates of a server whose paths begin with the prefix. Text of others goes in by
// the functions text and values alone: they spell what does not show, or what reorders.
func drawn(prefix string) *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"prefix": func() string { return prefix },
		"say":    say,
		"text":   func(text string) template.HTML { return template.HTML(linkpage.Text(text)) },
		"plain":  printable.Text, // where no element can be
		"title":  func(parts []wire.TitlePart) template.HTML { return template.HTML(linkpage.Title(parts)) },
		"values": func(raw []byte) template.HTML { return template.HTML(linkpage.Values(raw)) },
		"moment": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	}).ParseFS(templates, "templates/*.html"))
}

// frame is what every page has around its body.
type frame struct {
	Product, Tenant, Style, Script, Form, Who string
	Nav                                       []navItem
	Body                                      template.HTML
	Title                                     string
	SignedIn                                  bool

	// for the script: which page it is, what it is about, and its sentences
	Page, Question, Of, Run string
	Stored                  string // where it is shown what is stored of the page's answer
	Speaks                  string // the run that is talking on this page
	From                    string // where in the feed the page begins to listen
	Live                    []word
	Keys                    []keyView
}

type navItem struct {
	Place, Name, Path string
	Here              bool
}

// word is a sentence that the script uses.
type word struct{ Name, Text string }

type keyView struct{ Key, Does string }

// write draws a page. Nothing was written before, so that an error can still be answered.
func (c *Console) write(w http.ResponseWriter, l look, status int, name string, view any) error {
	var body bytes.Buffer
	if err := c.pages.ExecuteTemplate(&body, name+".html", view); err != nil {
		return err
	}
	return c.writeBody(w, l, status, name, template.HTML(body.String()))
}

func (c *Console) writeBody(w http.ResponseWriter, l look, status int, name string, body template.HTML) error {
	f := frame{Product: c.Names.ProductName(), Style: stylePath, Script: scriptPath, Body: body, Title: say(name + ".title"), Page: name, Live: liveWords, Keys: keyViews}
	f.Question, f.Of, f.Run, f.From = l.question, l.of, l.run, l.from
	f.Speaks, f.Stored = l.speaks, l.stored
	if l.Visit != nil {
		form, err := c.Sessions.FormOf(l.Context(), l.session)
		if err != nil {
			return err
		}
		f.Form = form
	}
	if l.in {
		f.Tenant, f.Nav = c.Names.TenantName(l.who.Tenant), c.nav(l, name)
		f.Who, f.SignedIn = l.who.Name, !c.Sessions.Anyone
	}
	var whole bytes.Buffer
	if err := c.pages.ExecuteTemplate(&whole, "frame.html", f); err != nil {
		return err
	}
	c.secure(w.Header())
	w.WriteHeader(status)
	_, err := w.Write(whole.Bytes())
	return err
}

// nav are the pages that the person may open: one who only decides sees the inbox, and sees it
// whole.
func (c *Console) nav(l look, here string) []navItem {
	var nav []navItem
	if l.who.May(canSee...) {
		nav = append(nav, navItem{"inbox", say("nav.inbox"), "/", slices.Contains([]string{"inbox", "question", "outcome", "bulk", "answered"}, here)})
	}
	if l.who.May(access.Read) {
		nav = append(nav, navItem{"runs", say("nav.runs"), "/runs", here == "runs" || here == "run"},
			navItem{"chat", say("nav.chat"), "/chat", here == "chats" || here == "chat"},
			navItem{"agents", say("nav.agents"), "/agents", here == "agents"})
	}
	if l.who.May(canOperate...) {
		nav = append(nav, navItem{"operate", say("nav.operate"), "/operate", here == "operate" || here == "dead" || here == "delivery"})
	}
	return nav
}

// liveWords are the sentences of the script.
var liveWords = func() (all []word) {
	for _, name := range []string{"one", "many", "more", "late", "answered", "done", "ended", "starts", "sending", "lost", "lost_undo"} {
		all = append(all, word{name, say("live." + name)})
	}
	return all
}()

// keyViews are the keys as the page of help lists them.
var keyViews = []keyView{{"j k", say("keys.move")}, {"Enter o", say("keys.open")}, {"u", say("keys.back")}, {"a", say("keys.yes")}, {"d", say("keys.reason")}, {"e", say("keys.change")}, {"x", say("keys.choose")}, {"z", say("keys.undo")},
	{"/", say("keys.search")}, {"g i", say("keys.inbox")}, {"g r", say("keys.runs")}, {"g c", say("keys.chat")}, {"g a", say("keys.agents")}, {"g o", say("keys.operate")}, {"?", say("keys.help")}}

// secure lets a page load its own style and script and nothing else, talk to its own server and to
// where streams are, and be framed by no one.
func (c *Console) secure(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"+c.streams+"; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

//go:embed words.txt
var wordsText string

// words are all sentences of the console, by name.
var words = func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(wordsText) {
		if name, text, ok := strings.Cut(strings.TrimSpace(line), " = "); ok && !strings.HasPrefix(name, "#") {
			all[name] = text
		}
	}
	return all
}()

// say is a sentence of the console. With pairs, {name} becomes the value that follows the name.
func say(name string, pairs ...string) string {
	text, known := words[name]
	if !known {
		return name
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		text = strings.ReplaceAll(text, "{"+pairs[i]+"}", pairs[i+1])
	}
	return text
}
