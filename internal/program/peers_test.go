package program

import (
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

const editing = `
name: desk
model: {provider: scripted, turns: [{say: a}]}
tools:
  - name: review
    a2a: {url: "https://reviews.example.com/v1?of=s3cret", headers: {Authorization: "Bearer {secret:REVIEWS}"}}
    input: "Review {draft}"
  - {name: pay, go: pay}
permissions: {allow: ['*']}
`

type far struct{ engine.Peer }

// withPeers is a program that reaches agents elsewhere. It counts how often it is asked for one.
func withPeers(t *testing.T, err error) (p Program, made *int) {
	t.Helper()
	p, made = (&parts{}).program(t), new(int)
	p.Peers = func(agent.Definition, agent.Tool) (engine.Peer, error) {
		*made++
		return &far{}, err
	}
	return p, made
}

func TestOneAgentElsewhereIsAskedForAllRunsOfAVersion(t *testing.T) {
	p, made := withPeers(t, nil)
	shelf, d := stored(t, editing)
	a := NewAgents(shelf, p)
	pin := engine.Pin{Tenant: access.Tenant, Name: "desk", Version: d.Digest()}
	free, err := a.Load(t.Context(), pin)
	if err != nil {
		t.Fatal(err)
	}
	pin.Narrow = []byte(`{"deny":["pay"]}`)
	bound, err := a.Load(t.Context(), pin)
	if err != nil {
		t.Fatal(err)
	}
	if *made != 1 || len(free.Peers) != 1 || free.Peers["review"] == nil || free.Peers["review"] != bound.Peers["review"] {
		t.Errorf("%d were made: %v and %v", *made, free.Peers, bound.Peers)
	}
	if len(free.Tools) != 1 || len(free.Offered) != 2 {
		t.Errorf("bodies %v, offered %v", free.Tools, free.Offered)
	}
	child, ok := free.Rules.Child(core.ToolCall{Name: "review", Arguments: []byte(`{"draft":"a"}`)})
	if want := (core.ChildSpec{Agent: "review", Remote: "review", Input: "Review a"}); !ok || child != want {
		t.Errorf("%+v, want %+v", child, want)
	}
}

func TestAnAgentThatCallsOthersElsewhereIsRefusedByAProgramThatCannot(t *testing.T) {
	_, d := stored(t, editing)
	wrong := NewAgents(nil, (&parts{}).program(t)).check([]agent.Definition{d})
	for _, want := range []string{
		`agent desk: this program has no kind of tools "a2a"; name one it has (agent, client, go, http, lambda, mcp, recorded), or`,
		"agent desk: the secret REVIEWS is not set; set the environment variable DORMOUSE_SECRET_REVIEWS",
	} {
		if wrong == nil || !strings.Contains(wrong.Error(), want) {
			t.Errorf("%v\nwant %s", wrong, want)
		}
	}
	if !errors.Is(wrong, engine.ErrNotFound) {
		t.Errorf("%v is not known as something that is missing", wrong)
	}
	p, _ := withPeers(t, nil)
	if wrong := NewAgents(nil, p).check([]agent.Definition{d}); wrong == nil || strings.Contains(wrong.Error(), "kind of tools") {
		t.Errorf("%v", wrong)
	}
}

func TestWhatIsWrongWithAnAgentElsewhereIsToldWithTheAgent(t *testing.T) {
	p, _ := withPeers(t, errors.New("tool review: no such luck"))
	shelf, d := stored(t, editing)
	_, err := NewAgents(shelf, p).Load(t.Context(), engine.Pin{Tenant: access.Tenant, Name: "desk", Version: d.Digest()})
	if err == nil || err.Error() != "agent desk: tool review: no such luck" {
		t.Errorf("%v", err)
	}
}

func TestCallersAreShownTheHostOfAnAgentElsewhereAndNothingElse(t *testing.T) {
	p, _ := withPeers(t, nil)
	shelf, _ := stored(t, editing)
	a := NewAgents(shelf, p)
	shown, err := a.Describe(shelf.stored)
	if err != nil || len(shown.Tools) != 2 {
		t.Fatalf("%+v, %v", shown, err)
	}
	if got := shown.Tools[0]; got.A2A != "reviews.example.com" || got.Agent != "" || got.Delivery != "at_most_once" || shown.Tools[1].A2A != "" {
		t.Errorf("%+v", shown.Tools)
	}
	details, err := a.Tool(t.Context(), access.Tenant, core.Record{Agent: "desk", Version: shelf.stored.Digest}, "review")
	if err != nil || details.Kind != "a2a" || details.Target != "reviews.example.com" {
		t.Errorf("%+v, %v", details, err)
	}
	if text := string(core.Encode(shown)) + string(core.Encode(details)); strings.Contains(text, "REVIEWS") || strings.Contains(text, "s3cret") {
		t.Errorf("callers are shown %s", text)
	}
}

// TestNoFileHasToHaveAnAgentElsewhere: whether there is one, its host says.
func TestNoFileHasToHaveAnAgentElsewhere(t *testing.T) {
	r := newDirRig(t, map[string]string{"desk.yaml": editing})
	if problems := r.agents.Incomplete(); len(problems) > 0 {
		t.Errorf("incomplete: %v", problems)
	}
}
