package awsenv_test

import (
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Modules that a function may link, and no others: what is linked is loaded at every cold start.
var (
	modules = []string{"github.com/aws/aws-lambda-go", "github.com/aws/aws-sdk-go-v2", "github.com/aws/aws-sdk-go-v2/internal/configsources",
		"github.com/aws/aws-sdk-go-v2/internal/endpoints/v2", "github.com/aws/aws-sdk-go-v2/service/dynamodb",
		"github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding", "github.com/aws/aws-sdk-go-v2/service/internal/endpoint-discovery",
		"github.com/aws/aws-sdk-go-v2/service/sqs", "github.com/aws/smithy-go", "github.com/google/jsonschema-go", module}
	// its normal forms: names that differ by one alone are refused
	modulesWithAgents = append(modules, "go.yaml.in/yaml/v3", "golang.org/x/text")
	modulesWithHTTP   = append(modulesWithAgents, "golang.org/x/time")

	// The official libraries of MCP and A2A, and what they are made of.
	modulesWithProtocols = slices.Concat(modulesWithHTTP, []string{"github.com/a2aproject/a2a-go/v2", "github.com/google/uuid", "github.com/modelcontextprotocol/go-sdk",
		"github.com/segmentio/asm", "github.com/segmentio/encoding", "github.com/yosida95/uritemplate/v3", "golang.org/x/oauth2", "golang.org/x/sync", "golang.org/x/sys"})

	// Of the function that works alone: what it calls, in these protocols as well.
	modulesWithReach = slices.Concat(modulesWithProtocols, []string{"golang.org/x/mod", "github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream",
		"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"})
)

// modulesWithSenders are of the function that delivers notices. It sends tasks to clients of A2A.
var modulesWithSenders = slices.Concat(modulesWithHTTP, []string{"github.com/a2aproject/a2a-go/v2", "github.com/google/uuid",
	"github.com/aws/aws-sdk-go-v2/service/eventbridge", "github.com/aws/aws-sdk-go-v2/service/sesv2", "github.com/aws/aws-sdk-go-v2/service/sns",
	"github.com/aws/aws-sdk-go-v2/internal/v4a"})

const module = "github.com/dormouse-dev/dormouse"

// noFunction links what belongs to a laptop, or to tests.
var noFunction = []string{"internal/store/sqlite", "internal/local", "internal/cli", "internal/proof/replay", "internal/cli/agents/rehearsal", "internal/proof/torture", "internal/proof/sim",
	"internal/proof/awsdouble", "internal/engine/enginetest", "testing", "net/rpc", "html/template"}

// agents is what stands behind definitions: models, tools, hooks.
var agents = []string{"internal/program", "internal/agent", "internal/tool", "internal/hook", "internal/tool/httptool", "internal/model/scripted", "internal/model/recording",
	"internal/aws/awsenv", "internal/aws/xray"}

// reach is what calls others: models, functions, servers, and who has the secrets for that.
var reach = []string{"internal/aws/awsstep", "internal/model/bedrock", "internal/model/openai", "internal/tool/lambdatool", "internal/tool/mcptool", "internal/tool/a2atool", "internal/secret/ssmsecret"}

// steps are what the function that performs steps links alone.
var steps = []string{"internal/aws/awsstep", "internal/model/bedrock", "internal/model/openai", "internal/tool/lambdatool", "internal/tool/mcptool", "internal/tool/a2atool"}

// senders are what the function that delivers notices links alone.
var senders = []string{"internal/aws/awsnotify", "internal/notify/webhook", "internal/notify/slack", "internal/notify/teams", "internal/notify/template",
	"internal/notify/ses", "internal/notify/sink/eventbridge", "internal/notify/sink/sns"}

var web = []string{"internal/api/httpapi", "internal/aws/awsapi", "internal/api/lambdahttp"}

// chats are the protocols of chat clients, which the function that serves runs links alone. .ci/sam
// holds what they add to its size.
var chats = []string{"internal/aws/awsruns", "internal/api/protocols", "internal/api/mcpserver", "internal/api/aisdk", "internal/api/agui", "internal/api/a2a", "internal/api/project"}

func TestFunctionsLinkWhatTheyNeed(t *testing.T) {
	for _, tt := range []struct {
		function string
		modules  []string
		not      []string
	}{
		{"step", modulesWithReach, slices.Concat(noFunction, web, senders, chats)},
		// it answers requests for test notices, and sends clients of A2A their tasks
		{"notify", modulesWithSenders, slices.Concat(noFunction, steps, slices.DeleteFunc(slices.Clone(chats), func(name string) bool {
			return name == "internal/api/a2a" || name == "internal/api/project"
		}))},
		{"hook", modulesWithHTTP, slices.Concat(noFunction, steps, chats, []string{"internal/aws/awsnotify",
			"internal/notify/webhook", "internal/notify/teams", "internal/notify/ses", "internal/notify/sink/eventbridge", "internal/notify/sink/sns"})},
		// it starts runs and executes none
		{"intake", modulesWithAgents, slices.Concat(noFunction, steps, web, senders, chats)},
		{"sweep", modules, slices.Concat(noFunction, agents, reach, web, chats)},
		// it invokes the step function, and has one agent as data
		{"pretraffic", modulesWithAgents, slices.Concat(noFunction, slices.DeleteFunc(slices.Clone(reach), func(name string) bool { return name == "internal/tool/lambdatool" }), web, senders, chats, []string{"internal/program", "internal/tool", "internal/hook",
			"internal/model/scripted", "internal/model/recording", "internal/aws/awsenv", "internal/aws/xray"})},
		{"api", modulesWithProtocols, slices.Concat(noFunction, reach, senders)},
		// it signs people in, and mails one-time codes
		{"decision", slices.Concat(modulesWithHTTP, []string{"github.com/coreos/go-oidc/v3", "github.com/go-jose/go-jose/v4",
			"golang.org/x/oauth2", "github.com/aws/aws-sdk-go-v2/service/sesv2", "github.com/aws/aws-sdk-go-v2/internal/v4a"}),
			slices.Concat(noFunction, steps, chats, slices.DeleteFunc(slices.Clone(senders), func(name string) bool { return name == "internal/notify/ses" }))},
		// it draws templates, which keep all methods of all types, and signs people in
		{"console", slices.Concat(modulesWithHTTP, []string{"github.com/coreos/go-oidc/v3", "github.com/go-jose/go-jose/v4", "golang.org/x/oauth2"}),
			slices.Concat(slices.DeleteFunc(slices.Clone(noFunction), func(name string) bool { return name == "html/template" }), steps, chats, senders)},
	} {
		t.Run(tt.function, func(t *testing.T) {
			for _, line := range linked(t, tt.function) {
				pkg, mod, _ := strings.Cut(line, " ")
				if mod != "" && !slices.Contains(tt.modules, mod) {
					t.Errorf("%s is linked, of the module %s; take the import out, or name the module here with the reason", pkg, mod)
				}
				if slices.Contains(tt.not, strings.TrimPrefix(pkg, module+"/")) {
					t.Errorf("%s is linked and has no use here", pkg)
				}
			}
		})
	}
}

// linked are the packages of a function with their modules, built as the template builds it.
func linked(t *testing.T, function string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "lambda.norpc,nethttpomithttp2", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}",
		module+"/"+path.Join("functions", function))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestFunctionsLinkTypesOfTheClientOnly: the server shares the API's types with the public client,
// and the linker drops the client itself.
func TestFunctionsLinkTypesOfTheClientOnly(t *testing.T) {
	if testing.Short() {
		t.Skip("it links a function")
	}
	binary := filepath.Join(t.TempDir(), "api")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc,nethttpomithttp2", "-o", binary, module+"/functions/api")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	symbols, err := exec.CommandContext(t.Context(), "go", "tool", "nm", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(symbols); !strings.Contains(text, module+"/client.Time.MarshalJSON") || strings.Contains(text, module+"/client.(*Client)") {
		t.Error("the function has code of the client, or no type of it")
	}
}
