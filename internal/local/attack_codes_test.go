package local

import (
	"fmt"
	"net/http"
	"net/mail"
	"strings"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/notify/smtp"
	"github.com/dormouse-dev/dormouse/internal/proof/maildouble"
)

const askCode = `{"action":"code"}`

// sendsMail starts a mail server, and has the server send codes by it.
func (a *arena) sendsMail(o *Options) {
	a.Helper()
	var err error
	if a.mail, err = maildouble.New(); err != nil {
		a.Fatal(err)
	}
	a.Cleanup(a.mail.Close)
	if o.Mail.Server, err = smtp.ParseServer("smtp://" + a.mail.Addr); err != nil {
		a.Fatal(err)
	}
	o.Mail.From = mail.Address{Address: "desk@example.com"}
}

// codeLink is a link to the call that asks a recipient for a code.
func (x *scene) codeLink(to string) string {
	x.Helper()
	return x.makeLink(client.LinkRequest{For: to, Require: client.RequireCode}).Link
}

// code has a link send a code to its recipient.
func (x *scene) code(link, to string) string {
	x.Helper()
	if got := x.sends(request{path: link, body: askCode}); got != "202 code_sent" {
		x.Fatal(got)
	}
	codes := x.mail.Codes(to)
	return codes[len(codes)-1]
}

func withCode(code string) string { return `{"action":"resume","code":"` + code + `"}` }

// wrongCodes are n codes that are not the given one.
func wrongCodes(n int, right string) (codes []string) {
	for i := 0; len(codes) < n; i++ {
		if code := fmt.Sprintf("%06d", i); code != right {
			codes = append(codes, code)
		}
	}
	return codes
}

// byCode sends a request by a link of anna's that has sent its code.
func byCode(change func(q *request, code string)) func(x *scene) string {
	return func(x *scene) string {
		q := request{path: x.codeLink("anna@example.com")}
		code := x.code(q.path, "anna@example.com")
		q.body = withCode(code)
		change(&q, code)
		return x.sends(q)
	}
}

// byGET sends the code in a query.
func byGET(method string, h http.Header) func(x *scene) string {
	return byCode(func(q *request, code string) {
		*q = request{method: method, path: q.path + "?action=resume&code=" + code, header: h}
	})
}

