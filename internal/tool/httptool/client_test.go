package httptool

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

func TestAClientReachesWhatAnHTTPToolWould(t *testing.T) {
	withSecret := map[string]string{"Authorization": "Bearer {secret:TOKEN}"}
	for _, tt := range []struct {
		name    string
		server  agent.Server
		private []string
		leads   string
		reached bool
	}{
		{"public, over TLS", agent.Server{URL: "https://api.example.com/mcp", Headers: withSecret}, nil, publicAddress, true},
		{"public, in the clear", agent.Server{URL: "http://api.example.com/mcp"}, nil, publicAddress, true},
		{"public, in the clear, with a secret", agent.Server{URL: "http://api.example.com/mcp", Headers: withSecret}, nil, publicAddress, false},
		{"private", agent.Server{URL: "https://api.example.com/mcp"}, []string{"10.0.0.0/8"}, "10.0.0.7", false},
		{"private, which the file allows", agent.Server{URL: "https://api.example.com/mcp", AllowPrivate: true}, nil, "10.0.0.7", false},
		{"private, which both allow", agent.Server{URL: "https://api.example.com/mcp", AllowPrivate: true}, []string{"10.0.0.0/8"}, "10.0.0.7", true},
		{"private, in the clear, with a secret, which both allow", agent.Server{URL: "http://api.example.com/mcp", AllowPrivate: true, Headers: withSecret},
			[]string{"10.0.0.0/8"}, "10.0.0.7", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.private, w.names["api.example.com"] = tt.private, []string{tt.leads}
			for _, port := range []string{":443", ":80"} {
				w.serve(tt.leads+port, answering(200, `{}`))
			}
			w.wantReached(w.caller().Client(tt.server), tt.server.URL, tt.reached)
			w.wantReached(w.caller().Peer(agent.A2A{URL: tt.server.URL, Headers: tt.server.Headers, AllowPrivate: tt.server.AllowPrivate}), tt.server.URL, tt.reached)
		})
	}
}

func TestAClientFollowsNoRedirect(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "https://api.example.com/else", http.StatusFound)
	})
	for i, client := range []*http.Client{w.caller().Client(agent.Server{}), w.caller().Peer(agent.A2A{})} {
		resp, err := client.Get("https://api.example.com/mcp")
		if err != nil || resp.StatusCode != http.StatusFound || len(w.requests()) != i+1 {
			t.Fatalf("%+v, %v", resp, err)
		}
		resp.Body.Close()
	}
}

func TestADeployNamesTheHostsAndSecretsOfRemoteAgents(t *testing.T) {
	w := newWorld(t)
	d := agent.Definition{Name: "desk", Tools: []agent.Tool{{Name: "review", Agent: &agent.Callee{A2A: &agent.A2A{URL: "http://localhost:9000/", AllowPrivate: true,
		Headers: map[string]string{"Authorization": "Bearer {secret:TOKEN}"}}}}}}
	want := []string{"agent desk: the secret TOKEN is not set; set the environment variable DORMOUSE_SECRET_TOKEN",
		"agent desk: tool review sets allow_private, but the operator does not allow localhost:9000; allow it with --allow-private-hosts localhost:9000"}
	if diff := cmp.Diff(want, w.caller().Lacks(d)); diff != "" {
		t.Errorf("lacks (-want +got):\n%s", diff)
	}
}

func TestADeployIsToldOfServersThatNobodyAllowsAndOfTheirSecrets(t *testing.T) {
	w := newWorld(t)
	d := agent.Definition{Name: "desk", Servers: map[string]agent.Server{"wiki": {URL: "http://localhost:9000/mcp", AllowPrivate: true,
		Headers: map[string]string{"Authorization": "Bearer {secret:TOKEN}"}}}}
	lacks := strings.Join(w.caller().Lacks(d), "\n")
	for _, want := range []string{"the secret TOKEN is not set", "agent desk: server wiki sets allow_private, but the operator does not allow localhost:9000"} {
		if !strings.Contains(lacks, want) {
			t.Errorf("%q is not in %q", want, lacks)
		}
	}
}

func TestADeployChecksTheTargetsOfNotices(t *testing.T) {
	w := newWorld(t)
	d := agent.Definition{Name: "desk", Notify: []notice.Target{{Name: "pager", URL: "https://pager.example.com/", Secret: "PAGER_KEY"},
		{Name: "inside", URL: "http://localhost:9000/", AllowPrivate: true}}}
	want := []string{"agent desk: the secret PAGER_KEY is not set; set the environment variable DORMOUSE_SECRET_PAGER_KEY",
		"agent desk: notify target inside sets allow_private, but the operator does not allow localhost:9000; allow it with --allow-private-hosts localhost:9000"}
	if diff := cmp.Diff(want, w.caller().Lacks(d)); diff != "" {
		t.Errorf("lacks (-want +got):\n%s", diff)
	}
}

func TestASecretThatCannotBeLookedUpNowSaysSoAndNothingElse(t *testing.T) {
	w := newWorld(t)
	w.unread = errUnread
	out := w.call(secretPay, `{}`)
	if want := "The call did not run: the lookup of the secret TOKEN failed; try again later."; !out.Failed || out.Text != want || len(w.dialled) != 0 {
		t.Errorf("%+v, dialled %v", out, w.dialled)
	}
	tool, _ := readTool(t, secretPay)
	if lacks := w.caller().Lacks(agent.Definition{Name: "desk", Tools: []agent.Tool{tool}}); len(lacks) != 1 || strings.Contains(lacks[0], errUnread.Error()) {
		t.Errorf("%q", lacks)
	}
}
