package bedrock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Texts for places where Bedrock requires one.
const (
	beginning = "(The conversation begins here.)"
	goOn      = "(Please go on.)"
	noOutput  = "(no output)"
)

// conversation converts our messages to Bedrock's, which alternate between users and assistants and
// begin and end with a user. Consecutive messages of users, results and notices of the runtime
// become one message.
type conversation struct {
	names     names
	unsigned  bool // reasoning without a signature is sent as well
	messages  []types.Message
	documents int

	called       []string // wire names of the tools that were called
	usesUnsigned bool     // it contains reasoning without a signature

	// the end of what the next request also begins with: so many blocks of so many messages
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
			continue // many apply to one request only
		default:
			c.say(types.ConversationRoleUser, messageBlocks(c.pieces(m.Parts))...)
		}
		c.stable()
	}
	if len(c.messages) == 0 || c.messages[len(c.messages)-1].Role == types.ConversationRoleAssistant {
		c.say(types.ConversationRoleUser, text(goOn))
	}
}

// say adds blocks to the message of a role, or to a new one if it is not the role's turn.
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

// stable marks the messages so far as the common beginning of the next request.
func (c *conversation) stable() {
	if c.message = len(c.messages); c.message > 0 {
		c.block = len(c.messages[c.message-1].Content)
	}
}

// cache puts a cache point after the common beginning of the next request. Final notices come after
// it, because the next request may have others.
func (c *conversation) cache(point types.CachePointBlock) {
	if c.message > 0 {
		m := &c.messages[c.message-1]
		m.Content = slices.Insert(m.Content, c.block, types.ContentBlock(&types.ContentBlockMemberCachePoint{Value: point}))
	}
}

func text(s string) types.ContentBlock { return &types.ContentBlockMemberText{Value: s} }

// notice is a message of the runtime. Bedrock knows only users and assistants within a
// conversation, so it is marked.
func notice(s string) []types.ContentBlock {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []types.ContentBlock{text("<runtime-notice>\n" + s + "\n</runtime-notice>")}
}

// turn converts a message of the assistant. Reasoning at the end was cut off and is left out,
// because Bedrock accepts it nowhere.
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
			// Bedrock accepts files from users and tools only.
			blocks = append(blocks, text(fmt.Sprintf("[The assistant sent a file of type %q here.]", clipped(p.Media))))
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
