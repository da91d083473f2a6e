package awsenv

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/dormouse-dev/dormouse/internal/aws/xray"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/runcontrol"
)

// Timing of the step function. The deadline of an invocation limits its activation.
const (
	// margin is reserved for committing what was done.
	margin = 10 * time.Second

	// skew is the maximum difference between the clocks of two machines.
	skew = 5 * time.Second

	// grain is the period of the sweep, see docs/how-it-works/architecture.md. A run whose
	// owner crashed continues within the rest of its lease plus two of these.
	grain = time.Minute

	// watch is how often a run is checked for a cancel while the model or a tool is working.
	watch = 2 * time.Second
)

// Step has the parts of the step function.
type Step struct {
	parts
	control engine.RunControl // nil without one
	tracer  engine.Tracer     // nil where tracing is off
	command string            // the command in hints about answers
	warm    int               // bytes of journals that are kept between steps
	// who is notified of what happens in a run
	subscribers engine.Subscribers
	// where remote agents say that there is news; nil without a public address
	news func(tenant, run, token string) string
}

// NewStep assembles the parts. Log lines and metrics go to out. It makes no network request.
func NewStep(s Settings, register Register, deps Dependencies, out io.Writer) (Step, error) {
	p, err := open(s, register, &deps, out)
	made := Step{parts: p, control: runcontrol.Guard(deps.Control, p.Clock, p.Logger),
		command: cmp.Or(deps.Command, "dormouse"), warm: s.Memory / 16, subscribers: withSinks{p.subscribers(), s.Sinks.Subscriptions()}, news: s.Public.Pushes()}
	if s.TraceDaemon != "" {
		made.tracer = xray.New(s.TraceDaemon, p.Clock.Now, p.Random.Bytes)
	}
	return made, err
}

// Engines returns a function that returns an engine for the log of one invocation. All of them
// share what this process knows of its threads.
func (s Step) Engines() func(log *slog.Logger) *engine.Engine {
	var live engine.Live // nil where it is off
	if s.Live != nil {
		live = s.Live
	}
	shared := engine.New(engine.Options{Live: live, Warm: s.warm, Store: s.Store, Earlier: s.Store, Waker: s.Waker, Agents: s.Agents, Clock: s.Clock, Random: s.Random,
		Lines: s.Store, Subscribers: s.subscribers, News: s.news, Control: s.control, Newest: s.Store, Tracer: s.tracer, Margin: margin, Skew: skew, Grain: grain, Watch: watch})
	return func(log *slog.Logger) *engine.Engine { return shared.Logging(log, announce(log, s.command)) }
}

// announce logs that a call waits for an answer.
func announce(log *slog.Logger, command string) func(engine.WaitingCall) {
	return func(what engine.WaitingCall) {
		log.Info("a call waits for an answer", "run", what.Run, "thread", what.Thread, "tool", what.Call.ToolName, "kind", what.Call.Kind.String(),
			"answer", fmt.Sprintf("%s decide %s %s", command, what.Run, what.Call.Suspension.ID))
	}
}
