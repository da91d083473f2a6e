package httptool

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// TestTheEndpointOfAModelIsReachedAsTheOperatorAllows: the file names an address, and the operator
// answers for the network.
func TestTheEndpointOfAModelIsReachedAsTheOperatorAllows(t *testing.T) {
	for _, tt := range []struct {
		name, url, key string
		private        []string
		leads          string
		reached        bool
	}{
		{"public", "https://api.example.com/v1", "KEY", nil, publicAddress, true},
		{"this machine", "http://127.0.0.1/v1", "", nil, "127.0.0.1", false},
		{"this machine, by name", "http://localhost/v1", "", nil, "127.0.0.1", false},
		{"this machine, in IPv6", "http://[::1]/v1", "", nil, "::1", false},
		{"this machine, in other clothes", "http://[::ffff:127.0.0.1]/v1", "", nil, "::1", false},
		{"this machine, which the operator allows", "http://127.0.0.1/v1", "", []string{"127.0.0.1:80"}, "127.0.0.1", true},
		{"this machine with a key, which the operator allows", "http://localhost/v1", "KEY", []string{"localhost"}, "127.0.0.1", true},
		{"another port than the operator allows", "http://127.0.0.1/v1", "", []string{"127.0.0.1:11434"}, "127.0.0.1", false},
		{"a name that leads inside", "https://api.example.com/v1", "", nil, "10.0.0.7", false},
		{"a name that leads inside, as the operator allows", "https://api.example.com/v1", "", []string{"10.0.0.0/8"}, "10.0.0.7", true},
		{"a name that leads to AWS's metadata", "http://api.example.com/v1", "", []string{"0.0.0.0/0", "api.example.com"}, "169.254.169.254", false},
		{"a name that leads to AWS's metadata, in IPv6", "http://api.example.com/v1", "", []string{"::/0", "api.example.com"}, "fd00:ec2::254", false},
		{"a name that leads to Azure's", "http://api.example.com/v1", "", []string{"168.0.0.0/8", "api.example.com"}, "168.63.129.16", false},
		{"a name that leads to Alibaba's", "http://api.example.com/v1", "", []string{"100.64.0.0/10", "api.example.com"}, "100.100.100.200", false},
		{"a public one, with a key in the clear", "http://api.example.com/v1", "KEY", nil, publicAddress, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.private = tt.private
			w.names["api.example.com"], w.names["localhost"] = []string{tt.leads}, []string{tt.leads}
			for _, port := range []uint16{443, 80} {
				w.serve(netip.AddrPortFrom(netip.MustParseAddr(tt.leads), port).String(), answering(200, `{}`))
			}
			w.wantReached(w.caller().Endpoint(agent.Model{BaseURL: tt.url, APIKey: tt.key}), tt.url, tt.reached)
		})
	}
}

// TestTheEndpointOfAModelIsConnectedToWhereItWasLookedAt: a name that means something else a moment
// later leads nowhere else, and neither does a redirect.
func TestTheEndpointOfAModelIsConnectedToWhereItWasLookedAt(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect)
	})
	moving, _ := movingTo("127.0.0.1")
	c := w.callerWith(moving)
	client := c.Endpoint(agent.Model{BaseURL: "https://api.example.com/v1"})
	resp, err := client.Get("https://api.example.com/v1/chat/completions")
	if err != nil || resp.StatusCode != http.StatusTemporaryRedirect {
		t.Fatalf("%+v, %v", resp, err)
	}
	resp.Body.Close()
	if _, err := client.Get("https://api.example.com/v1/chat/completions"); err == nil {
		t.Error("the second lookup led inside, and was followed")
	}
	if len(w.dialled) != 1 || w.dialled[0].Addr().String() != publicAddress {
		t.Errorf("dialled %v", w.dialled)
	}
}

// TestOnlyTheEndpointOfAModelKeepsConnections: two definitions share none, since some servers
// identify the caller once for each connection.
func TestOnlyTheEndpointOfAModelKeepsConnections(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", answering(200, "{}"))
	c, base := w.caller(), "https://api.example.com/v1"
	one, another := c.Endpoint(agent.Model{BaseURL: base}), c.Endpoint(agent.Model{BaseURL: base})
	server := c.Client(agent.Server{URL: base})
	for i, by := range []struct {
		client *http.Client
		dials  int
	}{{one, 1}, {one, 1}, {another, 2}, {one, 2}, {server, 3}, {server, 4}, {one, 4}} {
		resp, err := by.client.Get(base)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if len(w.dialled) != by.dials {
			t.Errorf("request %d: %d connections, want %d", i, len(w.dialled), by.dials)
		}
	}
}

func TestADeployIsToldOfAModelThatIsOutOfReach(t *testing.T) {
	for _, tt := range []struct {
		url, host string
		private   []string
		told      bool
	}{
		{"http://127.0.0.1:11434/v1", "127.0.0.1:11434", nil, true},
		{"http://localhost:11434/v1", "localhost:11434", []string{"localhost:9000"}, true},
		{"http://LOCALHOST.:11434/v1", "LOCALHOST.:11434", nil, true},
		{"http://[fd00::1]:8000/v1", "[fd00::1]:8000", nil, true},
		{"http://10.0.0.5/v1", "10.0.0.5", []string{"10.0.0.6"}, true},
		{"http://127.0.0.1:11434/v1", "", []string{"127.0.0.1:11434"}, false},
		{"http://localhost:11434/v1", "", []string{"localhost"}, false},
		{"http://10.0.0.5/v1", "", []string{"10.0.0.0/8"}, false},
		{"https://models.example.com/v1", "", nil, false},
	} {
		w := newWorld(t)
		w.private = tt.private
		lacks := strings.Join(w.caller().Lacks(agent.Definition{Name: "desk", Model: agent.Model{Provider: agent.ProviderOpenAI, BaseURL: tt.url}}), "\n")
		want := "agent desk: the model's base_url is at " + tt.host + ", which is not a public address and is not allowed by the operator; allow it with --allow-private-hosts " + tt.host
		if tt.told && lacks != want || !tt.told && lacks != "" {
			t.Errorf("%s, allowed %v: %q", tt.url, tt.private, lacks)
		}
	}
}
