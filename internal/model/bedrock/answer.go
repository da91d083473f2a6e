package bedrock

import (
	"errors"
	"math"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Limits of an answer. No model sends a larger one.
const (
	mostBlocks = 1000
	mostBytes  = 8 << 20
)

var (
	errTooLong    = errors.New("the answer is longer than the limit")
	errIncomplete = errors.New("the answer broke off before Bedrock said why the model stopped")
	errOpenCall   = errors.New("the model stopped before it finished a call")
	errNoName     = errors.New("a call of the model has no tool name")
	errNoCall     = errors.New("the model stopped for a call that is missing")
	errMalformed  = errors.New("the model's answer cannot be read")
)

// block is one piece of an answer, complete or still arriving.
type block struct {
	// kind is core.PartText, core.PartReasoning or core.PartCall; it is empty for an unknown
	// kind
	kind   string
	text   strings.Builder
	seal   seal
	id     string // for a call, like its name and, as text, its arguments
	name   string
	closed bool
}

// answer is what has arrived of an answer.
type answer struct {
	blocks []*block
	stop   types.StopReason // empty until Bedrock says why the model stopped
	usage  *types.TokenUsage
	bytes  int
}

// grow counts the output of the model.
func (a *answer) grow(n int) error {
	if a.bytes += n; a.bytes > mostBytes || len(a.blocks) > mostBlocks {
		return errTooLong
	}
	return nil
}

// turn converts the answer to a turn, or says why that is impossible.
func (a *answer) turn(n names) (core.Turn, error) {
	end, err := ending(a.stop)
	if err != nil {
		return core.Turn{}, err
	}
	t := core.Turn{End: end}
	var text strings.Builder
	for _, b := range a.blocks {
		switch {
		case b.kind == core.PartText && b.text.Len() > 0:
			text.WriteString(b.text.String())
			t.Content = append(t.Content, core.Part{Type: core.PartText, Text: b.text.String()})
		case b.kind == core.PartReasoning && (b.text.Len() > 0 || b.seal.Signature != nil || len(b.seal.Redacted) > 0):
			t.Content = append(t.Content, reasoningPart(b.text.String(), b.seal))
		case b.kind == core.PartCall && !b.closed && end == nil:
			return core.Turn{}, errOpenCall
		case b.kind == core.PartCall && b.name == "" && end == nil:
			return core.Turn{}, errNoName
		case b.kind == core.PartCall && b.name != "":
			t.Calls = append(t.Calls, core.ToolCall{ID: b.id, Name: n.own(b.name), Arguments: argumentsOf(b.text.String())})
			t.Content = append(t.Content, core.Part{Type: core.PartCall, Call: b.id})
		}
	}
	if a.stop == types.StopReasonToolUse && len(t.Calls) == 0 {
		return core.Turn{}, errNoCall
	}
	t.Text = text.String()
	if plain(t.Content) {
		t.Content = nil
	}
	a.count(&t)
	return t, nil
}

// plain reports whether a content is at most one text followed by calls; a turn without a content
// implies exactly that.
func plain(content []core.Part) bool {
	for i, p := range content {
		if p.Type == core.PartReasoning || p.Type == core.PartText && i > 0 {
			return false
		}
	}
	return true
}

// count records the token usage of the answer. Bedrock's input tokens exclude those read from or
// written to a cache.
func (a *answer) count(t *core.Turn) {
	u := a.usage
	if u == nil {
		t.NoUsage = true
		return
	}
	t.CacheRead, t.CacheWritten, t.OutputTokens = tokens(u.CacheReadInputTokens), tokens(u.CacheWriteInputTokens), tokens(u.OutputTokens)
	t.InputTokens = tokens(u.InputTokens) + t.CacheRead + t.CacheWritten
}

func tokens(n *int32) int64 { return int64(min(max(aws.ToInt32(n), 0), math.MaxInt32)) }

// ending says what a stop reason means for an answer: it is complete, it was cut off or withheld,
// or it is no turn at all.
func ending(stop types.StopReason) (*core.Reason, error) {
	switch stop {
	case "":
		return nil, errIncomplete
	case types.StopReasonEndTurn, types.StopReasonStopSequence, types.StopReasonToolUse:
		return nil, nil
	case types.StopReasonMalformedModelOutput, types.StopReasonMalformedToolUse:
		return nil, errMalformed
	case types.StopReasonMaxTokens:
		return stopped(string(stop), "The answer was cut off at the maximum number of tokens; raise model.max_tokens."), nil
	case types.StopReasonModelContextWindowExceeded:
		return stopped(string(stop), "The conversation and its answer exceed the context window of the model; begin a new thread, "+
			"or use a model with a larger window."), nil
	case types.StopReasonGuardrailIntervened:
		return stopped(string(stop), "The guardrail intervened and replaced the answer."), nil
	case types.StopReasonContentFiltered:
		return stopped(string(stop), "The provider's content filter withheld the answer."), nil
	}
	return stopped("unknown_stop_reason", "The model stopped for a reason unknown to this version; "+
		"the log of the worker has its name."), nil
}

func stopped(code, detail string) *core.Reason {
	return &core.Reason{Kind: core.Stopped, Code: code, Detail: detail}
}

// misfit reports a final answer that does not match the schema of the output. A turn with calls,
// and one that was cut off, is not final.
func (m *Model) misfit(t core.Turn) error {
	if m.output == nil || t.End != nil || len(t.Calls) > 0 {
		return nil
	}
	if err := fits(m.output, t.Text); err != nil {
		m.o.Logger.Warn("bedrock: the model's answer does not match model.output", "error", err)
		return &engine.TryLater{Detail: "the model's answer does not match the schema of model.output" + retry, Cause: errMisfit, Answered: true}
	}
	return nil
}
