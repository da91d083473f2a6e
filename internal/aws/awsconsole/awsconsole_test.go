package awsconsole

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awstest"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/proof/oidcdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

const public = "https://desk.example.com"

func register(*tool.Registry, *hook.Registry) error { return nil }

// stand is the function on doubles of AWS and of a provider.
type stand struct {
	*testing.T
	provider *oidcdouble.Provider
	env      map[string]string
	log      bytes.Buffer
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{T: t}
	var err error
	s.provider, err = oidcdouble.New(public + "/signed-in")
	s.must(err)
	t.Cleanup(s.provider.Close)
	double := awsdouble.New(awsdouble.Options{})
	services := httptest.NewServer(double)
	t.Cleanup(services.Close)
	parameters := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_, _ = fmt.Fprintf(w, `{"Parameter": {"Value": %q}}`, oidcdouble.Secret)
	}))
	t.Cleanup(parameters.Close)
	_, err = double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("table"))
	s.must(err)
	s.env = map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": services.URL + "/123456789012/wake", "DORMOUSE_NOTIFY_QUEUE_URL": services.URL + "/123456789012/notify",
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": services.URL,
		"DORMOUSE_AUTH": "JWT", "DORMOUSE_TENANT_CLAIM": "org", "DORMOUSE_ROLES_CLAIM": "groups", "DORMOUSE_PUBLIC_URL": public, "DORMOUSE_STREAM_URL": "https://streams.example.com/",
		"DORMOUSE_OIDC_ISSUER": s.provider.URL, "DORMOUSE_OIDC_CLIENT_ID": oidcdouble.ClientID, "DORMOUSE_OIDC_ROLES": "claim:email=olga@acme.example=admin",
		"DORMOUSE_SECRETS_PATH": "/dormouse/test/", "AWS_ENDPOINT_URL_SSM": parameters.URL}
	return s
}

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%v\nthe log:\n%s", err, s.log.String())
	}
}

func (s *stand) settings() awsenv.Settings {
	s.Helper()
	settings, err := awsenv.Read(func(name string) string { return s.env[name] })
	s.must(err)
	return settings
}

// waits starts a run of a tenant that waits for an approval.
func (s *stand) waits(tenant string) (run, sus string) {
	s.Helper()
	front, err := awsenv.NewFront(s.settings(), register, io.Discard)
	s.must(err)
	awstest.Deploy(s.T, front.Store, tenant, awstest.Desk)
	started, err := front.Frontend.Start(s.Context(), frontend.Caller{Tenant: tenant, By: "token:shop"}, "", wire.StartRequest{Agent: "desk", Input: []byte(`"go"`)})
	s.must(err)
	worker := frontendtest.Worker{Test: s.T, Store: front.Store, Clock: front.Clock, Random: machine.Random{}, Tenant: tenant}
	return started.Run.ID, worker.Suspend(started.Run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval})["c1"]
}

// browser keeps the cookies of one person.
type browser struct {
	*stand
	cookies map[string]string
}

