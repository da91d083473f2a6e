package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed console.css
var ownStyle string

var style = linkpage.Style() + ownStyle

// stylePath changes with the style, so that browsers may keep it for ever.
var stylePath = func() string {
	sum := sha256.Sum256([]byte(style))
	return "/console-" + hex.EncodeToString(sum[:8]) + ".css"
}()

func serveStyle(w http.ResponseWriter, _ *httpapi.Visit) error {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, err := w.Write([]byte(style))
	return err
}

// drawn are the templates of a server whose paths begin with the prefix. Text of others goes in by
// the functions text and values alone: they spell what does not show, or what reorders.
func drawn(prefix string) *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"prefix": func() string { return prefix },
		"say":    say,
		"text":   func(text string) template.HTML { return template.HTML(linkpage.Text(text)) },
		"values": func(raw []byte) template.HTML { return template.HTML(linkpage.Values(raw)) },
		"moment": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	}).ParseFS(templates, "templates/*.html"))
}

// frame is what every page has around its body.
type frame struct {
	Product, Tenant, Style, Form, Who string
	Nav                               []navItem
	Body                              template.HTML
	Title                             string
	SignedIn                          bool
}

type navItem struct {
	Name, Path string
	Here       bool
}

// write draws a page. Nothing was written before, so that an error can still be answered.
func (c *Console) write(w http.ResponseWriter, l look, status int, name string, view any) error {
	var body bytes.Buffer
	if err := c.pages.ExecuteTemplate(&body, name+".html", view); err != nil {
		return err
	}
	return c.writeBody(w, l, status, name, template.HTML(body.String()))
}

func (c *Console) writeBody(w http.ResponseWriter, l look, status int, name string, body template.HTML) error {
	f := frame{Product: c.Names.ProductName(), Style: stylePath, Body: body, Title: say(name + ".title")}
	if l.Visit != nil {
		form, err := c.Sessions.FormOf(l.Context(), l.session)
		if err != nil {
			return err
		}
		f.Form = form
	}
	if l.in {
		f.Tenant, f.Nav = c.Names.TenantName(l.who.Tenant), c.nav(l, name)
		f.Who, f.SignedIn = l.who.Name, c.Sessions.Tokens != nil
	}
	var whole bytes.Buffer
	if err := c.pages.ExecuteTemplate(&whole, "frame.html", f); err != nil {
		return err
	}
	secure(w.Header())
	w.WriteHeader(status)
	_, err := w.Write(whole.Bytes())
	return err
}

// nav are the pages that the person may open: one who only decides sees the inbox, and sees it
// whole.
func (c *Console) nav(l look, here string) []navItem {
	nav := []navItem{{say("nav.inbox"), "/", here == "inbox" || here == "question" || here == "outcome"}}
	if l.who.May(access.Read) {
		nav = append(nav, navItem{say("nav.runs"), "/runs", here == "runs" || here == "run"})
	}
	return nav
}

// secure lets a page load its own style and nothing else, run nothing, and be framed by no one.
func secure(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'")
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
