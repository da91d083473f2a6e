package httptool

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

const awkward = `s3cret "quoted" <&> 100%/x\y`

const secretPay = `  - {name: pay, http: {method: POST, url: "https://api.example.com/pay", query: {k: "{secret:TOKEN}"}, headers: {Authorization: "Bearer {secret:TOKEN}"}, max_bytes: 500},
     parameters: {type: object}}`

// TestNoSecretComesBack: a service that says back whatever it was sent tells nobody a secret.
func TestNoSecretComesBack(t *testing.T) {
	quoted, _ := json.Marshal(awkward)
	echoes := map[string]string{"as it is": awkward, "as JSON": `{"you sent": ` + string(quoted) + `}`, "escaped": url.QueryEscape(awkward), "escaped for a path": url.PathEscape(awkward),
		"in the middle of a word": "xx" + awkward + awkward + "xx", "cut in the middle": strings.Repeat("x", 490) + awkward}
	for name, echo := range echoes {
		for _, code := range []int{200, 302, 400, 500, 503} {
			w := newWorld(t)
			w.secrets["TOKEN"] = awkward
			w.serve(publicAddress+":443", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Location", "https://other.example.com/"+url.PathEscape(awkward))
				rw.Header().Set("Content-Type", "text/plain")
				rw.WriteHeader(code)
				_, _ = rw.Write([]byte(echo))
			})
			out := w.call(secretPay, `{}`)
			if leaks(out.Text) || out.Text == "" {
				t.Errorf("%s, %d: %s", name, code, out.Text)
			}
			if got := w.requests(); len(got) != 1 || got[0].Header.Get("Authorization") != "Bearer "+awkward {
				t.Errorf("requests %+v", got)
			}
		}
	}
}

func leaks(text string) bool {
	quoted, _ := json.Marshal(awkward)
	for _, form := range []string{awkward, "s3cret", url.QueryEscape(awkward), url.PathEscape(awkward), string(quoted)} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

func TestASecretIsLookedUpAtEveryCall(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", answering(200, `1`))
	c := w.caller()
	tool, _ := readTool(t, secretPay)
	body := c.Tool(tool)
	for _, value := range []string{"first", "second"} {
		w.secrets["TOKEN"] = value
		if out, err := body.Run(t.Context(), requestFor(`{}`)); err != nil || out.Failed {
			t.Fatalf("outcome %+v, %v", out, err)
		}
	}
	if got := w.requests(); len(got) != 2 || got[0].Header.Get("Authorization") != "Bearer first" || got[1].Header.Get("Authorization") != "Bearer second" {
		t.Errorf("requests %+v", got)
	}
}

func TestASecretThatCannotBeSentFailsTheCallAndTheDeploy(t *testing.T) {
	for value, want := range map[string]string{"": "the secret TOKEN is not set", "abc\n": "the secret TOKEN cannot be sent", "a\r\nX-Evil: 1": "the secret TOKEN cannot be sent"} {
		w := newWorld(t)
		w.secrets["TOKEN"] = value
		out := w.call(secretPay, `{}`)
		if !out.Failed || !strings.HasPrefix(out.Text, "The call did not run: "+want) || len(w.dialled) != 0 || strings.Contains(out.Text, "Evil") {
			t.Errorf("%q: outcome %+v, dialled %v", value, out, w.dialled)
		}
		tool, _ := readTool(t, secretPay)
		lacks := w.caller().Lacks(agent.Definition{Name: "desk", Tools: []agent.Tool{tool}})
		if len(lacks) != 1 || !strings.HasPrefix(lacks[0], "agent desk: "+want) || !strings.Contains(lacks[0], "DORMOUSE_SECRET_TOKEN") {
			t.Errorf("%q: %q", value, lacks)
		}
	}
}

func TestADeployIsToldOfPrivateHostsThatNobodyAllows(t *testing.T) {
	for _, tt := range []struct {
		url      string
		operator []string
		lacks    bool
	}{
		{"http://localhost:9000/x", nil, true}, {"http://localhost:9000/x", []string{"localhost:9000"}, false}, {"http://localhost/x", []string{"localhost:80"}, false},
		{"http://localhost:9000/x", []string{"localhost:9001"}, true}, {"http://svc/x", []string{"10.0.0.0/8"}, false},
		{"http://10.1.1.1/x", []string{"10.0.0.0/8"}, false}, {"http://11.1.1.1/x", []string{"10.0.0.0/8"}, true},
		{"http://169.254.169.254/x", []string{"169.254.0.0/16"}, true}, {"http://169.254.169.254/x", []string{"169.254.169.254"}, false},
		{"https://[::1]:9000/x", []string{"[::1]:9000"}, false}, {"https://[::1]/x", []string{"::1"}, false},
	} {
		w := newWorld(t)
		w.private = tt.operator
		tool, _ := readTool(t, `  - {name: x, http: {allow_private: true, url: "`+tt.url+`"}, parameters: {type: object}}`)
		lacks := w.caller().Lacks(agent.Definition{Name: "desk", Tools: []agent.Tool{tool}})
		if (len(lacks) == 1) != tt.lacks || tt.lacks && !strings.Contains(lacks[0], "allow it with --allow-private-hosts") {
			t.Errorf("%s with %v: %q", tt.url, tt.operator, lacks)
		}
	}
}

func TestAnUnknownOutcomeNamesNoSecret(t *testing.T) {
	w := newWorld(t)
	w.secrets["TOKEN"] = "api.example.com" // as awkward as it gets: the host is the secret
	w.serve(publicAddress+":443", never(w))
	out := w.call(secretPay, `{}`)
	if out.Ticket == nil || strings.Contains(out.Ticket.Suspension.Message, "api.example.com") {
		t.Errorf("%+v", out)
	}
}
