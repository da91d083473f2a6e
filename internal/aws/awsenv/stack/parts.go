package stack

import (
	"io"
	"log/slog"

	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/queue/sqsqueue"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/livetext"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/meter"
)

// Parts are the parts that every function has.
type Parts struct {
	Settings
	Store *dynamo.Store
	Wake  *sqsqueue.Wake // queue of the wake-ups of runs
	Lines *sqsqueue.Wake // queue of the wake-ups of delivery lines
	Waker sqsqueue.Apart // sends each wake-up to its queue
	// Clock of the engine and the frontend: the machine's, unless a test sets another
	Clock   engine.Clock
	Random  Random
	Metrics *emf.Metrics
	Units   *meter.Meter   // meters requests to the table
	Live    *livetext.Text // nil where live text is off
	Logger  *slog.Logger
}

// Random is the source of ids and of keys.
type Random interface {
	engine.Random
	Bytes(b []byte) // fills b
}

// Open creates the parts. Log lines and metrics go to out, which is the function's standard output.
// It makes no network request.
func Open(s Settings, out io.Writer) Parts {
	units := meter.New(s.DynamoDB())
	wake, lines := sqsqueue.NewWake(s.SQS(), s.WakeQueue), sqsqueue.NewWake(s.SQS(), s.NotifyQueue)
	table := dynamo.Options{Table: s.Table, Shards: s.Shards, Reads: mostShards, Clock: machine.Clock{}, Random: machine.Random{}}
	var live *livetext.Text
	if s.LiveText > 0 {
		live = livetext.New(livetext.Options{API: units, Table: s.Table, Clock: machine.Clock{}, Pause: s.LiveText})
		table.Seen = live.Seen
	}
	return Parts{Settings: s, Units: units, Clock: machine.Clock{}, Random: machine.Random{}, Store: dynamo.New(units, table), Live: live,
		Wake: wake, Lines: lines, Waker: sqsqueue.Apart{Runs: wake, Lines: lines},
		Metrics: emf.New(out, s.Stack, machine.Clock{}.Now).Of(s.Function, s.Published), Logger: s.Logger(out)}
}
