package bedrock

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// listener assembles a streamed answer and forwards the text of the model.
type listener struct {
	answer
	open    map[int32]*block
	say     func(engine.Delta)
	said    bool
	began   bool // Bedrock has sent part of an answer
	unknown int  // events of unknown types, which are ignored
}

// listen reads a stream to its end. The SDK reports no error for a truncated stream:
//
//	messageStart ── contentBlockDelta "Refund" ── EOF, or half a frame ── Err() == nil
//
// So an answer is complete only if there was a messageStop. An error after it costs only the usage
// numbers, for which listen waits at most [untilUsage].
func (l *listener) listen(ctx context.Context, stream stream, clock engine.Clock) error {
	defer stream.Close()
	enough := make(chan struct{})
	for {
		select {
		case <-enough:
			return nil
		case <-ctx.Done():
			if l.stop != "" {
				return nil
			}
			return context.Cause(ctx)
		case event, more := <-stream.Events():
			if !more {
				return l.over(stream.Err())
			}
			open := l.stop == ""
			if err := l.hear(event); err != nil {
				return err
			}
			if open && l.stop != "" {
				// once
				defer clock.AfterFunc(untilUsage, func() { close(enough) })()
			}
		}
	}
}

// untilUsage limits the wait, after the end of an answer, for the usage numbers and the end of the
// stream.
const untilUsage = 10 * time.Second

// stream is the part of the SDK's stream that is used.
type stream interface {
	Events() <-chan types.ConverseStreamOutput
	Close() error
	Err() error
}

func (l *listener) over(err error) error {
	switch {
	case l.stop != "":
		return nil
	case err != nil:
		return err
	}
	return errIncomplete
}

func (l *listener) hear(event types.ConverseStreamOutput) error {
	if m, is := event.(*types.ConverseStreamOutputMemberMetadata); is {
		l.usage = m.Value.Usage
		return nil
	}
	if l.stop != "" {
		return nil // the model has stopped and writes nothing more
	}
	switch e := event.(type) {
	case *types.ConverseStreamOutputMemberMessageStart:
		l.began = true
	case *types.ConverseStreamOutputMemberContentBlockStart:
		return l.start(aws.ToInt32(e.Value.ContentBlockIndex), e.Value.Start)
	case *types.ConverseStreamOutputMemberContentBlockDelta:
		return l.delta(aws.ToInt32(e.Value.ContentBlockIndex), e.Value.Delta)
	case *types.ConverseStreamOutputMemberContentBlockStop:
		if b, open := l.open[aws.ToInt32(e.Value.ContentBlockIndex)]; open {
			b.closed = true
		}
	case *types.ConverseStreamOutputMemberMessageStop:
		l.stop = e.Value.StopReason
	default:
		l.unknown++
	}
	return nil
}

// at returns the block with an index. Bedrock announces only calls; a text begins with its first
// delta.
func (l *listener) at(index int32, kind string) *block {
	l.began = true
	b, open := l.open[index]
	if !open {
		b = &block{}
		l.open[index] = b
		l.blocks = append(l.blocks, b)
	}
	if b.kind == "" {
		b.kind = kind
	}
	return b
}

func (l *listener) start(index int32, start types.ContentBlockStart) error {
	s, call := start.(*types.ContentBlockStartMemberToolUse)
	if !call {
		l.unknown++
		return l.grow(1)
	}
	if _, open := l.open[index]; open {
		return errMalformed
	}
	b := l.at(index, core.PartCall)
	b.id, b.name = aws.ToString(s.Value.ToolUseId), aws.ToString(s.Value.Name)
	return l.grow(len(b.id) + len(b.name) + 1)
}

func (l *listener) delta(index int32, delta types.ContentBlockDelta) error {
	switch d := delta.(type) {
	case *types.ContentBlockDeltaMemberText:
		return l.write(l.at(index, core.PartText), core.PartText, d.Value)
	case *types.ContentBlockDeltaMemberToolUse:
		return l.write(l.at(index, core.PartCall), core.PartCall, aws.ToString(d.Value.Input))
	case *types.ContentBlockDeltaMemberReasoningContent:
		return l.reason(l.at(index, core.PartReasoning), d.Value)
	}
	l.unknown++
	return nil
}

// write appends to a block. If the kinds differ, the answer is malformed.
func (l *listener) write(b *block, kind, text string) error {
	if b.kind != kind || b.closed {
		return errMalformed
	}
	b.text.WriteString(text)
	if kind != core.PartCall && text != "" && l.say != nil {
		l.said = true
		l.say(engine.Delta{Kind: kind, Text: text})
	}
	return l.grow(len(text) + 1)
}

func (l *listener) reason(b *block, delta types.ReasoningContentBlockDelta) error {
	if b.kind != core.PartReasoning || b.closed {
		return errMalformed
	}
	switch d := delta.(type) {
	case *types.ReasoningContentBlockDeltaMemberText:
		return l.write(b, core.PartReasoning, d.Value)
	case *types.ReasoningContentBlockDeltaMemberSignature:
		signature := aws.ToString(b.seal.Signature) + d.Value
		b.seal.Signature = &signature
		return l.grow(len(d.Value) + 1)
	case *types.ReasoningContentBlockDeltaMemberRedactedContent:
		b.seal.Redacted = append(b.seal.Redacted, d.Value...)
		return l.grow(len(d.Value) + 1)
	}
	l.unknown++
	return nil
}
