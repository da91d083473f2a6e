package awsnotify

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func TestAMailTargetIsServedBySES(t *testing.T) {
	s := newStand(t)
	var mails []string
	office := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if signed := r.Header.Get("Authorization"); err != nil || r.URL.Path != "/v2/email/outbound-emails" || !strings.Contains(signed, "Credential=k/") || !strings.Contains(signed, "/ses/aws4_request") {
			t.Errorf("%s with %q, %v", r.URL, signed, err)
		}
		mails = append(mails, string(body))
		_, _ = io.WriteString(w, `{"MessageId":"1"}`)
	}))
	t.Cleanup(office.Close)
	target := notice.Target{On: notice.Set{notice.Suspended}, Mail: []string{"anna@example.com"}, Require: notice.RequireCode}
	boss := notice.Webhook{Tenant: "acme", ID: "wh_boss", Rev: 1, Target: target}
	s.must(s.notify.Store.PutWebhook(t.Context(), boss))
	if tried, err := endpoints(s.notify).Test(t.Context(), boss); err != nil || !strings.Contains(tried.Error, "sends no mail") {
		t.Errorf("without a sender: %+v, %v", tried, err)
	}
	s.env["DORMOUSE_NOTICE_MAIL_FROM"], s.env["AWS_ENDPOINT_URL_SESV2"] = "desk@example.com", office.URL
	s.open(s.env)
	run := s.suspend()
	s.pump("notify")
	if len(mails) != 1 {
		t.Fatalf("%d mails\n%s", len(mails), s.log.String())
	}
	for _, want := range []string{`"FromEmailAddress":"desk@example.com"`, `<anna@example.com>`, run.ID, "https://desk.example.com/v1/approvals/"} {
		if !strings.Contains(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(mails[0]), want) {
			t.Errorf("the mail has no %s: %s", want, mails[0])
		}
	}
	links, err := s.notify.Store.Links(t.Context(), "acme", run.ID)
	asks := func(l engine.Link) bool {
		return l.Endpoint == boss.ID && l.Require == engine.RequireCode && l.Mail == "anna@example.com"
	}
	if err != nil || !slices.ContainsFunc(links, asks) {
		t.Errorf("no link in the mail asks for a code: %+v, %v", links, err)
	}
}
