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

// What an answer may be made of. More is no answer of a model.
const (
	mostBlocks = 1000
	mostBytes  = 8 << 20
)

var (
	errTooLong    = errors.New("the answer is longer than any that is taken")
	errIncomplete = errors.New("the answer broke off before Bedrock said why the model stopped")
	errOpenCall   = errors.New("the model stopped, and a call of it was never closed")
	errNoName     = errors.New("a call of the model names no tool")
	errNoCall     = errors.New("the model stopped for a call, and there is none")
	errMalformed  = errors.New("the model wrote what nobody can read")
)

// block is one piece of an answer, while it is heard or whole.
type block struct {
	// core.PartText, core.PartReasoning or core.PartCall; empty for what nobody knows
	kind   string
	text   strings.Builder
	seal   seal
	id     string // of a call, as its name and, as text, its arguments
	name   string
	closed bool
}

// answer is what there is of an answer.
type answer struct {
	blocks []*block
	stop   types.StopReason // empty until Bedrock says why the model stopped
	usage  *types.TokenUsage
	bytes  int
}

// grow counts what the model wrote.
func (a *answer) grow(n int) error {
	if a.bytes += n; a.bytes > mostBytes || len(a.blocks) > mostBlocks {
		return errTooLong
	}
	return nil
}

// turn is the answer as a turn, or why it is none.
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

// plain says whether a content is one text at most and calls behind it, which is what text and
// calls are taken for without a content.
func plain(content []core.Part) bool {
	for i, p := range content {
		if p.Type == core.PartReasoning || p.Type == core.PartText && i > 0 {
			return false
		}
	}
	return true
}

// count tells what the answer used. Bedrock's input tokens are those that no cache had a part in.
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

// ending says what a stop reason makes of an answer: a turn, one that was cut off or withheld, or
// none.
func ending(stop types.StopReason) (*core.Reason, error) {
	switch stop {
	case "":
		return nil, errIncomplete
	case types.StopReasonEndTurn, types.StopReasonStopSequence, types.StopReasonToolUse:
		return nil, nil
	case types.StopReasonMalformedModelOutput, types.StopReasonMalformedToolUse:
		return nil, errMalformed
	case types.StopReasonMaxTokens:
		return stopped(string(stop), "The answer was cut off at the largest number of tokens it may have; raise model.max_tokens."), nil
	case types.StopReasonModelContextWindowExceeded:
		return stopped(string(stop), "The conversation and its answer are longer than the model can read; begin a new thread, "+
			"or use a model with a larger window."), nil
	case types.StopReasonGuardrailIntervened:
		return stopped(string(stop), "The guardrail intervened. What is shown in place of the answer is the guardrail's."), nil
	case types.StopReasonContentFiltered:
		return stopped(string(stop), "The provider's content filter withheld the answer."), nil
	}
	return stopped("unknown_stop_reason", "The model stopped for a reason that this version does not know; "+
		"the log of the worker has its name."), nil
}

func stopped(code, detail string) *core.Reason {
	return &core.Reason{Kind: core.Stopped, Code: code, Detail: detail}
}

// misfit says that what the model said is not in the form that was asked for. A turn with calls, or
// one that was cut off, is not the end of it.
func (m *Model) misfit(t core.Turn) error {
	if m.output == nil || t.End != nil || len(t.Calls) > 0 {
		return nil
	}
	if err := fits(m.output, t.Text); err != nil {
		m.o.Logger.Warn("bedrock: the model's answer does not fit model.output", "error", err)
		return &engine.TryLater{Detail: "the model's answer does not fit the schema of model.output" + retry, Cause: errMisfit, Answered: true}
	}
	return nil
}
