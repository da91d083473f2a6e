package local

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/proof/maildouble"
	"github.com/dormouse-dev/dormouse/internal/proof/slackdouble"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// attack is something that must not decide. It is sent about a call that waits.
type attack struct {
	name string
	want string // the status of the answer, and its code or what else it says
	send func(x *scene) string
}

// group are attacks on calls of one agent.
type group struct {
	name, agent string
	control     attack // what decides, and makes the call run: the same request, unaltered
	attacks     []attack
}

func groups() []group {
	return []group{linkAttacks(), codeAttacks(), personAttacks(), voteAttacks(), escalationAttacks(), hookAttacks(), slackAttacks(), targetAttacks(), callbackAttacks(), rotationAttacks(), lateAttacks()}
}

// arena is a server that all attacks are sent to, with what is around it.
type arena struct {
	*testing.T
	running
	rig     *rig
	paid    *atomic.Int64
	clock   *settable
	slack   *slackdouble.Slack
	mail    *maildouble.Office
	names   *names
	in      inboxOf
	tokens  string
	keys    access.LinkKeys
	secrets sync.Map
}

const (
	quorum = "groups:\n  team: [{person: anna, is: ['token:anna', 'link:anna@example.com', 'hook:person/anna']}, 'token:ben', 'token:boss']\n" +
		"approvals:\n  default: {group: team, need: 2}\n"
	escalated = "groups:\n  team: ['token:anna', 'link:anna@example.com', 'hook:person/anna']\n  board: ['token:ben']\n" +
		"approvals:\n  default: {group: team, escalate: {after: 1s, to: board, replace: true}}\n"
)

func attackAgent(name, front, behind string) string {
	return front + strings.Replace(strings.TrimPrefix(asked, "\n"), "name: desk", "name: "+name, 1) + behind
}

