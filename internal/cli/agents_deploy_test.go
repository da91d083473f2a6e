package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// onAWS is an environment with credentials for a double of AWS that has the table "stack", and a
// store on that.
func onAWS(t *testing.T) (*awsdouble.Double, *dynamo.Store) {
	t.Helper()
	double := awsdouble.New(awsdouble.Options{})
	web := httptest.NewServer(double)
	t.Cleanup(web.Close)
	t.Cleanup(func() {
		if unknown := double.Unknown(); len(unknown) > 0 {
			t.Errorf("the double does not know %v", unknown)
		}
	})
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-central-1", "AWS_ENDPOINT_URL": web.URL})
	client := dynamodb.New(dynamodb.Options{Region: "eu-central-1", BaseEndpoint: &web.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
	if _, err := client.CreateTable(t.Context(), dynamo.Schema("stack")); err != nil {
		t.Fatal(err)
	}
	return double, dynamo.New(client, dynamo.Options{Table: "stack", Clock: machine.Clock{}, Random: machine.Random{}})
}

// environment has no other settings of AWS than these.
func environment(t *testing.T, env map[string]string) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	dir := t.TempDir()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	for name, value := range env {
		t.Setenv(name, value)
	}
}

const speaker = "description: says something\nmodel: {provider: scripted, turns: [{say: hi}]}\n"

type deployment struct {
	Tenant string
	DryRun bool `json:"dry_run"`
	Agents []struct{ Name, Change, From, To string }
	Notes  []struct{ File, Note string }
}

// deployed runs agents deploy and returns what becomes of each agent.
func deployed(t *testing.T, args ...string) map[string]string {
	t.Helper()
	out := dormouse(t, nil, append([]string{"agents", "deploy", "--table", "stack", "--json"}, args...)...)
	out.wantExit(t, cmdline.ExitOK)
	var d deployment
	if err := json.Unmarshal([]byte(out.stdout), &d); err != nil {
		t.Fatal(err)
	}
	changes := map[string]string{}
	for _, a := range d.Agents {
		changes[a.Name] = a.Change
	}
	return changes
}

func current(t *testing.T, s *dynamo.Store, tenant string) map[string]engine.Definition {
	t.Helper()
	all, err := s.Deployed(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]engine.Definition{}
	for _, d := range all {
		byName[d.Name] = d
	}
	return byName
}

func wantChanges(t *testing.T, got map[string]string, want string) {
	t.Helper()
	raw, _ := json.Marshal(got)
	if string(raw) != want {
		t.Errorf("changes %s, want %s", raw, want)
	}
}

func TestAgentsAreDeployedToATable(t *testing.T) {
	_, store := onAWS(t)
	one := agentsDir(t, map[string]string{"a": speaker, "b": speaker})
	wantChanges(t, deployed(t, one, "--dry-run"), `{"a":"new","b":"new"}`)
	if there := current(t, store, "default"); len(there) != 0 {
		t.Errorf("a dry run deployed %v", there)
	}
	wantChanges(t, deployed(t, one), `{"a":"new","b":"new"}`)
	first := current(t, store, "default")
	wantChanges(t, deployed(t, one), `{"a":"same","b":"same"}`)

	two := agentsDir(t, map[string]string{"a": strings.Replace(speaker, "hi", "ho", 1), "c": speaker})
	wantChanges(t, deployed(t, two, "--keep"), `{"a":"changed","b":"same","c":"new"}`)
	if there := current(t, store, "default"); len(there) != 3 || there["a"].Digest == first["a"].Digest || there["b"].Digest != first["b"].Digest {
		t.Errorf("deployed %v", there)
	}
	wantChanges(t, deployed(t, two), `{"a":"same","b":"removed","c":"same"}`)
	if there := current(t, store, "default"); len(there) != 2 {
		t.Errorf("deployed %v", there)
	}
	if _, err := store.Definition(t.Context(), "default", "a", first["a"].Digest); err != nil {
		t.Errorf("the version that sleeping runs have is gone: %v", err)
	}
	wantChanges(t, deployed(t, one, "--tenant", "acme"), `{"a":"new","b":"new"}`)
	if len(current(t, store, "default")) != 2 {
		t.Error("one tenant's deploy changed another's")
	}
}

func TestADeploymentIsToldToPeople(t *testing.T) {
	onAWS(t)
	dir := agentsDir(t, map[string]string{"a": speaker, "asks": `
model: {provider: scripted, turns: [{say: hi}]}
tools:
  - {name: get, http: {url: "https://api.example.com", headers: {Authorization: "Bearer {secret:ORDERS}"}}, parameters: {type: object}}
  - {name: near, http: {url: "http://127.0.0.1:9000", allow_private: true}, parameters: {type: object}}
`})
	out := dormouse(t, nil, "agents", "deploy", dir, "--table", "stack")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "deployed to stack for tenant default: 2 new, 0 changed, 0 the same, 0 removed", "set DORMOUSE_SECRET_ORDERS there",
		"set DORMOUSE_PRIVATE_HOSTS for the functions of the stack")
	out = dormouse(t, nil, "agents", "list", "--table", "stack")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "says something", "asks", "sha256:")
	out = dormouse(t, nil, "agents", "list", "--table", "stack", "--tenant", "nobody", "--json")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, `"items":[]`)
}

