package bedrock

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/schemas"
	"github.com/aws/smithy-go/transport/http/protocol/restjson1"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Limits of the retries within one request. Longer waits happen without a running process, at no
// cost.
const (
	mostTries     = 3
	longestTrying = 4 * time.Second // from the first request to the start of the last
	firstPause    = 250 * time.Millisecond
	longestPause  = longestTrying
)

// persist sends requests until there is a turn or an immediate retry makes no sense.
func (m *Model) persist(ctx context.Context, r *request) (core.Turn, error) {
	ends := m.o.Clock.Now().Add(longestTrying)
	for try := 1; ; try++ {
		turn, heard, err := m.once(ctx, r)
		if err == nil {
			return turn, nil
		}
		if ctx.Err() != nil {
			if heard.began {
				return core.Turn{}, &engine.CutShort{Cause: context.Cause(ctx)}
			}
			return core.Turn{}, context.Cause(ctx)
		}
		v := judge(err, heard.began, m.o.Clock.Now())
		m.tell(r, v)
		pause := max(engine.Backoff(m.o.Random, firstPause, longestPause, try-1), v.after)
		switch less, lessens := lessened(r.uses, m.refused(r.id), v); {
		case lessens: // each can happen only once
			m.remember(r.id, less)
			if r, err = m.newRequest(r.prompt); err != nil {
				return core.Turn{}, err
			}
			try--
			continue
		case !v.again || try >= mostTries || m.o.Clock.Now().Add(pause).After(ends):
			return core.Turn{}, v.err()
		}
		if engine.Sleep(ctx, m.o.Clock, pause) != nil {
			return core.Turn{}, context.Cause(ctx)
		}
		if heard.said {
			r.prompt.Say(engine.Delta{Restart: true})
		}
	}
}

// heard says how far an answer had come when it failed.
type heard struct{ began, said bool }

// once sends the request once.
func (m *Model) once(ctx context.Context, r *request) (core.Turn, heard, error) {
	a, h, err := m.answer(ctx, r)
	if err != nil {
		return core.Turn{}, h, err
	}
	turn, err := a.turn(r.names)
	if err == nil && turn.End != nil {
		m.o.Logger.Warn("bedrock: the answer is incomplete", "run", r.prompt.Run, "step", r.prompt.Step, "stop_reason", clipped(string(a.stop)))
	}
	return turn, h, err
}

func (m *Model) answer(ctx context.Context, r *request) (*answer, heard, error) {
	if m.o.Model.Whole {
		out, err := m.client.Converse(ctx, m.whole(r), unrepeated)
		if err != nil {
			return nil, heard{}, err
		}
		a, err := read(out)
		return a, heard{began: true}, err
	}
	out, err := m.client.ConverseStream(ctx, m.streamed(r), unrepeated, apart)
	if err != nil {
		return nil, heard{}, err
	}
	l := &listener{open: map[int32]*block{}, say: r.prompt.Say}
	err = l.listen(ctx, out.GetStream(), m.o.Clock)
	if l.unknown > 0 {
		m.o.Logger.Info("bedrock: parts of the answer are of unknown kinds", "run", r.prompt.Run, "parts", l.unknown)
	}
	return &l.answer, heard{l.began, l.said}, err
}

// apart gives a stream its own reader. The SDK's client has a single decoder with a buffer for all
// its streams:
//
//	one run: decode into the buffer ── another run: decode into the buffer ── the first reads
//
// In v1.63.10 this race is harmless, because the buffer is never kept.
func apart(o *bedrockruntime.Options) {
	o.Protocol = restjson1.New(schemas.AmazonBedrockFrontendService)
}

// unrepeated disables the SDK's retries and limits what is read: the SDK reads errors and complete
// answers into memory.
func unrepeated(o *bedrockruntime.Options) {
	o.Retryer = aws.NopRetryer{}
	o.HTTPClient = bounded{o.HTTPClient}
}

// lessened adds the feature that this failure reports as unsupported, if the request uses it and it
// is not yet known.
func lessened(uses, known refusals, v verdict) (refusals, bool) {
	less := known
	switch {
	case uses.unsigned && v.names("reasoning"):
		less.unsigned = true
	case !uses.points || !v.names("cach"):
		return known, false
	case uses.ttl && v.names("ttl"):
		less.ttl = true
	case uses.toolPoint && v.names("tool"):
		less.toolPoint = true
	default:
		less.points = true
	}
	return less, true
}

var _ stream = (*bedrockruntime.ConverseStreamEventStream)(nil)
