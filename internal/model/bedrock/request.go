package bedrock

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// request is a prompt in the form of Bedrock, for either operation. Equal prompts produce equal
// bytes, and the common part of a thread's requests comes first, because Bedrock caches prefixes.
type request struct {
	prompt    engine.Prompt
	id        string
	system    []types.SystemContentBlock
	messages  []types.Message
	tools     *types.ToolConfiguration
	inference *types.InferenceConfiguration

	names names
	uses  refusals // features that a model may reject
}

func (m *Model) newRequest(p engine.Prompt) (*request, error) {
	settings, err := m.settings(p.Parameters)
	if err != nil {
		return nil, err
	}
	refused := m.refused(settings.id)
	r := &request{prompt: p, id: settings.id, inference: settings.inference, names: names{}}
	point, cached := m.cachePoint(p.Patient, refused)
	if strings.TrimSpace(p.Instructions) != "" {
		r.system = []types.SystemContentBlock{&types.SystemContentBlockMemberText{Value: p.Instructions}}
		if cached {
			r.system = append(r.system, &types.SystemContentBlockMemberCachePoint{Value: point})
		}
	}
	talk := conversation{names: r.names, unsigned: !refused.unsigned}
	talk.add(p.Messages)
	if cached {
		talk.cache(point)
	}
	r.messages = talk.messages
	r.offer(p.Tools, talk.called)
	if r.tools != nil && cached && !refused.toolPoint {
		r.tools.Tools = append(r.tools.Tools, &types.ToolMemberCachePoint{Value: point})
		r.uses.toolPoint = true
	}
	r.uses.points, r.uses.ttl, r.uses.unsigned = cached, cached && point.Ttl != "", talk.usesUnsigned
	return r, nil
}

// cachePoint marks the prefix that Bedrock should cache. Five minutes is the default, so it is not
// set.
func (m *Model) cachePoint(patient bool, refused refusals) (point types.CachePointBlock, cached bool) {
	point.Type = types.CachePointTypeDefault
	long := m.o.Model.Cache == string(types.CacheTTLOneHour) || m.o.Model.Cache == "" && patient
	if long && !refused.ttl {
		point.Ttl = types.CacheTTLOneHour
	}
	return point, m.o.Model.Cache != agent.CacheOff && !refused.points
}

// offer describes the tools, ordered by name. Bedrock rejects a conversation that contains calls
// and offers no tools, so if none is offered any more, the called tools are described; a call of
// one gets the answer for an unknown tool.
func (r *request) offer(offered []core.ToolSpec, called []string) {
	var specs []types.ToolSpecification
	for _, t := range offered {
		specs = append(specs, specification(r.names.wire(t.Name), t))
	}
	if len(specs) == 0 {
		for _, name := range called {
			specs = append(specs, specification(name, core.ToolSpec{Description: "Not available any more. Do not call it."}))
		}
	}
	if len(specs) == 0 {
		return
	}
	slices.SortFunc(specs, func(a, b types.ToolSpecification) int { return strings.Compare(*a.Name, *b.Name) })
	specs = slices.CompactFunc(specs, func(a, b types.ToolSpecification) bool { return *a.Name == *b.Name })
	r.tools = &types.ToolConfiguration{}
	for _, s := range specs {
		r.tools.Tools = append(r.tools.Tools, &types.ToolMemberToolSpec{Value: s})
	}
}

func specification(name string, t core.ToolSpec) types.ToolSpecification {
	schema := t.Parameters
	if !isObject(schema) {
		schema = []byte(`{"type":"object","properties":{}}`)
	}
	s := types.ToolSpecification{Name: &name, InputSchema: &types.ToolInputSchemaMemberJson{Value: documentOf(schema)}}
	if strings.TrimSpace(t.Description) != "" {
		s.Description = &t.Description
	}
	return s
}

// metadata labels the request in Bedrock's invocation logs.
func (r *request) metadata() map[string]string {
	marks := map[string]string{}
	for name, value := range map[string]string{"run": r.prompt.Run, "thread": r.prompt.Thread, "tenant": r.prompt.Tenant,
		"step": strconv.Itoa(r.prompt.Step)} {
		if value = markable(value); value != "" {
			marks[name] = value
		}
	}
	return marks
}

// markable replaces the characters of a value that Bedrock rejects.
func markable(value string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" :_@$#=/+,-.", r) {
			return r
		}
		return '_'
	}, value)
	return clean[:min(len(clean), 256)]
}

// whole is the request for a complete answer.
func (m *Model) whole(r *request) *bedrockruntime.ConverseInput {
	in := &bedrockruntime.ConverseInput{ModelId: &r.id, System: r.system, Messages: r.messages, ToolConfig: r.tools, InferenceConfig: r.inference,
		RequestMetadata: r.metadata(), OutputConfig: m.outputConfig(), PerformanceConfig: m.performance(), ServiceTier: m.tier(),
		AdditionalModelRequestFields: m.additional()}
	if g := m.o.Model.Guardrail; g != nil {
		in.GuardrailConfig = &types.GuardrailConfiguration{GuardrailIdentifier: &g.ID, GuardrailVersion: &g.Version}
	}
	return in
}

// streamed is the request for a streamed answer.
func (m *Model) streamed(r *request) *bedrockruntime.ConverseStreamInput {
	in := &bedrockruntime.ConverseStreamInput{ModelId: &r.id, System: r.system, Messages: r.messages, ToolConfig: r.tools,
		InferenceConfig: r.inference, RequestMetadata: r.metadata(), OutputConfig: m.outputConfig(), PerformanceConfig: m.performance(),
		ServiceTier: m.tier(), AdditionalModelRequestFields: m.additional()}
	if g := m.o.Model.Guardrail; g != nil {
		in.GuardrailConfig = &types.GuardrailStreamConfiguration{GuardrailIdentifier: &g.ID, GuardrailVersion: &g.Version,
			StreamProcessingMode: types.GuardrailStreamProcessingModeSync}
		if g.Async {
			in.GuardrailConfig.StreamProcessingMode = types.GuardrailStreamProcessingModeAsync
		}
	}
	return in
}

func (m *Model) additional() document.Interface {
	if core.IsNull(m.o.Model.Request) {
		return nil
	}
	return documentOf(m.o.Model.Request)
}

func (m *Model) performance() *types.PerformanceConfiguration {
	if m.o.Model.Latency == "" {
		return nil
	}
	return &types.PerformanceConfiguration{Latency: types.PerformanceConfigLatency(m.o.Model.Latency)}
}

func (m *Model) tier() *types.ServiceTier {
	if m.o.Model.Tier == "" {
		return nil
	}
	return &types.ServiceTier{Type: types.ServiceTierType(m.o.Model.Tier)}
}

// outputConfig describes the form of the answer. The schema is sent exactly as it was written,
// because Bedrock caches compiled schemas by their text.
func (m *Model) outputConfig() *types.OutputConfig {
	var out types.OutputConfig
	if m.output != nil {
		out.TextFormat = &types.OutputFormat{Type: types.OutputFormatTypeJsonSchema, Structure: &types.OutputFormatStructureMemberJsonSchema{
			Value: types.JsonSchemaDefinition{Name: aws.String("output"), Schema: aws.String(string(m.o.Model.Output))}}}
	}
	if m.o.Model.Effort != "" {
		out.Effort = &m.o.Model.Effort
	}
	if out == (types.OutputConfig{}) {
		return nil
	}
	return &out
}
