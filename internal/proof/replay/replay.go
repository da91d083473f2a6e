// Package replay runs recorded conversations again on the real engine, store, queue and API, and
// compares the results with the recording. Each conversation becomes a thread, and each user
// message a run. Recorded turns play the model, and recorded results play the tools. Calls can
// require approval; simulated callers then approve, edit, deny, answer late or not at all, and each
// call is checked against its decision. With faults, workers crash and messages get lost on a
// virtual clock, in an order that the seed decides.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// Options say what to replay and how rough.
type Options struct {
	File     string   // of recorded conversations; not read if Conversations are given
	Gate     []string // tools that wait for an approval; all others are allowed
	Faults   float64  // chance that an operation of the store or queue goes wrong
	Seed     uint64
	Workers  int // 4 if zero
	Limit    int // only the first so many conversations; 0 for all
	Progress func(done, total int)

	// What callers do about a gated call, each with its probability: they stay silent until its
	// deadline has passed, and then half of them answer; or else deny it; or else approve it
	// with edited arguments. 0 is never.
	Deadlines, Denials, Edits float64

	Parallel bool // the calls of a round run side by side
	Modes    bool // how the decision on a gated call is used varies from call to call

	// Through is the provider whose real client the model is asked with, over a double of the
	// provider: [ThroughBedrock], [ThroughOpenAI] or "". With it, Faults is also the chance
	// that a request to the model goes wrong.
	Through string

	Conversations []recording.Conversation
}

// Timing on the virtual clock.
const (
	lease       = 30 * time.Second
	margin      = 2 * time.Second
	sweepPeriod = 5 * time.Second
	visibility  = 45 * time.Second
	workerPause = 200 * time.Millisecond
)

// unlimited are the limits of a replay: faults here are many and innocent.
var unlimited = plans.Limits{BodyTries: 1 << 30, Claims: 1 << 30, ModelTries: 1 << 30, Calls: 1 << 20, Outage: 1 << 60}

// Run replays. An error means that it could not be carried out; what it found is in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	began := time.Now()
	if o.Conversations == nil {
		var err error
		if o.Conversations, err = readFile(o.File); err != nil {
			return Report{}, err
		}
	}
	if o.Conversations = o.limited(); o.Through != "" {
		o.Conversations = asAProviderSays(o.Conversations)
	}
	dir, err := os.MkdirTemp("", "dormouse-replay-")
	if err != nil {
		return Report{}, err
	}
	defer os.RemoveAll(dir)
	s, err := build(ctx, o, filepath.Join(dir, "replay.db"))
	if err != nil {
		return Report{}, err
	}
	defer s.db.Close()
	report, err := s.play(ctx)
	report.Seconds = time.Since(began).Seconds()
	return report, err
}

// limited are the conversations that count.
func (o Options) limited() []recording.Conversation {
	if o.Limit > 0 && o.Limit < len(o.Conversations) {
		return o.Conversations[:o.Limit]
	}
	return o.Conversations
}

func readFile(file string) ([]recording.Conversation, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return recording.Read(f, file)
}

// stage is the whole system in one process.
type stage struct {
	o      Options
	world  *sim.World
	faults *sim.Faults
	db     *sqlite.DB
	cast   *cast
	engine *engine.Engine
	queue  sim.Queue
	store  sim.Store
	client *client.Client
	report Report
}