func newArena(t *testing.T) *arena {
	t.Helper()
	r, paid := countingRig(t)
	a := &arena{T: t, rig: r, paid: paid, clock: &settable{}, slack: slackdouble.New(), in: newInbox(t), names: &names{}}
	t.Cleanup(a.slack.Close)
	for name, text := range map[string]string{
		"open":      attackAgent("open", "", ""),
		"own":       strings.Replace(attackAgent("own", "approvers: ['token:anna', 'token:boss', 'token:ci', 'hook:person/anna']\n", ""), "ask: [pay]", "ask: [{tool: pay, not_by: starter}]", 1),
		"duo":       attackAgent("duo", quorum, ""),
		"escalated": attackAgent("escalated", escalated, ""),
		"told":      attackAgent("told", "", "notify:\n  - {name: ops, on: [suspended], url: '"+a.in.URL+"/', secret: WEBHOOK_OPS, allow_private: true}\n"),
		"late":      attackAgent("late", "", slackTarget+"deadlines:\n  approval: {within: 1m, then: cancel}\n"),
		"chat":      attackAgent("chat", "approvers: ['hook:slack/U0ANNA']\n", slackTarget),
	} {
		if err := os.WriteFile(filepath.Join(r.agents, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range attackHooks {
		r.hook(name, text)
	}
	o := r.options()
	o.clock, o.elapsed, o.SlackAPI = a.clock, machine.Elapsed, a.slack.API()
	o.lookup, o.dial = a.names.lookup, a.names.dial
	for name, value := range map[string]string{"KEY": goodKey, "OTHER_KEY": otherKey, "ROTATING": noSpaces(firstKey) + " " + noSpaces(secondKey), "WEBHOOK_OPS": hookKey, "SLACK_TOKEN": slackdouble.Token, "SLACK_SIGNING": slackdouble.Key} {
		a.secrets.Store(name, value)
	}
	o.Secrets = func(_ context.Context, name string) (string, error) {
		if value, known := a.secrets.Load(name); known {
			return value.(string), nil
		}
		return "", secret.ErrNotSet
	}
	o.TokensFile = filepath.Join(t.TempDir(), "tokens")
	a.tokens = o.TokensFile
	a.writeTokens("")
	var err error
	if o.Private, err = netguard.ReadPrivate([]string{strings.TrimPrefix(a.slack.URL, "http://"), strings.TrimPrefix(a.in.URL, "http://")}); err != nil {
		t.Fatal(err)
	}
	a.sendsMail(&o)
	a.running = r.startWith(o)
	if a.keys, err = o.linkKeys(); err != nil {
		t.Fatal(err)
	}
	return a
}

// writeTokens writes the token file: everyone but one.
func (a *arena) writeTokens(without string) {
	a.Helper()
	all := ""
	for name, roles := range map[string][]access.Role{
		"boss": {access.Admin}, "anna": {access.Decide}, "ben": {access.Decide}, "ci": {access.Start, access.Decide, access.Links, access.Read},
		"reader": {access.Read}, "starter": {access.Start}, "mailer": {access.Links},
	} {
		if name != without {
			all += line(name, access.Tenant, name+"-token", roles...)
		}
	}
	all += line("zoe", "zoo", "zoo-token", access.Admin)
	if err := os.WriteFile(a.tokens, []byte(all), 0o600); err != nil {
		a.Fatal(err)
	}
}

// as is the API as people use it.
func (a *arena) as(who string) running {
	return running{a.Server, client.New("http://"+a.Addr(), client.WithToken(who+"-token"), client.WithRetries(0)), nil}
}

// scene is a call that waits.
type scene struct {
	*arena
	run  string
	p    client.Pending
	good int // decisions that were made by those who may
	runs int // how often the tool runs by them
}

// scene starts a run as the caller ci, and waits until it asks.
func (a *arena) scene(t *testing.T, agent string) *scene {
	t.Helper()
	x := &scene{arena: a}
	ci := a.as("ci")
	run, err := ci.StartRun(t.Context(), wire.StartRequest{Agent: agent, Input: []byte(`"pay"`)}, "")
	if err != nil {
		t.Fatal(err)
	}
	run = ci.await(t, run.ID, "waiting")
	x.run, x.p = run.ID, run.Pending[0]
	return x
}

func (x *scene) sus() string { return x.p.Suspension.ID }

// holds checks that only those decided who may, and that the tool ran only for them.
func (x *scene) holds(t *testing.T, paidBefore int64) {
	t.Helper()
	boss := x.as("boss")
	if _, err := boss.Cancel(t.Context(), x.run); err != nil && codeOf(err) != "run_done" {
		t.Error(err)
	}
	boss.await(t, x.run, "done")
	page, err := boss.EventPage(t.Context(), x.run, client.EventQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	decided := 0
	for _, e := range page.Items {
		if e.Type == "decision.recorded" {
			if decided++; decided > x.good {
				t.Errorf("an attacker decided: %s", e.Data)
			}
		}
	}
	if decided < x.good {
		t.Errorf("%d of %d decisions are in the journal", decided, x.good)
	}
	if ran := x.paid.Load() - paidBefore; ran != int64(x.runs) {
		t.Errorf("the tool ran %d times, want %d", ran, x.runs)
	}
}

// TestNoAttackDecides also sends, for each group, the request that attacks are made of: it decides.
func TestNoAttackDecides(t *testing.T) {
	a := newArena(t)
	for _, g := range groups() {
		for _, c := range append([]attack{g.control}, g.attacks...) {
			t.Run(g.name+"/"+c.name, func(t *testing.T) {
				a.T = t
				before := a.paid.Load()
				x := a.scene(t, g.agent)
				if c.name == g.control.name {
					x.good, x.runs = 1, 1
				}
				if got := c.send(x); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
				if c.name == g.control.name {
					a.as("boss").await(t, x.run, "done")
				}
				x.holds(t, before)
			})
		}
	}
}

// request is what is sent to the server, as the caller wrote it.
type request struct {
	method, path, body string
	header             http.Header
}

// sends returns the status of the answer, and its code or what else it says.
func (x *scene) sends(q request) string {
	x.Helper()
	req, err := http.NewRequestWithContext(x.Context(), cmp.Or(q.method, "POST"), "http://"+x.Addr()+q.path, strings.NewReader(q.body))
	if err != nil {
		x.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, values := range q.header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		x.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		x.Fatal(err)
	}
	return strings.TrimSpace(fmt.Sprint(resp.StatusCode) + " " + says(resp.Header.Get("Content-Type"), text))
}

// says is what an answer says, in a word.
func says(media string, text []byte) string {
	if strings.HasPrefix(media, "text/html") {
		return "page"
	}
	var of struct {
		Code, Ignored, State, Challenge string
		Replayed                        bool
		Type                            any
		DecisionID                      string          `json:"decision_id"`
		Suspension                      json.RawMessage `json:"suspension"`
	}
	if json.Unmarshal(text, &of) != nil {
		return ""
	}
	for _, c := range []struct {
		is   bool
		word string
	}{{of.Code != "", of.Code}, {of.Replayed, "replayed"}, {of.Ignored != "", "ignored"}, {of.Challenge != "", "challenge"}, {of.Type == 1.0, "pong"},
		{of.State != "", of.State}, {of.DecisionID != "", "decided"}, {of.Suspension != nil, "question"}} {
		if c.is {
			return c.word
		}
	}
	return ""
}

// bearer are the headers of a caller with a token.
func bearer(who string) http.Header {
	return http.Header{"Authorization": {"Bearer " + who + "-token"}}
}

// api sends a decision on the call by the API.
func (x *scene) api(who, body string) string {
	x.Helper()
	return x.sends(request{path: "/v1/suspensions/" + x.sus(), body: body, header: bearer(who)})
}

// rightly makes a decision that is allowed.
func (x *scene) rightly(who, body string) {
	x.Helper()
	if got := x.api(who, body); got != "202 accepted" {
		x.Fatalf("%s by %s: %s", body, who, got)
	}
	x.good++
}

// makeLink makes a link as the caller boss; its path.
func (x *scene) makeLink(req client.LinkRequest) client.Link {
	x.Helper()
	req.Target, req.For = x.sus(), cmp.Or(req.For, "anna@example.com")
	l, err := x.as("boss").MakeLink(x.Context(), x.run, req)
	if err != nil {
		x.Fatal(err)
	}
	return l
}

// later runs something at a later time of the server's clock.
func (x *scene) later(by time.Duration, do func() string) string {
	x.clock.Set(by)
	defer x.clock.Set(-by)
	return do()
}
