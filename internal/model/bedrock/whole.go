package bedrock

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// read converts a complete answer. For a block of an unknown kind the SDK repeats the previous
// block, with the same pointer, so a call would run twice:
//
//	{"toolUse": …}, {"sparkle": …} ── the SDK ── toolUse, toolUse
func read(out *bedrockruntime.ConverseOutput) (*answer, error) {
	message, ok := out.Output.(*types.ConverseOutputMemberMessage)
	if !ok {
		return nil, errIncomplete
	}
	a := &answer{stop: out.StopReason, usage: out.Usage}
	for i, content := range message.Value.Content {
		if i > 0 && content == message.Value.Content[i-1] {
			continue
		}
		b, size := blockOf(content)
		a.blocks = append(a.blocks, b)
		if err := a.grow(size + b.text.Len()); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// blockOf returns a block of a complete answer, and the size of its parts other than text. A block
// of an unknown kind is empty.
func blockOf(content types.ContentBlock) (b *block, size int) {
	b = &block{closed: true}
	switch c := content.(type) {
	case *types.ContentBlockMemberText:
		b.kind = core.PartText
		b.text.WriteString(c.Value)
	case *types.ContentBlockMemberToolUse:
		b.kind, b.id, b.name = core.PartCall, aws.ToString(c.Value.ToolUseId), aws.ToString(c.Value.Name)
		b.text.Write(argumentsIn(c.Value.Input))
	case *types.ContentBlockMemberReasoningContent:
		return b, b.readReasoning(c.Value)
	case *types.ContentBlockMemberCitationsContent:
		b.kind = core.PartText
		b.text.WriteString(cited(c.Value.Content))
	}
	return b, len(b.id) + len(b.name)
}

func (b *block) readReasoning(content types.ReasoningContentBlock) (size int) {
	b.kind = core.PartReasoning
	switch r := content.(type) {
	case *types.ReasoningContentBlockMemberReasoningText:
		b.text.WriteString(aws.ToString(r.Value.Text))
		b.seal.Signature = r.Value.Signature
		return len(aws.ToString(r.Value.Signature))
	case *types.ReasoningContentBlockMemberRedactedContent:
		b.seal.Redacted = r.Value
	default:
		b.kind = ""
	}
	return len(b.seal.Redacted)
}

// cited returns the text that citations belong to.
func cited(content []types.CitationGeneratedContent) string {
	var b strings.Builder
	for _, c := range content {
		if t, is := c.(*types.CitationGeneratedContentMemberText); is {
			b.WriteString(t.Value)
		}
	}
	return b.String()
}
