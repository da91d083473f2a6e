package notice_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

// pager is a target with nothing wrong; change makes another of it.
func pager(change func(*notice.Target)) notice.Target {
	t := notice.Target{Name: "pager", On: notice.Set{notice.Suspended}, URL: "https://pager.example.com/hook?team=a", Secret: "PAGER_KEY"}
	change(&t)
	return t
}

func mail(change func(*notice.Target)) notice.Target {
	t := notice.Target{Name: "mail", On: notice.Set{notice.Done, notice.Failed}, Mail: []string{"ops@example.com", "anna+a@mail.example.com"}}
	change(&t)
	return t
}

func desk(change func(*notice.Target)) notice.Target {
	t := notice.Target{Name: "desk", On: notice.Set{notice.Suspended}, Slack: &notice.SlackChannel{Channel: "C0DESK", Token: "SLACK_TOKEN"}}
	change(&t)
	return t
}

func TestASlackAppThatAsksIsNotifiedOfDecisions(t *testing.T) {
	asks := desk(func(*notice.Target) {})
	if _, wanted := asks.Wanted().Of(core.Event{Type: core.EventDecisionRecorded, Data: []byte(`{"applied":true}`)}); !wanted || len(asks.On) != 1 {
		t.Errorf("%v", asks.Wanted())
	}
	for _, other := range []notice.Target{desk(func(d *notice.Target) { d.On = notice.Set{notice.Done} }), pager(func(*notice.Target) {})} {
		if len(other.Wanted()) != 1 {
			t.Errorf("%v", other.Wanted())
		}
	}
}

