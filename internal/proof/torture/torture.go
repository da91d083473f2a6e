package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// Options say what is tortured, and how. Either Command is set, or Client.
type Options struct {
	// Command makes the command line of a server of one's own that serves the agents of one
	// directory on the data of another, on a free port, lets their tools reach the service at a
	// host:port of this machine, and says where it listens as `dormouse dev --json` does. It is
	// killed Kills times; a life lasts at most Every.
	Command func(data, agents, service string) *exec.Cmd
	Kills   int
	Every   time.Duration
	Dir     string // where data and agents are put; must be there

	// Client reaches a server that somebody else runs, and kills. Callers start runs of Agents
	// with Input, and a mark behind it, for For. Ledger is a file to which its tools append
	// what they did, if there is one. With Own the server has the agents of [WriteAgents]:
	// those are run, Agents and Input are not looked at, and what their tools did is checked,
	// too.
	Client *client.Client
	Own    bool
	Agents []string
	Input  string
	Ledger string
	For    time.Duration

	Callers int
	// of what callers do and when the server is killed; what the operating system makes of it
	// is not repeatable
	Seed    uint64
	Session string // makes keys that nobody has used
	// how long runs may take to come to their end once the faults have stopped
	Patience time.Duration
	Progress func(Progress)
}

// Progress is how far it is.
type Progress struct {
	Kills, Of int // 0 of 0 if somebody else kills
	Took      time.Duration
	Count
}

// Report is what came out.
type Report struct {
	Held       bool        `json:"held"`
	Kills      int         `json:"kills"`
	Count                  // what was acknowledged
	Effects    int         `json:"effects"`  // marks that tools left outside of the system
	Notices    int         `json:"notices"`  // that arrived, those that came again included
	Children   int         `json:"children"` // runs that other runs had started
	GivenUp    int         `json:"given_up"`
	Seconds    float64     `json:"seconds"`
	Seed       uint64      `json:"seed"`
	Violations []Violation `json:"violations,omitempty"`
}

// Run tortures a server and checks what it has promised. An error means that nothing can be said:
// the server could not be started or reached, or ctx ended. That a server does not start again
// after a kill is no error but a violation.
func Run(ctx context.Context, o Options) (Report, error) {
	t, err := prepare(ctx, o)
	if err != nil {
		return Report{}, err
	}
	defer t.stop()
	began := time.Now()
	finished := t.tell(began)
	err = t.load(ctx)
	finished()
	report := Report{Kills: t.kills(), Count: t.kept.Count(), Seed: o.Seed}
	var found Evidence
	switch {
	case ctx.Err() != nil:
		return report, ctx.Err()
	case errors.Is(err, errDoesNotRise):
		report.Violations = []Violation{{Rule: "a killed server starts again", Promised: "a kill at any moment loses nothing", Found: err.Error()}}
	case err != nil:
		return report, err
	case report.Runs == 0:
		return report, errNothing
	default:
		found, err = t.look(ctx, o.Callers, o.Patience)
		switch {
		case err == nil:
			t.lookAtNotices(ctx, &found)
			report.Violations = append(t.panics(), Check(t.kept, found)...)
		case t.lives == nil || ctx.Err() != nil:
			return report, fmt.Errorf("looking at what is there: %w", err)
		default: // it runs, and nobody kills it any more
			report.Violations = append(t.panics(), Violation{Rule: "a server that is left alone answers", Promised: "what was acknowledged can be read",
				Found: fmt.Sprintf("no answer within %s: %v", o.Patience, err)})
		}
	}
	report.Held = len(report.Violations) == 0
	report.Notices, report.Children = len(found.Notices), found.childRuns()
	report.Effects, report.GivenUp = len(found.Effects), found.givenUp()
	report.Seconds = time.Since(began).Seconds()
	if !report.Held {
		return report, t.keep(found)
	}
	return report, nil
}

var errNothing = errors.New("the server has not acknowledged a single run, so there is nothing to hold it to")

// torment is one torture under way.
type torment struct {
	*world
	o       Options
	lives   *lives   // nil if somebody else kills
	service *Service // of the tools; nil as well
}

func prepare(ctx context.Context, o Options) (*torment, error) {
	w := &world{door: newDoor(), kept: &Promises{}, over: make(chan struct{}), session: o.Session, seed: o.Seed,
		agents: o.Agents, input: o.Input, ledger: o.Ledger}
	t := &torment{world: w, o: o}
	if o.Client != nil {
		if w.own, w.shared = o.Own, true; o.Own {
			w.agents = OwnAgents()
		}
		w.door.open(o.Client)
		_, err := o.Client.Health(ctx)
		return t, err
	}
	w.own, w.agents, w.ledger = true, OwnAgents(), filepath.Join(o.Dir, ownLedger)
	return t, t.begin()
}

