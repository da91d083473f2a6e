package program

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
)

const connected = `
name: desk
model: {provider: bedrock, model: m-1}
tools:
  - {name: price, lambda: {function: price}, parameters: {type: object}}
  - {name: find, mcp: {server: wiki}, parameters: {type: object}}
servers: {wiki: {url: "https://wiki.example.com/mcp", headers: {Authorization: "Bearer {secret:WIKI}"}}}
permissions: {allow: ['*']}
`

// parts are a provider and bodies that count how often they are asked for.
type parts struct {
	models int
	bodies []string
	refuse error
}

type silent struct{ agent.Definition }

func (silent) Ask(context.Context, engine.Prompt) (core.Turn, error) { return core.Turn{}, nil }

type inert struct{ engine.Tool }

func (p *parts) model(d agent.Definition) (engine.Model, error) {
	p.models++
	return &silent{d}, p.refuse
}

func (p *parts) body(_ agent.Definition, t agent.Tool) (engine.Tool, error) {
	p.bodies = append(p.bodies, t.Name)
	return inert{}, nil
}

func (p *parts) program(t *testing.T) Program {
	t.Helper()
	return Program{Tools: payer(t), Hooks: hook.NewRegistry(), Models: map[string]Provider{agent.ProviderBedrock: p.model},
		Bodies: map[string]Bodies{BodyLambda: p.body, BodyMCP: p.body}}
}

// one is a store with one deployed definition.
type one struct {
	Definitions
	stored engine.Definition
}

func (o one) Newest(context.Context, string, string) (string, error) { return o.stored.Digest, nil }
func (o one) Definition(context.Context, string, string, string) (engine.Definition, error) {
	return o.stored, nil
}

func stored(t *testing.T, text string) (one, agent.Definition) {
	t.Helper()
	d, err := agentfile.Parse("desk.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return one{stored: engine.Definition{Tenant: access.Tenant, Name: d.Name, Digest: d.Digest(), Body: d.Encode()}}, d
}

func TestOneModelAnswersForAllRunsOfAVersion(t *testing.T) {
	p := &parts{}
	shelf, d := stored(t, connected)
	a := NewAgents(shelf, p.program(t))
	pin := engine.Pin{Tenant: access.Tenant, Name: "desk", Version: d.Digest()}
	free, err := a.Load(t.Context(), pin)
	if err != nil {
		t.Fatal(err)
	}
	pin.Narrow = json.RawMessage(`{"deny":["price"]}`)
	bound, err := a.Load(t.Context(), pin)
	if err != nil {
		t.Fatal(err)
	}
	if p.models != 1 || !slices.Equal(p.bodies, []string{"price", "find"}) {
		t.Errorf("%d models and the bodies %v were made", p.models, p.bodies)
	}
	if free.Model != bound.Model || free.Tools["price"] == nil || len(free.Offered) != 2 || len(bound.Offered) != 1 {
		t.Errorf("%+v and %+v", free, bound)
	}
}

func TestAProviderOrKindThatIsMissingIsToldAtTheDeploy(t *testing.T) {
	_, d := stored(t, connected)
	p := (&parts{}).program(t)
	p.Models = map[string]Provider{agent.ProviderOpenAI: nil}
	delete(p.Bodies, BodyLambda)
	wrong := NewAgents(nil, p).check([]agent.Definition{d})
	for _, want := range []string{
		`agent desk: this program has no provider of models "bedrock"; name one it has (openai, recorded, scripted), or`,
		`agent desk: this program has no kind of tools "lambda"; name one it has (agent, client, go, http, mcp, recorded), or`,
		"the secret WIKI is not set",
	} {
		if wrong == nil || !strings.Contains(wrong.Error(), want) {
			t.Errorf("%v\nwant %s", wrong, want)
		}
	}
	if !errors.Is(wrong, engine.ErrNotFound) {
		t.Errorf("%v is not known as something that is missing", wrong)
	}
}

func TestAProcessThatRunsNothingNeedsNoProvider(t *testing.T) {
	shelf, d := stored(t, connected)
	a := NewAgents(shelf, Program{Tools: payer(t), Hooks: hook.NewRegistry(), Idle: true})
	made, err := a.Load(t.Context(), engine.Pin{Tenant: access.Tenant, Name: "desk", Version: d.Digest()})
	if err != nil || made.Model != nil || len(made.Offered) != 2 {
		t.Errorf("%+v, %v", made, err)
	}
}

func TestWhatAProviderSaysIsToldWithTheAgent(t *testing.T) {
	p := &parts{refuse: errors.New("bedrock: no such luck")}
	shelf, d := stored(t, connected)
	_, err := NewAgents(shelf, p.program(t)).Load(t.Context(), engine.Pin{Tenant: access.Tenant, Name: "desk", Version: d.Digest()})
	if err == nil || err.Error() != "agent desk: bedrock: no such luck" {
		t.Errorf("%v", err)
	}
}

func TestCallersAreShownTheModelAndNoSecret(t *testing.T) {
	shelf, _ := stored(t, connected)
	shown, err := NewAgents(shelf, (&parts{}).program(t)).Describe(shelf.stored)
	if err != nil || shown.Model != "bedrock m-1" || len(shown.Tools) != 2 {
		t.Fatalf("%+v, %v", shown, err)
	}
	if text := string(core.Encode(shown)); strings.Contains(text, "WIKI") || strings.Contains(text, "wiki.example.com") {
		t.Errorf("callers are shown %s", text)
	}
}
