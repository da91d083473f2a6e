// Package form has the words, bounds and patterns of agent files. Package agentfile reads files by
// them, and package schema publishes them.
package form

import (
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// Providers are the providers of models.
var Providers = []string{agent.ProviderScripted, agent.ProviderRecorded, agent.ProviderBedrock, agent.ProviderOpenAI}

// Called are the providers that are called over a network.
var Called = []string{agent.ProviderBedrock, agent.ProviderOpenAI}

// ModelMembers are the members of a model, with the providers that take them.
var ModelMembers = map[string][]string{
	"script": {agent.ProviderScripted}, "turns": {agent.ProviderScripted}, "pace": {agent.ProviderScripted}, "file": {agent.ProviderRecorded},
	"model": Called, "max_tokens": Called, "temperature": Called, "top_p": Called, "stop_sequences": Called, "effort": Called, "stream": Called,
	"price": Providers, "output": Called, "request": Called, "tier": Called, "outage": Called,
	"base_url": {agent.ProviderOpenAI}, "api_key": {agent.ProviderOpenAI}, "headers": {agent.ProviderOpenAI},
	"region": {agent.ProviderBedrock}, "cache": {agent.ProviderBedrock}, "guardrail": {agent.ProviderBedrock}, "latency": {agent.ProviderBedrock},
}

// The values that providers accept. Hottest is the highest temperature, GuardTurn the form of a
// version of a guardrail.
var (
	Caches    = []string{agent.CacheOff, "5m", "1h"}
	Latencies = []string{"standard", "optimized"}
	Tiers     = []string{"priority", "default", "flex", "reserved"}
	Hottest   = map[string]int64{agent.ProviderBedrock: 1, agent.ProviderOpenAI: 2}
	PlainWord = lazyregexp.New(`^[a-z0-9_-]{1,32}$`)
	Region    = lazyregexp.New(`^[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}$`)
	BedrockID = lazyregexp.New(`^[a-zA-Z0-9._:/-]+$`)
	Guardrail = lazyregexp.New(`^([a-z0-9]+|arn:aws[a-zA-Z0-9:/-]+)$`)
	GuardTurn = lazyregexp.New(`^([1-9][0-9]{0,7}|DRAFT)$`)
)

// LongestID is Bedrock's limit for the name of a model.
const LongestID = 2048

// OursInRequest are the members of a request to a model that this program always sets.
var OursInRequest = []string{"messages", "model", "stream", "tools"}

// Tools that run elsewhere.
var (
	FunctionName = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)
	FunctionARN  = lazyregexp.New(`^arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[a-zA-Z0-9_-]{1,64}$`)
	Qualifier    = lazyregexp.New(`^(\$LATEST|[a-zA-Z0-9_-]{1,128})$`)
	RemoteName   = lazyregexp.New(`^[!-~]{1,128}$`) // of a tool of an MCP server
	Size         = lazyregexp.New(`^([1-9][0-9]{0,9})(KiB|MiB)?$`)
)

// PlainURL is the pattern of an address without placeholders, such as that of a server.
const PlainURL = `^[hH][tT][tT][pP][sS]?://[^#@{}]+$`

// Tools that call another agent: the words of their result, and the highest limits of an agent.
const (
	ResultOutput = "output"
	ResultFinal  = "final"
	MostDepth    = 8
	MostChildren = 500
)

// The tests of conditions. A condition has several bounds, or one other test.
var (
	BoundTests = []string{"above", "below", "at_least", "at_most"}
	OtherTests = []string{"equals", "not_equals", "in", "glob", "not_glob", "regex", "not_regex", "exists"}
)

// StopRules are the types of stop rules, with the member of the long form that has the value.
var StopRules = map[string]string{
	"max_rounds": "rounds", "timeout": "seconds", "token_budget": "max_total", "consecutive_errors": "max",
	"loop_detection": "window", "stop_on_tool": "tool_name", "max_cost": "usd", "content_match": "pattern",
}

// Unlimited is the value of max_rounds for no limit. 0 means the same.
const Unlimited = "unlimited"

// MostWindow is how many rounds of calls a run remembers; a longer loop would never be detected.
const MostWindow = 16

// Days are the days of the week, as policies name them. Sunday is 0.
var Days = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// LongestPolicyTime bounds the times of a policy.
const LongestPolicyTime = 366 * 24 * time.Hour

// YieldNever is the default of yield_when.
const YieldNever = "never"
