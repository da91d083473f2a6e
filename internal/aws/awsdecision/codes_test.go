package awsdecision

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

const deskAddress = "desk@acme.example"

// mailed is the JSON of a mail that SES takes.
type mailed struct {
	FromEmailAddress string
	Destination      struct{ ToAddresses []string }
	Content          struct {
		Simple struct {
			Body struct{ Text struct{ Data string } }
		}
	}
}

// office stands for SES, and keeps what it is sent.
type office struct {
	*testing.T
	mails []mailed
	down  bool
}

func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m mailed
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.URL.Path != "/v2/email/outbound-emails" || !strings.Contains(r.Header.Get("Authorization"), "/ses/aws4_request") {
		o.Errorf("%s %v", r.URL, err)
	}
	if o.down {
		w.Header().Set("X-Amzn-Errortype", "AccountSuspendedException")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"message": "the account 123456789012 is suspended"}`)
		return
	}
	o.mails = append(o.mails, m)
	_, _ = io.WriteString(w, `{"MessageId":"1"}`)
}

// codeLink makes a link that requires a one-time code.
func (b browser) codeLink(run wire.Run) (status int, body string) {
	b.Helper()
	made := b.open("POST", "/v1/runs/"+run.ID+"/links", fmt.Sprintf(`{"target":%q,"for":"anna@acme.example","require":"code"}`, run.Pending[0].Suspension.ID), maker)
	return made.StatusCode, made.Body
}

// A link is answered from a mailbox, through a stack of which each request meets another process.
func TestALinkIsAnsweredWithACodeOnAWS(t *testing.T) {
	o := &office{T: t}
	mail := httptest.NewServer(o)
	t.Cleanup(mail.Close)
	s := newStand(t, "DORMOUSE_NOTICE_MAIL_FROM", deskAddress, "AWS_ENDPOINT_URL_SESV2", mail.URL)
	run := s.waiting("link:anna@acme.example")
	b := s.browser()
	status, body := b.codeLink(run)
	var l wire.Link
	if err := json.Unmarshal([]byte(body), &l); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s %v", status, body, err)
	}
	for _, tt := range []struct {
		method, body string
		status       int
	}{{"GET", "", 200}, {"POST", `{"action":"resume"}`, 403}, {"POST", `{"action":"code"}`, 202}} {
		if got := b.open(tt.method, l.Link, tt.body, nil); got.StatusCode != tt.status {
			t.Fatalf("%s %s: %d %s\n%s", tt.method, tt.body, got.StatusCode, got.Body, s.log.String())
		}
	}
	if len(o.mails) != 1 || o.mails[0].FromEmailAddress != deskAddress || len(o.mails[0].Destination.ToAddresses) != 1 || o.mails[0].Destination.ToAddresses[0] != "<anna@acme.example>" {
		t.Fatalf("%+v", o.mails)
	}
	code := regexp.MustCompile(`\b[0-9]{6}\b`).FindString(o.mails[0].Content.Simple.Body.Text.Data)
	answer := func(code string) string { return fmt.Sprintf(`{"action":"resume","code":%q}`, code) }
	wrong := "000000"
	if code == wrong {
		wrong = "000001"
	}
	if got := b.open("POST", l.Link, answer(wrong), nil); got.StatusCode != 403 {
		t.Errorf("%d %s", got.StatusCode, got.Body)
	}
	if got := b.open("POST", l.Link, answer(code), nil); got.StatusCode != 202 {
		t.Fatalf("%d %s\n%s", got.StatusCode, got.Body, s.log.String())
	}
	s.pump()
	if done := s.run(run.ID); done.Status != "done" {
		t.Errorf("%+v", done)
	}
	if regexp.MustCompile(`\b` + code + `\b`).MatchString(s.log.String()) {
		t.Error("the log has the code")
	}
}

// The person learns that no code came, and no more.
func TestACodeThatSESDoesNotTake(t *testing.T) {
	mail := httptest.NewServer(&office{T: t, down: true})
	t.Cleanup(mail.Close)
	s := newStand(t, "DORMOUSE_NOTICE_MAIL_FROM", deskAddress, "AWS_ENDPOINT_URL_SESV2", mail.URL)
	b := s.browser()
	_, body := b.codeLink(s.waiting("link:anna@acme.example"))
	var l wire.Link
	s.must(json.Unmarshal([]byte(body), &l))
	got := b.open("POST", l.Link, `{"action":"code"}`, nil)
	if got.StatusCode != 503 || !strings.Contains(got.Body, "code_not_sent") || strings.Contains(got.Body, "123456789012") || !strings.Contains(s.log.String(), "a one-time code could not be sent") {
		t.Errorf("%d %s\n%s", got.StatusCode, got.Body, s.log.String())
	}
}

func TestAStackThatSendsNoMailSaysWhichParameterSetsTheSender(t *testing.T) {
	s := newStand(t)
	if status, body := s.browser().codeLink(s.waiting("link:anna@acme.example")); status != 400 || !strings.Contains(body, "NoticeMailFrom") {
		t.Errorf("%d %s", status, body)
	}
}
