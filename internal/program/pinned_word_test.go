package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// elsewhere is an agent whose every address holds a word, and what it may.
func elsewhere(word, permissions string) string {
	return strings.ReplaceAll(`
name: desk
model: {provider: openai, model: m-WORD, base_url: "https://WORD.example.com/v1"}
tools:
  - {name: price, lambda: {function: price-WORD}, parameters: {type: object, properties: {sum: {type: integer}}, required: [sum]}}
  - {name: find, mcp: {server: wiki}, parameters: {type: object, properties: {sum: {type: integer}}, required: [sum]}}
servers: {wiki: {url: "https://WORD.example.com/mcp"}}
`, "WORD", word) + "permissions: " + permissions + "\n"
}

// reached are where the models and bodies that were made would go.
type reached struct {
	engine.Model
	engine.Tool
	at string
}

func (r *reached) model(d agent.Definition) (engine.Model, error) {
	return &reached{at: d.Model.ID + " " + d.Model.BaseURL}, nil
}

func (r *reached) body(d agent.Definition, t agent.Tool) (engine.Tool, error) {
	if t.Lambda != nil {
		return &reached{at: t.Lambda.Function}, nil
	}
	return &reached{at: d.Servers[t.MCP.Server].URL}, nil
}

// deploys makes what deploys a text as the agent, and says which version it is.
func deploys(t *testing.T) (*Agents, func(text string) engine.Pin) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "dormouse.db"), sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r, dir := &reached{}, t.TempDir()
	a := NewAgents(db, Program{Tools: payer(t), Hooks: hook.NewRegistry(), Dir: dir, Clock: machine.Clock{}, Models: map[string]Provider{agent.ProviderOpenAI: r.model},
		Bodies: map[string]Bodies{BodyLambda: r.body, BodyMCP: r.body}})
	return a, func(text string) engine.Pin {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "desk.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := a.Deploy(t.Context(), access.Tenant)
		if err != nil {
			t.Fatal(err)
		}
		return engine.Pin{Tenant: access.Tenant, Name: "desk", Version: loaded[0].Digest()}
	}
}

func TestASleepingRunKeepsItsModelAndServersWhateverIsDeployed(t *testing.T) {
	a, deploy := deploys(t)
	old := deploy(elsewhere("before", "{allow: ['*']}"))
	reaches := func(pin engine.Pin, word string) {
		t.Helper()
		made, err := a.Load(t.Context(), pin)
		if err != nil {
			t.Fatal(err)
		}
		got := made.Model.(*reached).at + ", " + made.Tools["price"].(*reached).at + ", " + made.Tools["find"].(*reached).at
		if want := fmt.Sprintf("m-%[1]s https://%[1]s.example.com/v1, price-%[1]s, https://%[1]s.example.com/mcp", word); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	reaches(old, "before")
	now := deploy(elsewhere("after", "{allow: ['*']}"))
	reaches(old, "before")
	reaches(now, "after")
	// as another process has it
	a.known, a.ready = map[versions]engine.Agent{}, map[string]behind{}
	reaches(now, "after")
	reaches(old, "before")
}

func TestADeployTakesRightsFromToolsOfOtherProcessesAndAddsNone(t *testing.T) {
	a, deploy := deploys(t)
	old := deploy(elsewhere("before", "{ask: [find], deny: [price]}"))
	for _, tt := range []struct {
		deployed    string
		price, find core.Effect
		edited      string // what is said to a yes with other arguments
	}{
		{"{ask: [find], deny: [price]}", core.Deny, core.Ask, ""},
		{"{allow: ['*']}", core.Deny, core.Ask, ""},
		{"{deny: ['*']}", core.Deny, core.Deny, "not allowed"},
		{"{block: [find], allow: [price]}", core.Deny, core.Block, "not allowed"},
		{"{ask: ['*'], deny: [{tool: find, when: {argument: sum, above: 10}}]}", core.Deny, core.Deny, "not allowed"},
		{"{allow: ['*'], deny: [{tool: find, when: {argument: sum, above: 100}}]}", core.Deny, core.Ask, ""},
	} {
		deploy(elsewhere("after", tt.deployed))
		made, err := a.Load(t.Context(), old)
		if err != nil {
			t.Fatal(err)
		}
		gate := func(tool string) core.Effect {
			return made.Rules.Gate(core.ToolCall{ID: "c", Name: tool, Arguments: json.RawMessage(`{"sum":50}`)}, core.State{}).Effect
		}
		if price, find := gate("price"), gate("find"); price != tt.price || find != tt.find {
			t.Errorf("%s: price %s and find %s, want %s and %s", tt.deployed, price, find, tt.price, tt.find)
		}
		_, err = a.Check(t.Context(), engine.Pin{Tenant: access.Tenant, Name: "desk", Version: old.Version}, core.ToolCall{ID: "c", Name: "find", Arguments: json.RawMessage(`{"sum":50}`)})
		if (err == nil) != (tt.edited == "") {
			t.Errorf("%s: edited arguments: %v", tt.deployed, err)
		}
	}
}

func TestArgumentsOfToolsOfOtherProcessesAreHeldToTheirSchema(t *testing.T) {
	a, deploy := deploys(t)
	pin := deploy(elsewhere("here", "{ask: ['*']}"))
	made, err := a.Load(t.Context(), pin)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"price", "find"} {
		for arguments, fits := range map[string]bool{`{"sum":1}`: true, `{"sum":"1"}`: false, `{}`: false, `"{\"sum\":"`: false, `[]`: false} {
			c := core.ToolCall{ID: "c", Name: tool, Arguments: json.RawMessage(arguments)}
			if err := made.Rules.Check(c); fits != (err == nil) {
				t.Errorf("%s %s: %v", tool, arguments, err)
			}
			if _, err := a.Check(t.Context(), engine.Pin{Tenant: access.Tenant, Name: "desk", Version: pin.Version}, c); fits != (err == nil) {
				t.Errorf("%s %s, edited: %v", tool, arguments, err)
			}
		}
	}
}
