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

// How long a failure is met here. Whoever waits longer does so without a process that is paid for.
const (
	mostTries     = 3
	longestTrying = 4 * time.Second // from the first request to the beginning of the last
	firstPause    = 250 * time.Millisecond
	longestPause  = longestTrying
)

// persist asks until there is a turn, or until it is not worth while to ask again at once.
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
		case lessens: // each can happen once only
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

// heard is what came of an answer before it failed.
type heard struct{ began, said bool }

// once sends the request once.
func (m *Model) once(ctx context.Context, r *request) (core.Turn, heard, error) {
	a, h, err := m.answer(ctx, r)
	if err != nil {
		return core.Turn{}, h, err
	}
	turn, err := a.turn(r.names)
	if err == nil && turn.End != nil {
		m.o.Logger.Warn("bedrock: the answer is not whole", "run", r.prompt.Run, "step", r.prompt.Step, "stop_reason", clipped(string(a.stop)))
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
		m.o.Logger.Info("bedrock: parts of the answer are of kinds that this version does not know", "run", r.prompt.Run, "parts", l.unknown)
	}
	return &l.answer, heard{l.began, l.said}, err
}

// apart gives a stream a reader of its own. The SDK's client has one decoder, and a buffer for what
// it reads, for all its streams:
//
//	one run: decode into the buffer ── another run: decode into the buffer ── the first reads
//
// It is a race in v1.63.10 that does no harm yet, since the buffer is never kept.
func apart(o *bedrockruntime.Options) {
	o.Protocol = restjson1.New(schemas.AmazonBedrockFrontendService)
}

// unrepeated also bounds what is read: the SDK reads errors and whole answers to their end, into
// memory.
func unrepeated(o *bedrockruntime.Options) {
	o.Retryer = aws.NopRetryer{}
	o.HTTPClient = bounded{o.HTTPClient}
}

// lessened is what the model is known to refuse after this failure, if that is more than before and
// something the request has.
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
