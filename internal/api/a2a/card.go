package a2a

import (
	"cmp"
	"slices"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// Site is where and how an agent is reached.
type Site struct {
	URL string // of the JSON-RPC requests to the agent

	// Auth is the scheme of the Authorization header, such as "Bearer"; empty: callers need
	// none.
	Auth string

	Inputs []string // media types of the files that a message may have
	Pushes bool     // push notifications are sent
}

// Decisions is the extension that describes the data parts of questions and answers.
const Decisions = "https://github.com/dormouse-dev/dormouse/a2a/decisions/v1"

const aboutDecisions = "The status message of a task that requires input has one data part for each open question: decisionId, kind, toolName, input, responseSchema, message. " +
	"Answer with a message to the task: one data part for each answer, with decisionId and approved (for kind approval), or result or error (for other kinds); optionally reason, arguments (edited), and fingerprint. " +
	"A text answers a question of kind input if it is the only one of that kind. Other people may answer elsewhere."

// Card describes an agent.
func Card(agent wire.Agent, site Site) *sdk.AgentCard {
	about := cmp.Or(agent.Description, "The agent "+agent.Name+".")
	tags := []string{agent.Name}
	for _, tool := range agent.Tools {
		tags = append(tags, tool.Name)
	}
	card := &sdk.AgentCard{Name: agent.Name, Description: about, Version: agent.Version,
		SupportedInterfaces: []*sdk.AgentInterface{sdk.NewAgentInterface(site.URL, sdk.TransportProtocolJSONRPC)},
		Capabilities:        sdk.AgentCapabilities{Streaming: true, PushNotifications: site.Pushes, Extensions: []sdk.AgentExtension{{URI: Decisions, Description: aboutDecisions}}},
		DefaultInputModes:   append(slices.DeleteFunc([]string{mediaText, mediaJSON}, func(m string) bool { return slices.Contains(site.Inputs, m) }), site.Inputs...),
		DefaultOutputModes:  []string{mediaText, mediaJSON},
		Skills:              []sdk.AgentSkill{{ID: agent.Name, Name: agent.Name, Description: about, Tags: tags}}}
	if site.Auth != "" {
		card.SecuritySchemes = sdk.NamedSecuritySchemes{"http": sdk.HTTPAuthSecurityScheme{Scheme: site.Auth}}
		card.SecurityRequirements = sdk.SecurityRequirementsOptions{{"http": sdk.SecuritySchemeScopes{}}}
	}
	return card
}

const (
	mediaText = "text/plain"
	mediaJSON = "application/json"
)
