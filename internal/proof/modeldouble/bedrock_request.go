package modeldouble

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// bedrockRequest is what is read of a request.
type bedrockRequest struct {
	System     []bedrockContent  `json:"system"`
	Messages   []bedrockMessage  `json:"messages"`
	Metadata   map[string]string `json:"requestMetadata"`
	ToolConfig *struct {
		Tools []struct {
			ToolSpec   *bedrockTool     `json:"toolSpec"`
			CachePoint *json.RawMessage `json:"cachePoint"`
		} `json:"tools"`
	} `json:"toolConfig"`
	Inference struct {
		MaxTokens   *float64 `json:"maxTokens"`
		Temperature *float64 `json:"temperature"`
		TopP        *float64 `json:"topP"`
	} `json:"inferenceConfig"`

	points int // cache points
}

type bedrockTool struct {
	Name        string  `json:"name"`
	Description *string `json:"description"`
	InputSchema struct {
		JSON json.RawMessage `json:"json"`
	} `json:"inputSchema"`
}

type bedrockMessage struct {
	Role    string           `json:"role"`
	Content []bedrockContent `json:"content"`
}

// bedrockContent is a block; one member is set.
type bedrockContent struct {
	Text     *string       `json:"text"`
	Image    *bedrockMedia `json:"image"`
	Document *bedrockMedia `json:"document"`
	ToolUse  *struct {
		ID    string          `json:"toolUseId"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"toolUse"`
	ToolResult *struct {
		ID      string           `json:"toolUseId"`
		Status  string           `json:"status"`
		Content []bedrockContent `json:"content"`
	} `json:"toolResult"`
	Reasoning *struct {
		Text *struct {
			Text      string  `json:"text"`
			Signature *string `json:"signature"`
		} `json:"reasoningText"`
		Redacted []byte `json:"redactedContent"`
	} `json:"reasoningContent"`
	CachePoint *struct {
		Type string `json:"type"`
		TTL  string `json:"ttl"`
	} `json:"cachePoint"`
}

type bedrockMedia struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Source struct {
		Bytes []byte `json:"bytes"`
	} `json:"source"`
}

// bedrockRefusal is what Bedrock says of a request that it refuses, in its words.
type bedrockRefusal string

func (r bedrockRefusal) Error() string { return string(r) }

func bedrockRefuses(format string, args ...any) error {
	return bedrockRefusal(fmt.Sprintf(format, args...))
}

// readBedrock reads a request, or says why Bedrock would refuse it.
func readBedrock(body []byte) (Asked, error) {
	var r bedrockRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return Asked{}, bedrockRefuses("malformed input request: %v", err)
	}
	var a Asked
	for _, c := range r.System {
		if c.CachePoint != nil {
			r.points++
			continue
		}
		if c.Text == nil || strings.TrimSpace(*c.Text) == "" {
			return Asked{}, bedrockRefuses("The text field in the system content is blank")
		}
		a.System += *c.Text
	}
	if err := r.readTools(&a); err != nil {
		return Asked{}, err
	}
	if err := r.readMessages(&a); err != nil {
		return Asked{}, err
	}
	return a, r.checkRest()
}

var bedrockNames = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (r *bedrockRequest) readTools(a *Asked) error {
	if r.ToolConfig == nil {
		return nil
	}
	seen := map[string]bool{}
	for i, t := range r.ToolConfig.Tools {
		if t.CachePoint != nil {
			r.points++
			continue
		}
		switch s := t.ToolSpec; {
		case s == nil || !bedrockNames.MatchString(s.Name):
			return bedrockRefuses("Value at 'toolConfig.tools.%d.member.toolSpec.name' failed to satisfy constraint: ^[a-zA-Z0-9_-]{1,64}$", i)
		case seen[s.Name]:
			return bedrockRefuses("The tool %s is defined twice", s.Name)
		case s.Description != nil && *s.Description == "":
			return bedrockRefuses("Value at 'toolConfig.tools.%d.member.toolSpec.description' has a length below 1", i)
		case !isObjectSchema(s.InputSchema.JSON):
			return bedrockRefuses("The value at toolConfig.tools.%d.toolSpec.inputSchema.json.type must be one of the following: object", i)
		default:
			seen[s.Name] = true
			spec := core.ToolSpec{Name: s.Name, Parameters: s.InputSchema.JSON}
			if s.Description != nil {
				spec.Description = *s.Description
			}
			a.Tools = append(a.Tools, spec)
		}
	}
	if len(a.Tools) == 0 {
		return bedrockRefuses("Value at 'toolConfig.tools' has a length below 1")
	}
	return nil
}

func isObjectSchema(raw json.RawMessage) bool {
	var s struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(raw, &s) == nil && s.Type == "object"
}

var bedrockMetadata = regexp.MustCompile(`^[a-zA-Z0-9\s:_@$#=/+,\-.]{1,256}$`)

// checkRest looks at what is neither said nor offered.
func (r *bedrockRequest) checkRest() error {
	if len(r.Metadata) > 16 {
		return bedrockRefuses("Value at 'requestMetadata' has more than 16 members")
	}
	for name, value := range r.Metadata {
		if !bedrockMetadata.MatchString(name) || !bedrockMetadata.MatchString(value) {
			return bedrockRefuses("Value at 'requestMetadata' failed to satisfy constraint: %s", bedrockMetadata)
		}
	}
	in := r.Inference
	for _, part := range []*float64{in.Temperature, in.TopP} {
		if part != nil && (*part < 0 || *part > 1) {
			return bedrockRefuses("Value at 'inferenceConfig' must be between 0 and 1")
		}
	}
	if in.MaxTokens != nil && *in.MaxTokens < 1 {
		return bedrockRefuses("Value at 'inferenceConfig.maxTokens' must be at least 1")
	}
	if r.points > 4 {
		return bedrockRefuses("A request may have 4 cachePoint blocks; this one has %d", r.points)
	}
	return nil
}