func TestADeploymentSaysWhichRightsItsAgentsTake(t *testing.T) {
	onAWS(t)
	dir := agentsDir(t, map[string]string{"asks": `
model: {provider: bedrock, model: eu.anthropic.m-1, guardrail: {id: gr7, version: "1"}}
tools:
  - {name: pay, lambda: {function: payments}, parameters: {type: object}}
notify: [{name: boss, on: [suspended], mail: [boss@example.com], require: code}]
`})
	out := dormouse(t, nil, "agents", "deploy", dir, "--table", "stack")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "agent asks: it sends mail; set the stack parameter NoticeMailFrom", "it calls the Bedrock model eu.anthropic.m-1; add it to the stack parameter BedrockModels", "guardrail gr7; add it to the stack parameter BedrockGuardrails",
		"tool pay invokes the function payments; add it to the stack parameter ToolFunctions")
}

func TestWhatAStackCannotRunIsNotDeployed(t *testing.T) {
	double, _ := onAWS(t)
	for name, tt := range map[string]struct{ file, want string }{
		"a wrong file":                       {"colour: red\n", "colour"},
		"a missing function":                 {speaker + "tools: [{name: t, go: nobody.knows}]\n", `no function "nobody.knows"`},
		"a memory of files":                  {speaker + "memory: notes\n", `can't use the memory "notes"`},
		"detected commands":                  {speaker + "tools: [{name: t, recorded: [{result: r}]}]\neffects: [{name: tidy, tools: [t], detect: [lint], workspace: w}]\n", `the effect "tidy" can't run a command`},
		"a command as an effect":             {speaker + "tools: [{name: t, recorded: [{result: r}]}]\neffects: [{name: push, tools: [t], command: [git, push], workspace: w}]\n", `the effect "push" can't run a command`},
		"can't use a recording as the model": {"model: {provider: recorded, file: talk.jsonl}\n", "can't use a recording as the model"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := agentsDir(t, map[string]string{"good": speaker, "bad": tt.file})
			if err := os.WriteFile(filepath.Join(dir, "talk.jsonl"), []byte(`{"id":"t1","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]}`+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			out := dormouse(t, nil, "agents", "deploy", dir, "--table", "stack")
			out.wantExit(t, cmdline.ExitUsage)
			contains(t, out.stderr, tt.want, "bad.yaml:", "nothing was deployed")
		})
	}
	if n := double.Requests()["PutItem"]; n != 0 {
		t.Errorf("%d items were written", n)
	}
}

func TestWhatKeepsADeploymentFromTheTableIsSaid(t *testing.T) {
	dir := agentsDir(t, map[string]string{"a": speaker})
	t.Run("no such table", func(t *testing.T) {
		onAWS(t)
		out := dormouse(t, nil, "agents", "deploy", dir, "--table", "other", "--json")
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, `"code":"no_table"`, `there is no table \"other\" in eu-central-1`)
	})
	t.Run("access denied", func(t *testing.T) {
		refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"not authorized"}`)
		}))
		t.Cleanup(refusing.Close)
		environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "eu-central-1", "AWS_ENDPOINT_URL": refusing.URL})
		out := dormouse(t, nil, "agents", "deploy", dir, "--table", "stack")
		out.wantExit(t, cmdline.ExitFailed)
		contains(t, out.stderr, "may not write agents in table stack", "dynamodb:GetItem")
	})
	t.Run("no credentials", func(t *testing.T) {
		environment(t, map[string]string{"AWS_REGION": "eu-central-1"})
		out := dormouse(t, nil, "agents", "list", "--table", "stack", "--json")
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, `"code":"no_credentials"`, "AWS_PROFILE")
	})
	t.Run("no region", func(t *testing.T) {
		environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
		out := dormouse(t, nil, "agents", "deploy", dir, "--table", "stack")
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, "--region")
	})
	t.Run("nobody answers", func(t *testing.T) {
		gone := httptest.NewServer(nil)
		gone.Close()
		environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL_DYNAMODB": gone.URL})
		out := dormouse(t, nil, "agents", "deploy", dir, "--table", "stack", "--region", "eu-central-1")
		out.wantExit(t, cmdline.ExitUnreachable)
		contains(t, out.stderr, "DynamoDB does not answer in eu-central-1")
	})
	t.Run("a table of somebody else", func(t *testing.T) {
		onAWS(t)
		another(t, "theirs")
		for _, args := range [][]string{{"deploy", dir}, {"list"}} {
			out := dormouse(t, nil, append(append([]string{"agents"}, args...), "--table", "theirs", "--json")...)
			out.wantExit(t, cmdline.ExitUsage)
			contains(t, out.stderr, `"code":"no_table"`, `\"theirs\" in eu-central-1 is not the table of a stack; take the name that the stack shows as its output TableName`)
		}
	})
	for _, region := range []string{"eu central", "EU-CENTRAL-1", "eu/central", "-"} {
		environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
		out := dormouse(t, nil, "agents", "deploy", dir, "--table", "stack", "--region="+region)
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, fmt.Sprintf("%q is no AWS region; one looks like eu-central-1", region))
	}
	for _, args := range [][]string{{"deploy", dir}, {"deploy", dir, "--table", "stack", "--tenant", ""}, {"deploy", dir, "--table", "stack", "--tenant", "A B"},
		{"list", "--table", "stack", "--tenant", "A B"}, {"deploy", "--table", "stack"}, {"list", "--tenant", "acme"}} {
		out := dormouse(t, nil, append([]string{"agents"}, args...)...)
		out.wantExit(t, cmdline.ExitUsage)
	}
}
