package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/bedrock"
	"github.com/dormouse-dev/dormouse/internal/model/openai"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// Providers whose wire a replay can go through.
const (
	ThroughBedrock = bedrock.Provider
	ThroughOpenAI  = openai.Provider
)

// wires put a provider's real client, and a double of the provider behind it, between the engine
// and the recorded turns.
//
//	engine ── Prompt ── client ── request ── double: same as the prompt? ── recorded turn
//	engine ──── Turn ── client ── frames, broken ones too ── double ───────────────┘
//
// All of it is in this process. Exactly one task of the world runs while a request is under way,
// since only the task that sent it waits for it; so what the double draws and counts needs no lock,
// and a seed repeats it. The client's clock is the world's: between two tries of one call, others
// have their turn.
type wires struct {
	s   *stage
	rng *rand.Rand
}

func newWires(s *stage) *wires { return &wires{s, rand.New(rand.NewPCG(s.o.Seed, 0x317e))} }

// asAProviderSays are the conversations with no arguments where null was recorded: to the clients,
// the two are the same.
func asAProviderSays(conversations []recording.Conversation) []recording.Conversation {
	out := slices.Clone(conversations)
	for i, c := range out {
		out[i].Messages = slices.Clone(c.Messages)
		for n, m := range c.Messages {
			calls := slices.Clone(m.Calls)
			for at := range calls {
				if core.IsNull(calls[at].Arguments) {
					calls[at].Arguments = json.RawMessage("{}")
				}
			}
			out[i].Messages[n].Calls = calls
		}
	}
	return out
}

// providerWire is the way to one conversation's model.
type providerWire struct {
	*wires
	recorded engine.Model
	unique   engine.Model // the same, with ids as the runtime has them
	client   engine.Model
	outage   int // so many more requests fail
}

// wired is the recorded model of the i-th conversation behind a wire. Some are asked for whole
// answers, and not all endpoints are alike.
func (ws *wires) wired(i int, c recording.Conversation) (engine.Model, error) {
	w := &providerWire{wires: ws, recorded: c.Model()}
	c.Messages = recording.UniqueIDs(c.Messages)
	w.unique = c.Model()
	m := agent.Model{Provider: ws.s.o.Through, ID: "recorded-1:0", Whole: i%5 == 4}
	var err error
	switch ws.s.o.Through {
	case ThroughBedrock:
		w.client, err = bedrock.New(w.bedrock(), bedrock.Options{Model: m, Clock: ws.s.world, Random: ws.s.world})
	case ThroughOpenAI:
		m.BaseURL = "http://127.0.0.1/v1"
		w.client, err = openai.New(openai.Options{Model: m, HTTP: w.http(quirks[i%len(quirks)].Handler), Clock: ws.s.world, Random: ws.s.world})
	default:
		err = fmt.Errorf("there is no wire of %q; it is %s or %s", ws.s.o.Through, ThroughBedrock, ThroughOpenAI)
	}
	return w, err
}

// quirks are endpoints that do things differently, and mean the same.
var quirks = []modeldouble.OpenAIQuirks{{}, {Tight: true}, {NoDone: true, NoStreamOptions: true}, {Unstreamed: true}, {Calls: []string{"id"}}}

func (w *providerWire) bedrock() bedrock.Client {
	return bedrockruntime.New(bedrockruntime.Options{Region: "eu-central-1", BaseEndpoint: aws.String("http://127.0.0.1"), HTTPClient: w.http(modeldouble.Bedrock),
		Credentials: credentials.NewStaticCredentialsProvider("replay", "replay", "")})
}

func (w *providerWire) http(speaks func(modeldouble.Answer) http.Handler) *http.Client {
	return &http.Client{Transport: modeldouble.Transport(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p, _ := r.Context().Value(promptKey{}).(engine.Prompt)
		speaks(func(asked modeldouble.Asked) modeldouble.Said { return w.answer(p, asked) }).ServeHTTP(rw, r)
	}))}
}

// promptKey is where a request's context has the prompt that it was made of.
type promptKey struct{}

// Ask implements [engine.Model]. Where the recording has no turn, a provider has no words for that,
// and is not asked.
func (w *providerWire) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	if _, err := w.recorded.Ask(ctx, p); err != nil {
		return core.Turn{}, err
	}
	heard := &strings.Builder{}
	p.Say = func(d engine.Delta) {
		if d.Restart {
			heard.Reset()
		}
		if d.Kind == core.TextPart {
			heard.WriteString(d.Text)
		}
	}
	w.s.world.Yield(ctx)
	turn, err := w.client.Ask(context.WithValue(ctx, promptKey{}, p), p)
	if err == nil && heard.Len() > 0 && heard.String() != turn.Text {
		w.bent(p, "readers were told %q while the model spoke, and its turn says %q", heard, turn.Text)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrTryAgain) {
		w.bent(p, "the client gave up: %v", err)
	}
	return turn, err
}

func (w *providerWire) bent(p engine.Prompt, format string, args ...any) {
	c := w.s.cast
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bent = append(c.bent, fmt.Sprintf("%s: step %d: %s", p.Run, p.Step, fmt.Sprintf(format, args...)))
}

// answer is the recorded turn for what is asked on the wire, which must be what the prompt says.
func (w *providerWire) answer(p engine.Prompt, asked modeldouble.Asked) modeldouble.Said {
	w.s.report.Requests++
	if why := sameOnTheWire(p, asked); why != "" {
		w.bent(p, "what was asked on the wire is not the prompt: %s", why)
	}
	turn, err := w.turn(p)
	if err != nil {
		w.bent(p, "the recording has no turn for what was asked on the wire: %v", err)
	}
	turn.InputTokens, turn.OutputTokens = int64(len(asked.Body)/4), int64(len(turn.Text)/4+1)
	said := modeldouble.Said{Turn: turn, Piece: []int{0, 1, 2, 7, 64}[w.rng.IntN(5)], Fault: w.fault()}
	if said.Fault != modeldouble.None {
		w.s.faults.Counts["wire: "+strings.ReplaceAll(string(said.Fault), "_", " ")]++
	}
	return said
}

// turn is the recorded one. No provider gives two calls of one turn the same id, as recordings may
// have it: then the ids are those that the runtime would make of them.
func (w *providerWire) turn(p engine.Prompt) (core.Turn, error) {
	turn, err := w.recorded.Ask(context.Background(), p)
	ids := map[string]bool{}
	for _, call := range turn.Calls {
		if ids[call.ID] {
			return w.unique.Ask(context.Background(), p)
		}
		ids[call.ID] = true
	}
	return turn, err
}

// breaks are what may go wrong on a wire and pass again; the last two are no failures.
var breaks = []modeldouble.Fault{modeldouble.Throttled, modeldouble.NotReady, modeldouble.TimedOut, modeldouble.ServerError, modeldouble.Unreachable,
	modeldouble.Cut, modeldouble.Aborted, modeldouble.HalfFrame, modeldouble.Garbled, modeldouble.LateThrottled, modeldouble.LateError,
	modeldouble.NoUsage, modeldouble.UnknownEvent}

// longOutage is more requests than a client sends before it gives the run up for a while.
const longOutage = 5

// fault is what becomes of a request. Some come several at once: what a client cannot sit out, the
// run must.
func (w *providerWire) fault() modeldouble.Fault {
	fails, kind, long := w.rng.Float64() < w.s.o.Faults, breaks[w.rng.IntN(len(breaks))], w.rng.IntN(4) == 0
	switch {
	case w.outage > 0:
		w.outage--
	case !fails:
		return modeldouble.None
	case long:
		w.outage = longOutage
	}
	return kind
}
