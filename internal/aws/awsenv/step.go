package awsenv

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/dormouse-dev/dormouse/internal/aws/xray"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/queue/sqsqueue"
)

// Timing of the step function. The deadline of an invocation says how long an activation may take.
const (
	// margin is kept of it for writing down what was done.
	margin = 10 * time.Second

	// skew is what the clocks of two machines may differ by.
	skew = 5 * time.Second

	// grain is the sweep's period: see docs/how-it-works/architecture.md. A run whose owner died goes on
	// within the rest of its lease and two of these.
	grain = time.Minute

	// watch is how often a run is read for a cancel while the model or a body works.
	watch = 2 * time.Second
)

// Step is what the step function is made of.
type Step struct {
	parts
	Frontend *frontend.Frontend // starts the runs of the intake queue
	Intake   *sqsqueue.Intake   // nil without one
	control  engine.RunControl  // nil without one
	tracer   engine.Tracer      // nil where tracing is off
	command  string             // what a person answers with
}

// NewStep makes it. Lines of the log and of metrics go to out. It asks no server anything.
func NewStep(s Settings, register Register, reach Reach, out io.Writer) (Step, error) {
	p, err := open(s, register, &reach, out)
	made := Step{parts: p, Frontend: p.frontend(), control: engine.GuardControl(reach.Control, p.Clock, p.Logger),
		command: cmp.Or(reach.Command, "dormouse")}
	if s.Intake.ARN != "" {
		made.Intake = sqsqueue.NewIntake(s.SQS(), s.Intake.URL, s.Intake.DeadURL, s.Intake.Tenant)
	}
	if s.TraceDaemon != "" {
		made.tracer = xray.New(s.TraceDaemon, p.Clock.Now, p.Random.Bytes)
	}
	return made, err
}

// Engine is an engine that writes to the log of one invocation.
func (s Step) Engine(log *slog.Logger) *engine.Engine {
	return engine.New(engine.Options{Store: s.Store, Waker: s.Wake, Agents: s.Agents, Clock: s.Clock, Random: s.Random, Logger: log,
		Notifier: notices{log, s.command}, Control: s.control, Newest: s.Store, Tracer: s.tracer, Margin: margin, Skew: skew, Grain: grain, Watch: watch})
}

// notices tells whoever reads the log that a call waits.
type notices struct {
	log     *slog.Logger
	command string
}

func (n notices) Notify(_ context.Context, what engine.Notice) error {
	n.log.Info("a call waits for an answer", "run", what.Run, "thread", what.Thread, "tool", what.Call.ToolName, "kind", what.Call.Kind.String(),
		"answer", fmt.Sprintf("%s decide %s %s", n.command, what.Run, what.Call.Suspension.ID))
	return nil
}