func build(ctx context.Context, o Options, file string) (*stage, error) {
	w := sim.NewWorld(o.Seed)
	faults := sim.NewFaults(w, o.Faults)
	db, err := sqlite.Open(ctx, file, sqlite.Options{Clock: w, Random: w, Sync: dbfile.SyncOff, Visibility: visibility, MaxAttempts: 1 << 30})
	if err != nil {
		return nil, err
	}
	s := &stage{o: o, world: w, faults: faults, db: db, cast: newCast(o),
		store: sim.Store{Inner: db, Faults: faults}, queue: sim.Queue{Inner: db, Faults: faults}}
	if err := s.wire(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.engine = engine.New(engine.Options{Store: s.store, Waker: s.queue, Agents: s.cast, Clock: w, Random: w,
		Lease: lease, Margin: margin, Grain: sweepPeriod, Limits: unlimited, Scheduler: w})
	abort := func(string) { panic(http.ErrAbortHandler) }
	front := frontend.New(frontend.Options{Store: sim.Store{Inner: db, Faults: faults, Lose: abort},
		Catalog: s.cast, Waker: sim.Queue{Inner: db, Faults: faults, Lose: abort}, Clock: w, Random: w, Limits: frontend.Limits{Pages: inNobodysWay}})
	api, err := httpapi.New(httpapi.Options{Frontend: front, Clock: w, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.client = client.New("http://127.0.0.1", client.WithHTTPClient(&http.Client{Transport: direct{api}}), client.WithRetries(0))
	return s, nil
}

// wire puts the provider's wire before the recorded models, if one is asked for.
func (s *stage) wire() error {
	if s.o.Through == "" {
		return nil
	}
	ws := newWires(s)
	for i, c := range s.o.Conversations {
		m, err := ws.wired(i, c)
		if err != nil {
			return err
		}
		s.cast.through(agentName(i), c, m)
	}
	return nil
}

// inNobodysWay: readers that waited for one another would do so outside of the simulated world,
// which then stands still.
const inNobodysWay = 1 << 20

// play lets everybody act until each conversation is through, then compares.
func (s *stage) play(ctx context.Context) (Report, error) {
	for i := range cmp.Or(s.o.Workers, 4) {
		s.world.Daemon(ctx, fmt.Sprintf("worker %d", i), s.worker)
	}
	s.world.Daemon(ctx, "sweep", s.sweeper)
	for i, c := range s.o.Conversations {
		a := &actor{s: s, conversation: c, name: agentName(i)}
		s.world.Go(ctx, "caller of "+c.ID, a.act)
	}
	err := s.world.Run(0)
	s.report.Conversations = len(s.o.Conversations)
	s.report.Faults = s.faults.Counts
	s.report.Operations = s.faults.Ops
	s.cast.settle(&s.report)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return s.report, err
}

// worker takes one message after the other, as a function platform would hand them out. When its
// process is lost, another one takes its place a little later.
func (s *stage) worker(ctx context.Context) {
	for ctx.Err() == nil {
		worked, lost := s.once(ctx)
		if lost || !worked {
			_ = s.world.Sleep(ctx, workerPause)
		}
	}
}

func (s *stage) once(ctx context.Context) (worked, lost bool) {
	defer func() {
		lost = crashed(recover())
	}()
	got, err := s.queue.Receive(ctx, 1)
	if err != nil || len(got) == 0 {
		return false, false
	}
	if _, err := s.engine.Step(ctx, got[0].Wakeup); err != nil {
		_ = s.queue.Nack(ctx, got[0], time.Second, err.Error())
		s.report.failed(err)
		return true, false
	}
	_ = s.queue.Ack(ctx, got[0])
	return true, false
}

func (s *stage) sweeper(ctx context.Context) {
	for ctx.Err() == nil {
		func() {
			defer func() { crashed(recover()) }()
			_ = sweeper.Sweep(ctx, s.store, s.queue, s.world, sweepPeriod)
		}()
		_ = s.world.Sleep(ctx, sweepPeriod)
	}
}

// crashed says whether a recovered value is a process that was lost; anything else goes on
// panicking.
func crashed(p any) bool {
	if p == nil {
		return false
	}
	if _, ok := p.(sim.Crash); !ok {
		panic(p)
	}
	return true
}

// failed notes a step that gave its message back for another reason than a store that did not
// answer.
func (r *Report) failed(err error) {
	if !errors.Is(err, engine.ErrUnavailable) && len(r.Errors) < 20 {
		r.Errors = append(r.Errors, err.Error())
	}
}
