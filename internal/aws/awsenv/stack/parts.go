package stack

import (
	"io"
	"log/slog"

	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/queue/sqsqueue"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// Parts are what every function works with.
type Parts struct {
	Settings
	Store *dynamo.Store
	Wake  *sqsqueue.Wake
	// of the engine and the frontend: the machine's, unless a test brings its own
	Clock   engine.Clock
	Random  Random
	Metrics *emf.Metrics
	Units   *dynamo.Meter // of the table's requests
	Logger  *slog.Logger
}

// Random is the source of ids and of keys.
type Random interface {
	engine.Random
	Bytes(b []byte) // fills b
}

// Open makes the parts. Lines of the log and of metrics go to out, which is the function's standard
// output. It asks no server anything.
func Open(s Settings, out io.Writer) Parts {
	units := dynamo.NewMeter(s.DynamoDB())
	return Parts{Settings: s, Units: units, Clock: machine.Clock{}, Random: machine.Random{}, Store: dynamo.New(units, dynamo.Options{Table: s.Table, Clock: machine.Clock{}, Random: machine.Random{}}),
		Wake:    sqsqueue.NewWake(s.SQS(), s.WakeQueue),
		Metrics: emf.New(out, s.Stack, machine.Clock{}.Now), Logger: s.Logger(out)}
}
