package bedrock

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// seal is what Bedrock requires back with a piece of reasoning: the signature of its text, or
// encrypted content.
type seal struct {
	Signature *string `json:"signature,omitempty"`
	Redacted  []byte  `json:"redacted,omitempty"`
}

// reasoningPart is a piece of reasoning in its stored form.
func reasoningPart(text string, s seal) core.Part {
	return core.Part{Type: core.PartReasoning, Text: text, Provider: Provider, Sealed: core.Encode(s)}
}

// reasoningBlock restores the piece as Bedrock sent it. It returns false if another provider wrote
// it, if nothing is left of it, or if its seal cannot be read. A piece without a signature is left
// out if the model rejects those.
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
