package agent

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Model says which model answers. A scripted model has Turns; a recorded one has File, as written
// in the YAML, and the digest of the file's content. All others have ID and the settings of the
// YAML; the provider chooses the settings that it omits.
type Model struct {
	Provider string `json:"provider"`
	Turns    []Turn `json:"turns,omitempty"`
	File     string `json:"file,omitempty"`
	SHA256   string `json:"sha256,omitempty"` // in hex
	// of scripted: ms between words, for readers who look on; 0: all at once
	Pace int64 `json:"pace,omitempty"`

	// ID is what the provider calls the model: of Bedrock a model, an inference profile or an
	// ARN.
	ID string `json:"model,omitempty"`

	// of openai: up to where /chat/completions is put behind
	BaseURL string `json:"base_url,omitempty"`
	// of openai: the name of a secret; none is sent without it
	APIKey string `json:"api_key,omitempty"`
	// of openai: beside the usual ones; {secret:NAME} is a secret
	Headers map[string]string `json:"headers,omitempty"`
	// of bedrock, in place of the program's own
	Region string `json:"region,omitempty"`

	MaxTokens     int64       `json:"max_tokens,omitempty"`
	Temperature   json.Number `json:"temperature,omitempty"`
	TopP          json.Number `json:"top_p,omitempty"`
	StopSequences []string    `json:"stop_sequences,omitempty"`
	// low, medium, high, max or what else the provider knows
	Effort string `json:"effort,omitempty"`
	// the answer is fetched in one piece; without it, it is streamed
	Whole bool `json:"whole,omitempty"`

	// ms that a run waits for a model that does not answer; 0: as long as by default
	Outage int64 `json:"outage,omitempty"`

	// Output is the JSON Schema of what the model says when it calls nothing. An answer that
	// does not fit is asked for again.
	Output json.RawMessage `json:"output,omitempty"`

	// Price is what a million tokens cost; nil: it is not known
	Price *core.Price `json:"price,omitempty"`

	// Request holds further members of the provider's request, sent unchanged: for Bedrock in
	// additionalModelRequestFields, for openai in the body. Members that the program itself
	// sets take precedence.
	Request json.RawMessage `json:"request,omitempty"`

	// of bedrock: [CacheOff], "5m" or "1h"; chosen by whether the run may wait, if empty
	Cache     string     `json:"cache,omitempty"`
	Guardrail *Guardrail `json:"guardrail,omitempty"`
	// of bedrock: priority, default, flex or reserved; of openai as the endpoint calls it
	Tier    string `json:"tier,omitempty"`
	Latency string `json:"latency,omitempty"` // of bedrock: standard or optimized
}

// CacheOff asks the provider to cache nothing.
const CacheOff = "off"

// Guardrail is one of Bedrock's.
type Guardrail struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	// while it streams, text is shown before it was looked at
	Async bool `json:"async,omitempty"`
}

// Label names the model for people and lists: the provider, and what that one calls it.
func (m Model) Label() string {
	if m.ID == "" {
		return m.Provider
	}
	return m.Provider + " " + m.ID
}

// HeaderFields are the headers, by name.
func (m Model) HeaderFields() ([]Field, error) { return fields(m.Headers) }
