package bedrock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/bedrock"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

const modelID = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"

// The credentials of the tests. Nobody may see them again.
const (
	plantedKey     = "AKIDPLANTED"
	plantedSecret  = "planted-secret-of-the-account"
	plantedSession = "planted-session-token"
)

// client is the real client, and what answers it is h, in this process.
func client(h http.Handler) *bedrockruntime.Client {
	return clientAt("http://bedrock.test", &http.Client{Transport: modeldouble.Transport(h)})
}

func clientAt(address string, c *http.Client) *bedrockruntime.Client {
	return bedrockruntime.New(bedrockruntime.Options{Region: "eu-central-1", BaseEndpoint: &address, HTTPClient: c,
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider(plantedKey, plantedSecret, plantedSession))})
}

// clock stands still but when somebody sleeps.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	armed func(f func()) // told of each timer; nil: none ever fires
}

func newClock() *clock { return &clock{now: time.Unix(1_800_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) AfterFunc(_ time.Duration, f func()) func() {
	if c.armed != nil {
		c.armed(f)
	}
	return func() {}
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

type random struct{}

func (random) Text(n int) string { return string(bytes.Repeat([]byte("q"), n)) }

// rig is a model, the double that it asks, and what they left behind.
type rig struct {
	*bedrock.Model
	clock *clock
	log   bytes.Buffer

	mu    sync.Mutex
	asked []modeldouble.Asked
	say   []modeldouble.Said
	head  http.Header // of every answer
}

// newRig says what is given, in order; the last of it again and again.
func newRig(t testing.TB, m agent.Model, say ...modeldouble.Said) *rig {
	t.Helper()
	if m.ID == "" {
		m.ID = modelID
	}
	r := &rig{clock: newClock(), say: say, head: http.Header{}}
	made, err := bedrock.New(client(r), bedrock.Options{Model: m, Clock: r.clock, Random: random{}, Logger: slog.New(slog.NewTextHandler(&r.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	r.Model = made
	return r
}

// ServeHTTP answers as the double does.
func (r *rig) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	for name, values := range r.head {
		w.Header()[name] = values
	}
	modeldouble.Bedrock(r.answer).ServeHTTP(w, req)
}

func (r *rig) answer(a modeldouble.Asked) modeldouble.Said {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, a)
	return r.say[min(len(r.asked), len(r.say))-1]
}

func (r *rig) last() modeldouble.Asked { return r.asked[len(r.asked)-1] }

// ask asks what is right, and must be answered.
func (r *rig) ask(t testing.TB, p engine.Prompt) core.Turn {
	t.Helper()
	turn, err := r.Ask(t.Context(), p)
	if err != nil {
		t.Fatalf("%v\nlog:\n%s", err, r.log.String())
	}
	return turn
}

func said(text string, calls ...core.ToolCall) modeldouble.Said {
	return modeldouble.Said{Turn: core.Turn{Text: text, Calls: calls, InputTokens: 30, OutputTokens: 7, CacheRead: 10, CacheWritten: 5}}
}

func call(id, name, arguments string) core.ToolCall {
	return core.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

func user(text string) core.Message {
	return core.Message{Role: core.RoleUser, Parts: core.TextParts(text)}
}

func assistant(text string, calls ...core.ToolCall) core.Message {
	return core.Message{Role: core.RoleAssistant, Parts: core.TextParts(text), Calls: calls}
}

func result(c core.ToolCall, text string) core.Message {
	return core.Message{Role: core.RoleTool, CallID: c.ID, Tool: c.Name, Parts: core.TextParts(text)}
}

func prompt(messages ...core.Message) engine.Prompt {
	return engine.Prompt{Tenant: "acme", Thread: "thread_1", Run: "run_1", Step: 3, Instructions: "Be brief.", Messages: messages}
}

// modes runs a test for both operations.
func modes(t *testing.T, f func(t *testing.T, m agent.Model)) {
	t.Run("streamed", func(t *testing.T) { f(t, agent.Model{}) })
	t.Run("whole", func(t *testing.T) { f(t, agent.Model{Whole: true}) })
}