// open hands a request to a new instance of the function, as the gateway does: nothing that an
// earlier one kept in memory is there.
func (b browser) open(method, address string, form url.Values) events.APIGatewayV2HTTPResponse {
	b.Helper()
	path, query, _ := strings.Cut(strings.TrimPrefix(address, public), "?")
	e := events.APIGatewayV2HTTPRequest{RawPath: path, RawQueryString: query, Body: form.Encode(),
		Headers: map[string]string{"host": "desk.example.com", "accept": "text/html", "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}}
	e.RequestContext.HTTP.Method = method
	for name, value := range b.cookies {
		e.Cookies = append(e.Cookies, name+"="+value)
	}
	function, err := Open(b.settings(), register, &b.log)
	b.must(err)
	answer, err := function(b.Context(), e)
	b.must(err)
	for _, text := range answer.Cookies {
		c, err := http.ParseSetCookie(text)
		b.must(err)
		if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || !strings.HasPrefix(c.Name, "__Host-") {
			b.Errorf("the cookie %s", text)
		}
		b.cookies[c.Name] = c.Value
	}
	return answer
}

// enters is the browser of an account that went to the provider and came back.
func (s *stand) enters(claims map[string]any) browser {
	s.Helper()
	s.provider.SignInAs(claims)
	b := browser{s, map[string]string{}}
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, b.open("GET", "/signin/begin?to=/", nil).Headers["Location"], nil)
	s.must(err)
	at, err := http.DefaultTransport.RoundTrip(r)
	s.must(err)
	at.Body.Close()
	b.open("GET", at.Header.Get("Location"), nil)
	return b
}

var field = regexp.MustCompile(`name="(form|shown|hold|withdrawn|decision_id)" value="([^"]+)"`)

// Each request is answered by another process.
func TestAPersonAnswersInTheConsole(t *testing.T) {
	s := newStand(t)
	run, sus := s.waits("acme")
	_, other := s.waits("rival")
	if got := (browser{s, map[string]string{}}).open("GET", "/", nil); got.StatusCode != 303 || got.Headers["Location"] != "/signin?to=%2F" && got.Headers["Location"] != public+"/signin?to=%2F" {
		t.Fatalf("%d to %s", got.StatusCode, got.Headers["Location"])
	}
	b := s.enters(map[string]any{"sub": "u-1", "org": "acme", "groups": []string{"decide"}, "email": "anna@acme.example", "email_verified": true})
	inbox := b.open("GET", "/", nil)
	if inbox.StatusCode != 200 || !strings.Contains(inbox.Body, sus) || strings.Contains(inbox.Body, other) {
		t.Fatalf("%d\n%s\nthe log:\n%s", inbox.StatusCode, inbox.Body, s.log.String())
	}
	if policy := inbox.Headers["Content-Security-Policy"]; !strings.Contains(policy, "connect-src 'self' https://streams.example.com;") {
		t.Error(policy)
	}
	live := b.open("GET", "/live?after="+regexp.MustCompile(`/live\?after=([^"]*)`).FindStringSubmatch(inbox.Body)[1], nil)
	if live.StatusCode != 307 || !strings.HasPrefix(live.Headers["Location"], "https://streams.example.com/v1/streams/") {
		t.Errorf("an open page hears by %d %v", live.StatusCode, live.Headers)
	}
	style := regexp.MustCompile(`href="(/console/[^"]+\.css)"`).FindStringSubmatch(inbox.Body)
	if got := b.open("GET", style[1], nil); got.StatusCode != 200 || !strings.Contains(got.Headers["Cache-Control"], "immutable") {
		t.Errorf("%d %v", got.StatusCode, got.Headers)
	}
	form := url.Values{"action": {"resume"}}
	for _, m := range field.FindAllStringSubmatch(b.open("GET", "/questions/"+sus, nil).Body, -1) {
		form.Set(m[1], m[2])
	}
	if got := b.open("POST", "/questions/"+sus, form); got.StatusCode != 303 {
		t.Fatalf("%d\n%s", got.StatusCode, got.Body)
	}
	if got := b.open("GET", "/questions/"+sus, nil); got.StatusCode != 200 || !strings.Contains(got.Body, "Answered: Yes") {
		t.Errorf("%d\n%s", got.StatusCode, got.Body)
	}
	for path, want := range map[string]int{"/runs/" + run: 403, "/questions/" + other: 404, "/v1/runs": 401, "/v1/me": 401, "/healthz": 401} {
		if got := b.open("GET", path, nil); got.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, got.StatusCode, want)
		}
	}
}