// begin starts a server of its own, and the service that its tools ask.
func (t *torment) begin() (err error) {
	if t.service, err = Serve(t.ledger); err != nil {
		return fmt.Errorf("starting the service of the tools: %w", err)
	}
	data, agents := filepath.Join(t.o.Dir, "data"), filepath.Join(t.o.Dir, "agents")
	service := "http://" + t.service.Host()
	if err := writeAgents(agents, fmt.Sprintf(httpTools, service, true), fmt.Sprintf(ownNotify, service, true)); err != nil {
		return errors.Join(fmt.Errorf("writing the agents: %w", err), t.service.Close())
	}
	t.lives = &lives{command: func() *exec.Cmd { return t.o.Command(data, agents, t.service.Host()) }, settle: t.service.Settle,
		door: t.door, every: t.o.Every, random: rand.New(rand.NewPCG(t.o.Seed, 0))}
	if err := t.lives.live(); err != nil {
		return errors.Join(err, t.service.Close())
	}
	return nil
}

// lookAtNotices waits for what runs of a server of its own still owe to the service.
func (t *torment) lookAtNotices(ctx context.Context, found *Evidence) {
	if t.service != nil {
		found.HasNotices, found.Notices = true, t.service.await(ctx, *found, t.o.Patience)
	}
}

func (t *torment) stop() {
	if t.lives != nil {
		_ = t.lives.end() // nothing is read any more
		_ = t.service.Close()
	}
}

func (t *torment) kills() int {
	if t.lives == nil {
		return 0
	}
	return int(t.lives.killed.Load())
}

func (t *torment) panics() []Violation {
	if t.lives == nil {
		return nil
	}
	return t.lives.panics
}

// errDoesNotRise: the server was killed, and did not start again.
var errDoesNotRise = errors.New("the server did not start again")

// load lets callers work under faults, and then until what they have begun is done. A run that does
// not come to its end is no error here: the check finds it.
func (t *torment) load(ctx context.Context) error {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	worked := make(chan error, 1)
	go func() { worked <- t.work(working, t.o.Callers) }()
	faults := make(chan error, 1)
	go func() { faults <- t.faults(working) }()

	select {
	case err := <-worked: // before it is over: something that callers cannot go on with
		stop(err)
		<-faults
		return err
	case err := <-faults:
		if err != nil {
			stop(err)
			<-worked
			return err
		}
	}
	close(t.over)
	patience := time.AfterFunc(t.o.Patience, func() { stop(errPatience) })
	defer patience.Stop()
	if err := <-worked; err != nil && !errors.Is(context.Cause(working), errPatience) {
		return err
	}
	return nil
}

var errPatience = errors.New("torture: patience is over")

// faults kills until it has killed enough, or lets somebody else do that for a while.
func (t *torment) faults(ctx context.Context) error {
	if t.lives == nil {
		return machine.Sleep(ctx, t.o.For)
	}
	err := t.lives.torture(ctx, t.o.Kills)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errUnsettled) {
		return fmt.Errorf("%w after %d kills: %w", errDoesNotRise, t.kills(), err)
	}
	return err
}

// tellEvery is how often progress is told.
const tellEvery = 2 * time.Second

// tell tells of the progress until finished is called.
func (t *torment) tell(began time.Time) (finished func()) {
	if t.o.Progress == nil {
		return func() {}
	}
	over, told := make(chan struct{}), make(chan struct{})
	ticker := time.NewTicker(tellEvery)
	go func() {
		defer close(told)
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
				t.o.Progress(t.progress(began))
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(over)
		<-told
	}
}

func (t *torment) progress(began time.Time) Progress {
	p := Progress{Kills: t.kills(), Took: time.Since(began), Count: t.kept.Count()}
	if t.lives != nil {
		p.Of = t.o.Kills
	}
	return p
}

func (e Evidence) givenUp() (n int) {
	for _, t := range e.Threads {
		n += count(t.Runs, givenUp)
	}
	return n
}

// keep writes down what was promised and what was found, for whoever looks into it.
func (t *torment) keep(found Evidence) error {
	if t.o.Dir == "" {
		return nil
	}
	return errors.Join(writeJSON(filepath.Join(t.o.Dir, "promises.json"), t.kept), writeJSON(filepath.Join(t.o.Dir, "found.json"), found))
}
