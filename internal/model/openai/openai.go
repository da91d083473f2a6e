// Package openai asks models behind endpoints that speak OpenAI's chat completions: Ollama, vLLM,
// gateways, and those that invented it. It speaks HTTP and server-sent events itself. What
// endpoints do differently it takes as they give it, and what some refuse it leaves out once they
// said so. It does not choose an endpoint, keeps no conversation, and decides nothing about a run.
//
// What an endpoint sends is untrusted: it is bounded, and no error that callers see holds any of
// it. The client of [Options] decides which addresses are asked. A base_url that is itself the
// address of a cloud's metadata service, or another link-local one, is refused.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// Provider is what reasoning parts of this package name as theirs.
const Provider = "openai"

// Options are what a model is made of. Clock and Random are required, and Secrets if the model
// names any.
type Options struct {
	Model agent.Model
	// connects to the endpoint, see package netguard; nil: one that reaches public addresses
	// only
	HTTP    *http.Client
	Secrets secret.Source // asked at every call
	Clock   engine.Clock
	Random  engine.Random
	Logger  *slog.Logger // nil: nothing is logged
}

// Model is a model behind one endpoint. Safe for concurrent use.
type Model struct {
	o       Options
	client  *http.Client
	url     *url.URL
	headers []header
	names   []string // of the secrets
	further map[string]json.RawMessage
	output  *jsonschema.Resolved
	most    bounds

	// What the endpoint said that it does not take. It is learnt anew in every process, which
	// costs one refused request.
	noUsageOption, noReasoning atomic.Bool
}

type header struct {
	name  string
	value agent.Template
}

var _ engine.Model = (*Model)(nil)

// New makes a model, and asks no server anything. An error is about the definition, and may be
// shown to whoever wrote it.
func New(o Options) (*Model, error) {
	if o.Clock == nil || o.Random == nil {
		return nil, errors.New("openai: a model needs a clock and a source of randomness; the program that puts it together gives none")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Model{o: o, most: usual}
	for _, read := range []func() error{m.readURL, m.readHeaders, m.readRequest, m.readOutput} {
		if err := read(); err != nil {
			return nil, fmt.Errorf("openai: %w", err)
		}
	}
	if o.Secrets == nil && len(m.names) > 0 {
		return nil, errors.New("openai: the model names a secret, and this program has no place to look it up")
	}
	m.client = confined(o)
	return m, nil
}

// readURL errs without the URL: a mistaken one may hold a password.
func (m *Model) readURL() error {
	if m.o.Model.ID == "" {
		return errors.New("the model has no name; write model: what the endpoint calls it")
	}
	const hint = "write the address up to where /chat/completions follows, as http://localhost:11434/v1"
	u, err := url.Parse(m.o.Model.BaseURL)
	switch {
	case m.o.Model.BaseURL == "":
		return errors.New("the model has no base_url; " + hint)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("base_url is no http or https URL; " + hint)
	case u.User != nil:
		return errors.New("base_url holds a user name or a password; put it into a secret and name that in headers")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && netguard.Metadata(a) {
		return errors.New("base_url is the address of a cloud's metadata service, or another link-local one, which is never asked; use another address of the endpoint")
	}
	u.Fragment = ""
	m.url = u.JoinPath("chat", "completions")
	return nil
}

// ownHeaders are those that say what is in a request, or where it ends.
var ownHeaders = []string{"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade"}

func (m *Model) readHeaders() error {
	if m.o.Model.APIKey != "" {
		m.names = append(m.names, m.o.Model.APIKey)
	}
	for _, name := range slices.Sorted(maps.Keys(m.o.Model.Headers)) {
		value, err := agent.ReadTemplate(m.o.Model.Headers[name])
		switch {
		case err != nil:
			return fmt.Errorf("the header %s: %w", name, err)
		case len(value.Arguments()) > 0:
			return fmt.Errorf("the header %s has a placeholder for an argument, and a model has none; write {secret:NAME} for a secret", name)
		case !headerName(name) || slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("the header %q cannot be set here; remove it", name)
		case strings.ContainsFunc(m.o.Model.Headers[name], func(r rune) bool { return r < ' ' || r > '~' }):
			return fmt.Errorf("the header %s is not one line of plain ASCII text", name)
		}
		m.headers = append(m.headers, header{name, value})
		for _, s := range value.Secrets() {
			if !slices.Contains(m.names, s) {
				m.names = append(m.names, s)
			}
		}
	}
	return nil
}

func headerName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func (m *Model) readRequest() error {
	if core.IsNull(m.o.Model.Request) {
		return nil
	}
	if err := json.Unmarshal(m.o.Model.Request, &m.further); err != nil {
		return errors.New("request is no object; write members of the endpoint's request")
	}
	return nil
}

func (m *Model) readOutput() error {
	if core.IsNull(m.o.Model.Output) {
		return nil
	}
	var schema jsonschema.Schema
	err := json.Unmarshal(m.o.Model.Output, &schema)
	if err == nil {
		m.output, err = schema.Resolve(nil)
	}
	if err != nil {
		return fmt.Errorf("output is no JSON Schema that can be used: %w", err)
	}
	return nil
}

// Ask implements [engine.Model]. It sends the request up to three times, as long as the trouble is
// one that passes and a few seconds are not over. The error of a ctx that ended is its cause. Where
// an endpoint refuses a member that not all know, the request is sent once more without it, and
// from then on none has it.
func (m *Model) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	secrets, err := m.values(ctx)
	if err != nil {
		return core.Turn{}, err
	}
	c, err := m.compose(p)
	if err != nil {
		return core.Turn{}, err
	}
	c.secrets, c.say = secrets, speaker{say: p.Say, secrets: secrets}
	turn, err := c.run(ctx)
	if ctx.Err() != nil && err != nil {
		return core.Turn{}, stopped(ctx, err)
	}
	return redacted(turn, secrets), err
}

// stopped is the error of an answer that ctx ended.
func stopped(ctx context.Context, err error) error {
	var t *trouble
	if errors.As(err, &t) && t.later != nil && t.later.Answered {
		return &engine.CutShort{Cause: context.Cause(ctx)}
	}
	return context.Cause(ctx)
}

func (m *Model) values(ctx context.Context) (secret.Values, error) {
	if len(m.names) == 0 {
		return nil, nil
	}
	values, err := m.o.Secrets.Values(ctx, m.names)
	switch {
	case err == nil:
		return values, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, secret.ErrUnavailable):
		return nil, &engine.TryLater{Detail: err.Error(), Cause: errors.Unwrap(err)}
	}
	return nil, &engine.ModelError{Detail: "the model's endpoint was not asked: " + err.Error()}
}
