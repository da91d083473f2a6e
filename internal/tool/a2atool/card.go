package a2atool

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// card is what is used of an agent card. The rest of it is not read, so that it can't be wrong.
type card struct {
	Interfaces   []*a2a.AgentInterface `json:"supportedInterfaces"`
	Capabilities struct {
		Pushes bool `json:"pushNotifications"`
	} `json:"capabilities"`
	Before string `json:"protocolVersion"` // of a card before 1.0
}

// mostCard limits how much of a card is read. It describes all that the agent can do.
const mostCard = 256 << 10

const wellKnown = "/.well-known/agent-card.json"

// cardURL is where the card is.
func (r *remoteAgent) cardURL() string {
	u := *r.home
	u.Fragment, u.RawFragment = "", ""
	if !strings.HasSuffix(u.Path, ".json") {
		u = *u.JoinPath(wellKnown)
	}
	return u.String()
}

// reach makes the agent's endpoint known: from the task, or else from the card.
func (c *call) reach(ctx context.Context) error {
	if c.task.Endpoint != "" {
		return c.connect(ctx, c.task.Endpoint)
	}
	_, err := c.introduce(ctx)
	return err
}

// introduce fetches the card and chooses the endpoint.
func (c *call) introduce(ctx context.Context) (card, error) {
	k, f := c.fetchCard(ctx)
	if f != nil {
		f.why = "has no usable agent card: it " + f.why
		return k, f
	}
	endpoint, f := c.choose(k)
	if f != nil {
		return k, f
	}
	c.task.Endpoint = endpoint
	return k, c.connect(ctx, endpoint)
}

func (c *call) fetchCard(ctx context.Context) (card, *fault) {
	c.patience.Renew()
	var k card
	a := answer{most: mostCard}
	req, err := http.NewRequestWithContext(watched(ctx, &a), http.MethodGet, c.cardURL(), nil)
	if err != nil {
		return k, &fault{kind: refused, why: "has an address that can't be used", cause: err}
	}
	resp, err := c.web.Do(req)
	if err == nil {
		_ = resp.Body.Close() // the answer has it
	}
	if f := c.transported(ctx, &a, err); f != nil {
		return k, f
	}
	return k, decode(a.body, &k)
}

// mostEndpoint limits what the journal keeps.
const mostEndpoint = 1 << 10

// choose returns the first endpoint of the card that speaks JSON-RPC and A2A 1.x, and has the
// origin of the definition: the headers with secrets are sent there.
func (c *call) choose(k card) (string, *fault) {
	elsewhere := ""
	for _, i := range k.Interfaces {
		if major, _, _ := strings.Cut(string(cmpInterface(i).ProtocolVersion), "."); major != "1" || i.ProtocolBinding != a2a.TransportProtocolJSONRPC {
			continue
		}
		u, err := url.Parse(i.URL)
		if err != nil || u.User != nil || !sameOrigin(u, c.home) {
			elsewhere = cmp.Or(elsewhere, i.URL)
			continue
		}
		u.Fragment, u.RawFragment = i.Tenant, ""
		endpoint := u.String()
		if len(endpoint) > mostEndpoint || c.values.In(endpoint) || c.values.In(i.URL+i.Tenant) {
			return "", &fault{kind: refused, why: "names an address that is too long or contains a secret of this program"}
		}
		return endpoint, nil
	}
	if elsewhere != "" {
		return "", &fault{kind: refused, why: "wants to be called at another origin than that of its definition: " + c.line(elsewhere, mostWord)}
	}
	return "", &fault{kind: refused, why: "does not offer JSON-RPC of A2A 1.x, but " + c.offers(k)}
}

// cmpInterface stands in for an interface that is null.
func cmpInterface(i *a2a.AgentInterface) *a2a.AgentInterface { return cmp.Or(i, &a2a.AgentInterface{}) }

// mostOffers limits how many interfaces of a card a report lists.
const mostOffers = 5

// offers lists what a card offers.
func (c *call) offers(k card) string {
	var all []string
	for _, i := range k.Interfaces {
		offer := remote.Brief(strings.TrimSpace(string(cmpInterface(i).ProtocolBinding) + " " + string(cmpInterface(i).ProtocolVersion)))
		if offer != "" && !slices.Contains(all, offer) && len(all) < mostOffers {
			all = append(all, offer)
		}
	}
	if len(all) == 0 && k.Before != "" {
		return "A2A " + c.line(k.Before, mostWord)
	}
	return cmp.Or(strings.Join(all, ", "), "nothing")
}

// connect makes a client for an endpoint, from the card or from the journal: the definition may
// have another origin by now. It makes no request. The fragment of the address, which is never
// sent, is the tenant that the agent wants to be told.
func (c *call) connect(ctx context.Context, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.User != nil || !sameOrigin(u, c.home) {
		return &fault{kind: refused, why: "was called at another origin than that of its definition, which is not allowed"}
	}
	to := &a2a.AgentInterface{Tenant: u.Fragment, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: a2a.Version}
	u.Fragment, u.RawFragment = "", ""
	to.URL = u.String()
	c.agent, err = a2aclient.NewFromEndpoints(ctx, []*a2a.AgentInterface{to}, a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(c.web))
	if err != nil {
		return &fault{why: "can't be called", cause: err}
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}
