package bedrock

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// seal is what Bedrock wants back with a piece of reasoning: the signature of its text, or what
// nobody but the model can read.
type seal struct {
	Signature *string `json:"signature,omitempty"`
	Redacted  []byte  `json:"redacted,omitempty"`
}

// reasoningPart is a piece of reasoning as it is kept.
func reasoningPart(text string, s seal) core.Part {
	return core.Part{Type: core.PartReasoning, Text: text, Provider: Provider, Sealed: core.Encode(s)}
}

// reasoningBlock is the piece as Bedrock gave it. There is none if somebody else wrote it, if
// nothing is left of it, or if its seal cannot be read. Without a signature it is left out where
// the model refuses that.
func reasoningBlock(p core.Part, unsigned bool) (types.ContentBlock, bool) {
	var s seal
	if p.Provider != Provider || json.Unmarshal(p.Sealed, &s) != nil {
		return nil, false
	}
	if len(s.Redacted) > 0 {
		return &types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberRedactedContent{Value: s.Redacted}}, true
	}
	if s.Signature == nil && (!unsigned || strings.TrimSpace(p.Text) == "") {
		return nil, false
	}
	return &types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberReasoningText{
		Value: types.ReasoningTextBlock{Text: &p.Text, Signature: s.Signature}}}, true
}
