// Package openai calls models behind endpoints with the API of OpenAI's chat completions: OpenAI,
// Ollama, vLLM and gateways. It implements HTTP and server-sent events itself. It accepts the
// variants of different endpoints, and omits a member of the request once an endpoint has rejected
// it. It does not choose an endpoint, stores no conversation, and makes no decision about a run.
//
// What an endpoint sends is untrusted: it is limited in size, and no error for callers contains any
// of it. The client of [Options] decides which addresses are reached. A base_url that is the
// address of a cloud's metadata service, or another link-local address, is refused.
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
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// Provider marks the reasoning parts of this package.
const Provider = "openai"

// Options configure a model. Clock and Random are required, and Secrets if the model names any.
type Options struct {
	Model agent.Model
	// HTTP connects to the endpoint, see package netguard; nil reaches public addresses only
	HTTP    *http.Client
	Secrets secret.Source // read at every call
	Clock   engine.Clock
	Random  engine.Random
	Logger  *slog.Logger // nil drops the log
}

// Model is a model behind one endpoint. It is safe for concurrent use.
type Model struct {
	o       Options
	client  *http.Client
	url     *url.URL
	headers []header
	names   []string // of secrets
	further map[string]json.RawMessage
	output  *jsonschema.Resolved
	most    bounds

	// What the endpoint does not support. Every process learns it again, at the cost of one
	// rejected request.
	noUsageOption, noReasoning atomic.Bool

	noEnd atomic.Bool // the endpoint leaves streams open after their last event
}

type header struct {
	name  string
	value placeholder.Template
}

var _ engine.Model = (*Model)(nil)

// New returns a model. It makes no request. The error describes a mistake in the definition and may
// be shown to its author.
func New(o Options) (*Model, error) {
	if o.Clock == nil || o.Random == nil {
		return nil, errors.New("openai: Options.Clock and Options.Random are required")
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
		return nil, errors.New("openai: the model names a secret, but Options.Secrets is not set")
	}
	m.client = confined(o)
	return m, nil
}

// readURL returns errors without the URL, which may contain a password.
func (m *Model) readURL() error {
	if m.o.Model.ID == "" {
		return errors.New("the model has no name; set model to the name that the endpoint uses")
	}
	const hint = "use the address without /chat/completions, such as http://localhost:11434/v1"
	u, err := url.Parse(m.o.Model.BaseURL)
	switch {
	case m.o.Model.BaseURL == "":
		return errors.New("the model has no base_url; " + hint)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("base_url is not an http or https URL; " + hint)
	case u.User != nil:
		return errors.New("base_url contains a user name or a password; store it in a secret and name that secret in headers")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && netguard.Metadata(a) {
		return errors.New("base_url is a cloud's metadata service or another link-local address, which is never called; use another address of the endpoint")
	}
	u.Fragment = ""
	m.url = u.JoinPath("chat", "completions")
	return nil
}

// ownHeaders are the headers that describe the request or delimit it.
var ownHeaders = []string{"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade"}

func (m *Model) readHeaders() error {
	if m.o.Model.APIKey != "" {
		m.names = append(m.names, m.o.Model.APIKey)
	}
	for _, name := range slices.Sorted(maps.Keys(m.o.Model.Headers)) {
		value, err := placeholder.Read(m.o.Model.Headers[name])
		switch {
		case err != nil:
			return fmt.Errorf("the header %s: %w", name, err)
		case len(value.Arguments()) > 0:
			return fmt.Errorf("the header %s has a placeholder for an argument, but a model has no arguments; use {secret:NAME} for a secret", name)
		case !headerName(name) || slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("the header %q cannot be set here; remove it", name)
		case strings.ContainsFunc(m.o.Model.Headers[name], func(r rune) bool { return r < ' ' || r > '~' }):
			return fmt.Errorf("the header %s is not one line of printable ASCII", name)
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
		return errors.New("request must be an object with members of the endpoint's request")
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
		return fmt.Errorf("output is not a valid JSON Schema: %w", err)
	}
	return nil
}

// Ask implements [engine.Model]. It sends the request up to three times within a few seconds, as
// long as the trouble is temporary. If ctx ends, the error is its cause. If an endpoint rejects an
// optional member, Ask sends the request once more without it, and later requests omit it.
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

// stopped returns the error of an answer that ctx ended.
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
	return nil, &engine.ModelError{Detail: "the model's endpoint was not called: " + err.Error()}
}