func TestTargetsThatCanBeUsed(t *testing.T) {
	for what, target := range map[string]notice.Target{
		"a signed URL": pager(func(*notice.Target) {}),
		"every kind":   pager(func(p *notice.Target) { p.On = notice.Kinds }),
		"mail":         mail(func(*notice.Target) {}),
		"with codes":   mail(func(m *notice.Target) { m.Mail, m.Require = m.Mail[:1], "code" }),
		"a Slack app":  desk(func(*notice.Target) {}),
		"Slack":        pager(func(p *notice.Target) { p.Format, p.Secret = notice.FormatSlack, "" }),
		"Teams":        pager(func(p *notice.Target) { p.Format = notice.FormatTeams }),
		"a template": pager(func(p *notice.Target) {
			p.Format, p.Template = notice.FormatTemplate, json.RawMessage(`{"text":"{run}"}`)
		}),
		"a secret": pager(func(p *notice.Target) {
			p.URL = "https://hooks.example.com/services/{secret:HOOK_PATH}?sig={secret:SIG}"
		}),
		"http":     pager(func(p *notice.Target) { p.URL, p.AllowPrivate = "http://127.0.0.1:9000", true }),
		"IPv6":     pager(func(p *notice.Target) { p.URL = "https://[2606:4700::1111]:8443/a%20b" }),
		"standard": pager(func(p *notice.Target) { p.Format = notice.FormatStandard }),
	} {
		if err := target.Check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestMistakesInTargetsNameTheirField(t *testing.T) {
	for _, c := range []struct {
		target notice.Target
		want   string
	}{
		{pager(func(p *notice.Target) { p.Name = "" }), "name: missing"},
		{pager(func(p *notice.Target) { p.Name = "a/b" }), `name: "a/b" is not a valid name`},
		{pager(func(p *notice.Target) { p.Name = strings.Repeat("a", 33) }), "name: "},
		{pager(func(p *notice.Target) { p.On = nil }), "on: missing; name at least one of suspended, "},
		{pager(func(p *notice.Target) { p.On = notice.Set{"paused"} }), `on: cannot be "paused"`},
		{pager(func(p *notice.Target) { p.On = notice.Set{notice.Done, notice.Done} }), `on: "done" is given twice`},
		{pager(func(p *notice.Target) { p.URL = "" }), "url: missing; set url or mail"},
		{pager(func(p *notice.Target) { p.Slack = &notice.SlackChannel{Channel: "C0DESK", Token: "T"} }), "url: slack is set together with url or mail"},
		{desk(func(d *notice.Target) { d.Slack.Channel = "#desk" }), "slack: channel must be the id of a channel"},
		{desk(func(d *notice.Target) { d.Slack.Token = "xoxb-1" }), "slack: token must be the name of a secret, not the token itself"},
		{desk(func(d *notice.Target) { d.Slack.Token = "DORMOUSE_SECRET_T" }), "slack: token names the environment variable"},
		{desk(func(d *notice.Target) { d.AllowPrivate = true }), "slack: allow_private belongs to a url"},
		{desk(func(d *notice.Target) { d.Format = notice.FormatSlack }), "format: belongs to a url"},
		{desk(func(d *notice.Target) { d.Secret = "KEY" }), "secret: belongs to a url"},
		{pager(func(p *notice.Target) { p.Mail = []string{"a@example.com"} }), "url: url and mail are both set"},
		{pager(func(p *notice.Target) { p.URL = "http://pager.example.com" }), "url: http is not encrypted"},
		{pager(func(p *notice.Target) { p.URL = "https://{secret:HOST}/hook" }), "url: can have a secret only behind the host"},
		{pager(func(p *notice.Target) { p.URL = "https://a.example{secret:HOST}" }), "url: can have a secret only behind the host"},
		{pager(func(p *notice.Target) { p.URL = "{secret:URL}" }), "url: not an absolute URL"},
		{pager(func(p *notice.Target) { p.URL = "https://a.example/{secret:lower}" }), "url: has a brace that belongs to no secret"},
		{pager(func(p *notice.Target) { p.URL = "https://a.example/{id}" }), "url: has a brace that belongs to no secret"},
		{pager(func(p *notice.Target) { p.URL = "ftp://pager.example.com" }), "url: must begin with https://"},
		{pager(func(p *notice.Target) { p.URL = "/hook" }), "url: not an absolute URL"},
		{pager(func(p *notice.Target) { p.URL = "https://" }), "url: not an absolute URL"},
		{pager(func(p *notice.Target) { p.URL = "https:pager" }), "url: not an absolute URL"},
		{pager(func(p *notice.Target) { p.URL = "https://pager.example.com:/a" }), "url: not an absolute URL"},
		{pager(func(p *notice.Target) { p.URL = "https://pager.example.com\\@evil.example" }), "url: not an absolute URL"},
		{pager(func(p *notice.Target) { p.URL = "https://bücher.example" }), "url: not an absolute URL"},
		{pager(func(p *notice.Target) { p.URL = "https://a.example/ b" }), "url: not an absolute URL"},
		{pager(func(p *notice.Target) { p.URL = "https://me:key@a.example" }), "url: holds a user name or password; remove them"},
		{pager(func(p *notice.Target) { p.URL = "https://a.example/#" }), "url: a service never receives"},
		{pager(func(p *notice.Target) { p.URL = "https://a.example/" + strings.Repeat("a", 2048) }), "url: 2066 bytes are too long"},
		{mail(func(m *notice.Target) { m.Mail = []string{"Anna <anna@example.com>"} }), `mail: "Anna <anna@example.com>" is not`},
		{mail(func(m *notice.Target) { m.Mail = []string{"a@example.com\r\nBcc: b@example.com"} }), "mail: "},
		{mail(func(m *notice.Target) { m.Mail = []string{"a@example.com", "a@example.com"} }), "mail: "},
		{mail(func(m *notice.Target) { m.Mail = []string{"a..b@example.com"} }), "mail: "},
		{mail(func(m *notice.Target) { m.Mail = make([]string, 11) }), "mail: 11 addresses are too many"},
		{mail(func(m *notice.Target) { m.AllowPrivate = true }), "mail: allow_private belongs to a url"},
		{mail(func(m *notice.Target) { m.Require = "token" }), `require: cannot be "token"`},
		{mail(func(m *notice.Target) { m.Require = "code" }), "require: needs one address"},
		{pager(func(p *notice.Target) { p.Require = "code" }), "require: belongs to mail"},
		{mail(func(m *notice.Target) { m.Format = notice.FormatSlack }), "format: belongs to a url"},
		{mail(func(m *notice.Target) { m.Secret = "KEY" }), "secret: belongs to a url"},
		{pager(func(p *notice.Target) { p.Format = "discord" }), `format: cannot be "discord"`},
		{pager(func(p *notice.Target) { p.Template = json.RawMessage(`{}`) }), "template: belongs to format template"},
		{pager(func(p *notice.Target) { p.Format = notice.FormatTemplate }), "template: missing"},
		{pager(func(p *notice.Target) { p.Format, p.Template = notice.FormatTemplate, json.RawMessage(`{`) }), "template: not valid JSON"},
		{pager(func(p *notice.Target) { p.Format, p.Template = notice.FormatTemplate, json.RawMessage(`{"a":1,"a":2}`) }), "template: "},
		{pager(func(p *notice.Target) {
			p.Format, p.Template = notice.FormatTemplate, json.RawMessage(`"`+strings.Repeat("a", 8<<10)+`"`)
		}), "template: 8194 bytes are too long"},
		{pager(func(p *notice.Target) { p.Secret = "" }), "secret: missing"},
		{pager(func(p *notice.Target) { p.Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }), "secret: must be the name of a secret"},
		{pager(func(p *notice.Target) { p.Secret = "DORMOUSE_SECRET_KEY" }), "secret: names the environment variable"},
	} {
		err := c.target.Check()
		if _, is := errors.AsType[*notice.FieldError](err); !is || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v:\ngot  %v\nwant %s", c.target, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "whsec_") {
			t.Errorf("the error repeats what may be a key: %v", err)
		}
	}
}

func TestListsOfTargets(t *testing.T) {
	same := func(*notice.Target) {}
	for want, targets := range map[string][]notice.Target{
		"": {pager(same), mail(same)},
		`notify[1].name: "pager" is used twice; rename one`:                              {pager(same), pager(same)},
		"notify[1].url: must begin with https://":                                        {mail(same), pager(func(p *notice.Target) { p.URL = "ftp://a.example" })},
		"notify: 3 targets are too many; name at most 2":                                 {pager(same), mail(same), pager(same)},
		"notify[0].name: missing; give the target a name":                                {pager(func(p *notice.Target) { p.Name = "" })},
		`notify[0].format: cannot be "x"; it is one of standard, slack, teams, template`: {pager(func(p *notice.Target) { p.Format = "x" })},
	} {
		got := ""
		if err := notice.CheckTargets("notify", targets, 2); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Who may only start runs must not get at a secret of the server.
func TestOnlyAgentFilesPutSecretsIntoAURLOrATemplate(t *testing.T) {
	for field, target := range map[string]notice.Target{
		"url": pager(func(p *notice.Target) { p.URL = "https://evil.example.com/{secret:STRIPE_KEY}" }),
		"template": pager(func(p *notice.Target) {
			p.Format, p.Template = notice.FormatTemplate, json.RawMessage(`{"k":"{secret:STRIPE_KEY}"}`)
		}),
	} {
		if err := target.Check(); err != nil {
			t.Errorf("%s in an agent file: %v", field, err)
		}
		for _, err := range []error{target.CheckOutside(), notice.CheckTargets("notify", []notice.Target{target}, 5)} {
			if err == nil || !strings.Contains(err.Error(), field+": only an agent file") {
				t.Errorf("%s: %v", field, err)
			}
		}
		if got := target.Placeholders(); len(got) != 1 || got[0] != "STRIPE_KEY" {
			t.Errorf("%s: %q", field, got)
		}
	}
}
