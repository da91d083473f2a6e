// Package bedrock calls models of Amazon Bedrock through Converse and ConverseStream. It translates
// a prompt to a request, and an answer, complete or streamed, to a turn. It makes no decision about
// a run, runs no tools, stores no conversation and reads no configuration: the client brings region
// and credentials.
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

// Provider marks the reasoning parts that these models write and accept.
const Provider = "bedrock"

// Client is the part of the SDK's client that is used. Each call disables its retries, because this
// package decides how often a request is repeated.
type Client interface {
	Converse(context.Context, *bedrockruntime.ConverseInput, ...func(*bedrockruntime.Options)) (*bedrockruntime.ConverseOutput, error)
	ConverseStream(context.Context, *bedrockruntime.ConverseStreamInput, ...func(*bedrockruntime.Options)) (*bedrockruntime.ConverseStreamOutput, error)
}

// Options configure a model.
type Options struct {
	Model  agent.Model
	Clock  engine.Clock
	Random engine.Random
	// for the messages of Bedrock when it rejected a request or failed; nil drops them
	Logger *slog.Logger
}

// Model is a Bedrock model. It is safe for concurrent use.
//
// A model reports a feature that it does not support in a ValidationException: cache points, their
// lifetime, or reasoning without a signature. The same request is then sent once more without that
// feature, and the Model omits it for as long as the process lives.
type Model struct {
	client Client
	o      Options
	output *jsonschema.Resolved // nil if any text will do

	mu      sync.Mutex
	refuses map[string]refusals // by model id
}

var _ engine.Model = (*Model)(nil)

// New returns a model. It makes no request. It returns an error if the definition is invalid or a
// dependency is missing.
func New(client Client, o Options) (*Model, error) {
	switch {
	case client == nil || o.Clock == nil || o.Random == nil:
		return nil, errors.New("bedrock: Options.Clock, Options.Random and a client are required")
	case o.Model.ID == "":
		return nil, errors.New("bedrock: the model has no id; set model.model to a model, an inference profile or an ARN")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Model{client: client, o: o, refuses: map[string]refusals{}}
	if !core.IsNull(o.Model.Output) {
		schema, err := compile(o.Model.Output)
		if err != nil {
			return nil, fmt.Errorf("bedrock: model.output is not a JSON Schema: %w", err)
		}
		m.output = schema
	}
	if !core.IsNull(o.Model.Request) && !isObject(o.Model.Request) {
		return nil, errors.New("bedrock: model.request must be a JSON object with fields of the model's own request")
	}
	return m, nil
}

// Ask implements [engine.Model]. It stops after [mostTries] failed requests or [longestTrying]; a
// failure that remains is a [*engine.TryLater]. If some text was already streamed, a retry begins
// with a restart. An answer that does not match the schema of the output is also a TryLater:
// Bedrock promises the form, and a model may still break it.
//
// A turn is complete: Bedrock said why the model stopped, and every call was closed. Calls run
// with any stop reason, because some models stop with "end_turn" although they call tools. A
// "tool_use" without a call is not a turn, because the call was lost.
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

// refusals are the features that a model has rejected.
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