func codeAttacks() group {
	anna, ben := "anna@example.com", "ben@example.com"
	return group{name: "one-time codes", agent: "open", control: attack{"the code that was sent", "202 accepted", byCode(func(*request, string) {})}, attacks: []attack{
		{"a link that asks for a code, without one", "403 code_required", byCode(func(q *request, _ string) { q.body = yes })},
		{"a code before one was sent", "403 code_expired", func(x *scene) string { return x.sends(request{path: x.codeLink(anna), body: withCode("123456")}) }},
		{"a token in place of a code", "403 code_required", byCode(func(q *request, _ string) { q.body, q.header = yes, bearer("boss") })},
		{"a wrong code", "403 code_wrong", byCode(func(q *request, code string) { q.body = withCode(wrongCodes(1, code)[0]) })},
		{"a code in wide digits", "403 code_wrong", byCode(func(q *request, code string) {
			q.body = withCode(strings.Map(func(r rune) rune { return r - '0' + '０' }, code))
		})},
		{"two codes in one", "403 code_wrong", byCode(func(q *request, code string) { q.body = withCode(wrongCodes(1, code)[0] + code) })},
		{"the code as a number", "400 malformed_body", byCode(func(q *request, code string) { q.body = `{"action":"resume","code":` + "1" + code[1:] + `}` })},
		{"the code with another code", "400 malformed_body", byCode(func(q *request, code string) { q.body = `{"action":"resume","code":"000000","code":"` + code + `"}` })},
		{"the code by GET", "200 question", byGET("GET", nil)},
		{"the code by GET that claims to be POST", "200 question", byGET("GET", http.Header{"X-Http-Method-Override": {"POST"}})},
		{"the code by HEAD", "200", byGET("HEAD", nil)},
		{"the code from a form on another site", "403 forbidden", byCode(func(q *request, code string) {
			q.body, q.header = "action=resume&code="+code, htmlForm(http.Header{"Sec-Fetch-Site": {"cross-site"}})
		})},
		{"an address in the request for a code", "400 unknown_field", byCode(func(q *request, _ string) { q.body = `{"action":"code","for":"eve@example.com"}` })},
		{"a code of another link of the same recipient", "403 code_wrong", func(x *scene) string {
			mine, other := x.codeLink(anna), x.codeLink(anna)
			x.code(mine, anna)
			return x.sends(request{path: mine, body: withCode(x.code(other, anna))})
		}},
		{"a code from the address of another approver", "403 code_wrong", func(x *scene) string {
			hers, his := x.codeLink(anna), x.codeLink(ben)
			x.code(hers, anna)
			return x.sends(request{path: hers, body: withCode(x.code(his, ben))})
		}},
		{"a code of a link to another call", "403 code_wrong", func(x *scene) string {
			other := x.scene(x.T, "open")
			mine := x.codeLink(anna)
			x.code(mine, anna)
			return x.sends(request{path: mine, body: withCode(other.code(other.codeLink(anna), anna))})
		}},
		{"an old code after a new one", "403 code_wrong", func(x *scene) string {
			link := x.codeLink(anna)
			old := x.code(link, anna)
			for x.code(link, anna) == old { // one of a million
			}
			return x.sends(request{path: link, body: withCode(old)})
		}},
		{"a code after 10 minutes", "403 code_expired", func(x *scene) string {
			link := x.codeLink(anna)
			code := x.code(link, anna)
			return x.later(10*time.Minute, func() string { return x.sends(request{path: link, body: withCode(code)}) })
		}},
		{"the code after the decision", "409 already_decided", func(x *scene) string {
			link := x.codeLink(anna)
			code := x.code(link, anna)
			x.good, x.runs = 1, 0
			x.api("boss", `{"action":"cancel"}`)
			return x.sends(request{path: link, body: withCode(code)})
		}},
		{"the answer with the code, replayed", "200 already_decided", func(x *scene) string {
			link := x.codeLink(anna)
			q := request{path: link, body: withCode(x.code(link, anna))}
			x.good, x.runs = 1, 1
			x.sends(q)
			x.as("boss").await(x.T, x.run, "done")
			return x.sends(q)
		}},
		{"a code that is asked for after the decision", "409 not_suspended", func(x *scene) string {
			link := x.codeLink(anna)
			x.good, x.runs = 1, 0
			x.api("boss", `{"action":"cancel"}`)
			x.as("boss").await(x.T, x.run, "done")
			return x.sends(request{path: link, body: askCode})
		}},
		{"the right code after five guesses at once", "403 code_expired", func(x *scene) string {
			link := x.codeLink(anna)
			code := x.code(link, anna)
			x.guesses(link, wrongCodes(40, code))
			return x.sends(request{path: link, body: withCode(code)})
		}},
		{"the right code after twenty guesses of four codes", "403 code_locked", func(x *scene) string {
			link, code := x.codeLink(anna), ""
			for range 4 {
				code = x.code(link, anna)
				x.guesses(link, wrongCodes(10, code))
			}
			return x.sends(request{path: link, body: withCode(code)})
		}},
	}}
}

// guesses sends guesses by a link, all at once. The server compares five of them with the code.
func (x *scene) guesses(link string, codes []string) {
	x.Helper()
	answers := make([]string, len(codes))
	var all sync.WaitGroup
	for i, code := range codes {
		all.Go(func() { answers[i] = x.sends(request{path: link, body: withCode(code)}) })
	}
	all.Wait()
	compared := 0
	for _, answer := range answers {
		switch answer {
		case "403 code_wrong":
			compared++
		case "403 code_expired", "403 code_locked":
		default:
			x.Errorf("a guess: %s", answer)
		}
	}
	if compared != 5 {
		x.Errorf("%d guesses were compared, want 5", compared)
	}
}
