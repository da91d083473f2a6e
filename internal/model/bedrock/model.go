// Package bedrock asks models of Amazon Bedrock, through Converse and ConverseStream. It
// translates: a prompt to a request that Bedrock takes, and an answer, whole or streamed, to a
// turn. It decides nothing about a run, runs no tool, keeps nothing of a conversation, and reads no
// configuration: the client comes with region and credentials.
package bedrock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Provider is whose reasoning parts these models write, and take back.
const Provider = "bedrock"

// Client is what is needed of the SDK's client. Its own retries are turned off for each call: how
// often a request is repeated is decided here.
type Client interface {
	Converse(context.Context, *bedrockruntime.ConverseInput, ...func(*bedrockruntime.Options)) (*bedrockruntime.ConverseOutput, error)
	ConverseStream(context.Context, *bedrockruntime.ConverseStreamInput, ...func(*bedrockruntime.Options)) (*bedrockruntime.ConverseStreamOutput, error)
}

// Options say which model is asked, and with what.
type Options struct {
	Model  agent.Model
	Clock  engine.Clock
	Random engine.Random
	Logger *slog.Logger // of what Bedrock said when it refused or failed; nil for nobody
}

// Model is a model of Bedrock. It is safe for concurrent use.
//
// What a model does not take it says in a ValidationException that names it: cache points, their
// lifetime, reasoning without a signature. Then the same request is sent once more without, and the
// Model remembers it for as long as the process lives.
type Model struct {
	client Client
	o      Options
	output *jsonschema.Resolved // nil: any text will do

	mu      sync.Mutex
	refuses map[string]refusals // by model id
}

var _ engine.Model = (*Model)(nil)

// New makes a model. It asks Bedrock nothing. An error says what is wrong with the definition, or
// what is missing here.
func New(client Client, o Options) (*Model, error) {
	switch {
	case client == nil || o.Clock == nil || o.Random == nil:
		return nil, errors.New("bedrock: a model needs a client, a clock and a source of randomness; the program that puts it together gives none")
	case o.Model.ID == "":
		return nil, errors.New("bedrock: the model has no id; name a model, an inference profile or an ARN under model.model")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Model{client: client, o: o, refuses: map[string]refusals{}}
	if !core.IsNull(o.Model.Output) {
		schema, err := compile(o.Model.Output)
		if err != nil {
			return nil, fmt.Errorf("bedrock: model.output is no JSON Schema: %w", err)
		}
		m.output = schema
	}
	if !core.IsNull(o.Model.Request) && !isObject(o.Model.Request) {
		return nil, errors.New("bedrock: model.request is no JSON object; write the fields of the model's own request in it")
	}
	return m, nil
}

// Ask implements [engine.Model]. It sends at most [mostTries] requests that fail, within
// [longestTrying]; what still fails then is a [*engine.TryLater]. A request that is repeated after
// something was said begins with a restart. An answer that does not fit the output's schema is a
// TryLater too: Bedrock promises the form, and a model may break it.
//
// A turn is whole: Bedrock said why the model stopped, and every call of it was closed. Calls run
// whatever word it stopped with, "end_turn" too, since some models say that beside their calls;
// "tool_use" without a call is no turn, for the model meant one that is lost.
func (m *Model) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	r, err := m.newRequest(p)
	if err != nil {
		return core.Turn{}, err
	}
	turn, err := m.persist(ctx, r)
	if err != nil {
		return core.Turn{}, err
	}
	if misfit := m.misfit(turn); misfit != nil {
		return core.Turn{}, misfit
	}
	return turn, nil
}

// refusals are what a model has refused to take.
type refusals struct{ ttl, toolPoint, points, unsigned bool }

func (m *Model) refused(id string) refusals {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refuses[id]
}

func (m *Model) remember(id string, r refusals) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuses[id] = r
}
