package bedrock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// What is said where Bedrock wants something said.
const (
	beginning = "(The conversation begins here.)"
	goOn      = "(Please go on.)"
	noOutput  = "(no output)"
)

// conversation makes Bedrock's messages of ours: users and assistants in turn, the first and the
// last a user's. What users say, results and the runtime's own notices are one message where they
// follow one another.
type conversation struct {
	names     names
	unsigned  bool // reasoning without a signature is sent too
	messages  []types.Message
	documents int

	called       []string // wire names of the tools that were called
	usesUnsigned bool     // some reasoning without a signature is in it

	// where what the next request begins with ends: behind so many blocks of so many messages
	message, block int
}

func (c *conversation) add(messages []core.Message) {
	for _, m := range messages {
		switch m.Role {
		case core.RoleAssistant:
			c.say(types.ConversationRoleAssistant, c.turn(m)...)
		case core.RoleTool:
			c.say(types.ConversationRoleUser, c.result(m))
		case core.RoleSystem:
			c.say(types.ConversationRoleUser, notice(m.Text())...)
			continue // many are for one request only
		default:
			c.say(types.ConversationRoleUser, messageBlocks(c.pieces(m.Parts))...)
		}
		c.stable()
	}
	if len(c.messages) == 0 || c.messages[len(c.messages)-1].Role == types.ConversationRoleAssistant {
		c.say(types.ConversationRoleUser, text(goOn))
	}
}

// say adds blocks to the message of a role, a new one if it is not the role's turn.
func (c *conversation) say(role types.ConversationRole, blocks ...types.ContentBlock) {
	if len(blocks) == 0 {
		return
	}
	if len(c.messages) == 0 && role == types.ConversationRoleAssistant {
		c.messages = append(c.messages, types.Message{Role: types.ConversationRoleUser, Content: []types.ContentBlock{text(beginning)}})
	}
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == role {
		c.messages[n-1].Content = append(c.messages[n-1].Content, blocks...)
		return
	}
	c.messages = append(c.messages, types.Message{Role: role, Content: blocks})
}

// stable says that the next request begins with all there is so far.
func (c *conversation) stable() {
	if c.message = len(c.messages); c.message > 0 {
		c.block = len(c.messages[c.message-1].Content)
	}
}

// cache puts a cache point behind what the next request begins with. Notices that come last stand
// behind it: the next request may have others.
func (c *conversation) cache(point types.CachePointBlock) {
	if c.message > 0 {
		m := &c.messages[c.message-1]
		m.Content = slices.Insert(m.Content, c.block, types.ContentBlock(&types.ContentBlockMemberCachePoint{Value: point}))
	}
}

func text(s string) types.ContentBlock { return &types.ContentBlockMemberText{Value: s} }

// notice is what the runtime says. Bedrock knows nobody but users and assistants within a
// conversation, so it is marked.
func notice(s string) []types.ContentBlock {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []types.ContentBlock{text("<runtime-notice>\n" + s + "\n</runtime-notice>")}
}

// turn is what the assistant said. Reasoning with nothing behind it was cut off: it is left out, as
// Bedrock takes it nowhere.
func (c *conversation) turn(m core.Message) []types.ContentBlock {
	var blocks []types.ContentBlock
	for _, p := range m.Blocks() {
		switch p.Type {
		case core.PartCall:
			if i := slices.IndexFunc(m.Calls, func(call core.ToolCall) bool { return call.ID == p.Call }); i >= 0 {
				blocks = append(blocks, c.call(m.Calls[i]))
			}
		case core.PartReasoning:
			if b, ok := reasoningBlock(p, c.unsigned); ok {
				blocks = append(blocks, b)
			}
		case core.PartImage, core.PartDocument:
			// Bedrock takes files from users and tools only.
			blocks = append(blocks, text(fmt.Sprintf("[Here the assistant gave a file of type %q.]", clipped(p.Media))))
		default:
			blocks = append(blocks, messageBlocks(c.pieces([]core.Part{p}))...)
		}
	}
	for len(blocks) > 0 && isReasoning(blocks[len(blocks)-1]) {
		blocks = blocks[:len(blocks)-1]
	}
	c.usesUnsigned = c.usesUnsigned || slices.ContainsFunc(blocks, isUnsigned)
	return blocks
}

func isReasoning(b types.ContentBlock) bool {
	_, is := b.(*types.ContentBlockMemberReasoningContent)
	return is
}

func isUnsigned(b types.ContentBlock) bool {
	if r, is := b.(*types.ContentBlockMemberReasoningContent); is {
		t, readable := r.Value.(*types.ReasoningContentBlockMemberReasoningText)
		return readable && t.Value.Signature == nil
	}
	return false
}

func (c *conversation) call(call core.ToolCall) types.ContentBlock {
	name := c.names.wire(call.Name)
	c.called = append(c.called, name)
	return &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
		ToolUseId: aws.String(wireID(call.ID)), Name: &name, Input: documentOf(objectOf(call.Arguments))}}
}

func (c *conversation) result(m core.Message) types.ContentBlock {
	r := types.ToolResultBlock{ToolUseId: aws.String(wireID(m.CallID)), Content: resultBlocks(c.pieces(m.Parts))}
	if len(r.Content) == 0 {
		r.Content = []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: noOutput}}
	}
	if m.Error {
		r.Status = types.ToolResultStatusError
	}
	return &types.ContentBlockMemberToolResult{Value: r}
}