// Within the stack's UndoSeconds, the person takes the answer back. Where that is 0, it is final.
func TestAnAnswerInTheConsoleIsUndone(t *testing.T) {
	for seconds, says := range map[string]string{"": "Your answer is final", "0": "Your answer is final", "30": "You can undo your answer for 30 seconds"} {
		s := newStand(t)
		s.env["DORMOUSE_UNDO_SECONDS"] = seconds
		_, sus := s.waits("acme")
		b := s.enters(map[string]any{"sub": "u-1", "org": "acme", "groups": []string{"decide"}})
		press := func(page events.APIGatewayV2HTTPResponse, action string) events.APIGatewayV2HTTPResponse {
			form := url.Values{"action": {action}}
			for _, m := range field.FindAllStringSubmatch(page.Body, -1) {
				form.Set(m[1], m[2])
			}
			return b.open("POST", "/questions/"+sus, form)
		}
		asked := b.open("GET", "/questions/"+sus, nil)
		if !strings.Contains(asked.Body, says) {
			t.Errorf("with %q seconds: %s", seconds, asked.Body)
		}
		press(asked, "resume")
		answered := b.open("GET", "/questions/"+sus, nil)
		if held := strings.Contains(answered.Body, ">Undo</button>"); held != (seconds == "30") {
			t.Errorf("with %q seconds: %s", seconds, answered.Body)
		} else if !held {
			continue
		}
		press(answered, "withdraw")
		if open := b.open("GET", "/questions/"+sus, nil); !strings.Contains(open.Body, "You took your answer back. Nothing was done.") || !strings.Contains(open.Body, `value="resume"`) {
			t.Errorf("taken back: %s", open.Body)
		}
	}
}

// The process that reads a copied cookie is not the one that was asked to end its session.
func TestASignOutCountsInAllProcesses(t *testing.T) {
	b := newStand(t).enters(map[string]any{"sub": "u-1", "org": "acme", "groups": []string{"read"}})
	copied := browser{b.stand, maps.Clone(b.cookies)}
	inbox := copied.open("GET", "/", nil)
	if inbox.StatusCode != 200 {
		t.Fatalf("%d %s", inbox.StatusCode, inbox.Body)
	}
	if got := b.open("POST", "/signout", url.Values{"form": {field.FindStringSubmatch(inbox.Body)[2]}}); got.StatusCode != 303 {
		t.Fatalf("%d %s", got.StatusCode, got.Body)
	}
	if got := copied.open("GET", "/", nil); got.StatusCode != 303 {
		t.Errorf("signed out, and still in: %d", got.StatusCode)
	}
}

func TestWhoWorksInTheConsole(t *testing.T) {
	s := newStand(t)
	for name, tt := range map[string]struct {
		claims map[string]any
		want   int
	}{
		"a role of the claim":      {map[string]any{"sub": "u-1", "org": "acme", "groups": []string{"read"}}, 200},
		"a role of a rule":         {map[string]any{"sub": "u-2", "org": "acme", "email": "olga@acme.example", "email_verified": true}, 200},
		"an address not verified":  {map[string]any{"sub": "u-2", "org": "acme", "email": "olga@acme.example"}, 303},
		"no tenant":                {map[string]any{"sub": "u-1", "groups": []string{"read"}}, 303},
		"a tenant that is none":    {map[string]any{"sub": "u-1", "org": "Acme Ltd", "groups": []string{"read"}}, 303},
		"no role":                  {map[string]any{"sub": "u-1", "org": "acme", "groups": []string{"staff"}}, 303},
		"a group that names roles": {map[string]any{"sub": "u-1", "org": "acme", "groups": []string{"site admin"}}, 303},
	} {
		if got := s.enters(tt.claims).open("GET", "/runs", nil); got.StatusCode != tt.want {
			t.Errorf("%s: %d, want %d", name, got.StatusCode, tt.want)
		}
	}
	s.env["DORMOUSE_OIDC_ISSUER"], s.env["DORMOUSE_OIDC_CLIENT_ID"] = "", ""
	if _, err := Open(s.settings(), register, io.Discard); err == nil {
		t.Error("it starts without a provider: no one could sign in")
	}
}
