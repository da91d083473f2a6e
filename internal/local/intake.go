package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// How the server takes from the intake queue. Other processes put messages in, and are not heard;
// so the queue is looked at.
const (
	intakeBatch    = 32
	intakePoll     = 250 * time.Millisecond
	intakeCrowded  = 10 * time.Millisecond
	intakeFailures = 20

	// perWorker is how many wake-ups of a tenant may wait for each worker while its runs of the
	// queue are started. Fewer would leave workers idle; with more, runs that a person waits
	// for would start later.
	perWorker = 2
)

// pumpFor returns a pump that starts the runs that the intake queue requests. It may be interrupted
// anywhere: a message that is not settled is delivered again, and starts no second run.
func pumpFor(db *sqlite.DB, starter intake.Starter, o Options) *intake.Pump {
	p := newPump(db, starter, perWorker*o.workers(), o.Logger)
	p.See = o.command("enqueue --dead --data", o.Data)
	return p
}

// newPump starts runs of a tenant while fewer than most of its wake-ups wait.
func newPump(db *sqlite.DB, starter intake.Starter, most int, log *slog.Logger) *intake.Pump {
	queue := db.Intake().Limited(most)
	return &intake.Pump{Queue: queue, Handler: &intake.Handler{Starter: starter, Log: log, MaxFailures: intakeFailures}, Clock: machine.Clock{}, Log: log,
		Room: queue.Room, Batch: intakeBatch, Poll: intakePoll, Crowded: intakeCrowded}
}

// Intake is the intake queue of a data directory, for a process that is not a server.
//
// It takes no share of the directory: it claims nothing, and only adds rows in transactions that
// SQLite serializes. With a share, a killed server that restarts would not be alone on the
// directory, and its runs would wait for the end of their leases.
type Intake struct {
	*sqlite.Intake
	db *sqlite.DB
}

// OpenIntake opens the intake queue of a data directory. If there is no store, it creates one if
// create is set, and otherwise returns [fs.ErrNotExist].
func OpenIntake(ctx context.Context, dir string, create bool) (*Intake, error) {
	file := filepath.Join(dir, "dormouse.db")
	if _, err := os.Stat(file); !create && errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the data directory: %w", err)
	}
	db, err := sqlite.Open(ctx, file, sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}})
	if err != nil {
		return nil, err
	}
	return &Intake{Intake: db.Intake(), db: db}, nil
}

// Close closes the file.
func (i *Intake) Close() error { return i.db.Close() }

// Agents returns the names of the agents that are deployed to a tenant. There are none before the
// first server has started.
func (i *Intake) Agents(ctx context.Context, tenant string) (map[string]bool, error) {
	deployed, err := i.db.Deployed(ctx, tenant)
	names := map[string]bool{}
	for _, d := range deployed {
		names[d.Name] = true
	}
	return names, err
}

// Messages checks messages without a data directory. It holds no state.
type Messages struct{ front *frontend.Frontend }

// Check reads a message and returns what would keep every server from starting it, as a
// [*refusal.Error]. It does not look at deployed agents or anything else that is stored.
func (m Messages) Check(ctx context.Context, body []byte) (intake.Message, error) {
	read, err := intake.Read(body)
	if err != nil {
		return read, err
	}
	_, err = m.front.Start(ctx, frontend.Caller{}, read.IdempotencyKey, read.StartRequest)
	if errors.Is(err, errUnasked) {
		err = nil
	}
	return read, err
}

// NewMessages returns a checker with the same frontend as the server's, but without a store.
func NewMessages() Messages {
	return Messages{frontend.New(frontend.Options{Store: unasked{}, Clock: machine.Clock{}, Random: machine.Random{}, Narrow: func(raw json.RawMessage) error {
		_, err := agentfile.ParseNarrow(raw)
		return err
	}})}
}

// errUnasked says that a request passed all checks that come before the store is read.
var errUnasked = errors.New("local: the store is not asked")

// unasked is a store that returns errUnasked from its first read, because a request is checked
// before anything is read for it.
type unasked struct{ frontend.Store }

func (unasked) Load(context.Context, string, string) (core.Head, error) {
	return core.Head{}, errUnasked
}
