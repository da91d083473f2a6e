// Package pretraffic tests a new version of the step function before it gets traffic. CodeDeploy
// invokes the function of this package after Lambda published the version. The function lets the
// version carry a scripted run to its end, and reports the result, so that a version which can't
// perform steps is rolled back before a run depends on it.
package pretraffic

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// Event is what CodeDeploy sends.
type Event struct {
	DeploymentID string `json:"DeploymentId"`
	HookID       string `json:"LifecycleEventHookExecutionId"`
}

// Step is the version that is tested.
type Step interface {
	// Invoke lets the version handle an event, and returns its answer. Failed means that the
	// version itself reported an error or crashed. An error says nothing about the version.
	Invoke(ctx context.Context, event []byte) (answer []byte, failed bool, err error)
}

// Deployments is CodeDeploy.
type Deployments interface {
	Report(ctx context.Context, e Event, passed bool) error
}

// Store is the part of the store that the test needs.
type Store interface {
	frontend.Store
	PutDefinition(ctx context.Context, d engine.Definition) error
}

// Options configure a [Hook]. All are required.
type Options struct {
	Store       Store
	Discard     func(ctx context.Context, thread string) error // deletes what a run has stored
	Step        Step
	Stopped     func(ctx context.Context) (bool, error) // whether the step function is
	Deployments Deployments
	Clock       engine.Clock
	Random      engine.Random
	Logger      *slog.Logger
}

// Hook tests versions.
type Hook struct {
	o     Options
	front *frontend.Frontend
}

// New returns a hook.
func New(o Options) *Hook {
	return &Hook{o, frontend.New(frontend.Options{Store: silent{o.Store, o.Clock}, Catalog: catalog{}, Waker: none{}, Clock: o.Clock, Random: o.Random})}
}

const (
	// attempts is how often the test begins again if it said nothing about the version.
	attempts = 3
	pause    = 2 * time.Second
	// reportTime is reserved for the report: without one, CodeDeploy waits for an hour.
	reportTime = 10 * time.Second
)

// Handle tests the version and reports the result. It returns an error only if that failed.
func (h *Hook) Handle(ctx context.Context, e Event) error {
	within, cancel := inTime(ctx)
	err := h.test(within)
	cancel()
	if err != nil {
		h.o.Logger.Error("the new version failed its test and gets no traffic", "deployment", e.DeploymentID, "error", err)
	} else {
		h.o.Logger.Info("the new version passed its test", "deployment", e.DeploymentID)
	}
	return h.o.Deployments.Report(ctx, e, err == nil)
}

func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-reportTime))
	}
	return context.WithCancel(ctx)
}

// errUndecided means that a test said nothing about the version: a service did not answer, or
// another version took part.
var errUndecided = errors.New("the version could not be tested")

// test lets the version carry a run to its end. It begins again, with another run, if that was
// undecided.
//
// While the stack is stopped, no version can be tested, and none gets traffic. The version then
// passes, as the deployment gives the stack the restored table. Nothing is written to a table.
func (h *Hook) test(ctx context.Context) error {
	for n := 1; ; n++ {
		stopped, err := h.o.Stopped(ctx)
		if stopped {
			h.o.Logger.Warn("the step function is stopped (its reserved concurrency is 0), so the new version passes without a test")
			return nil
		}
		if err != nil {
			h.o.Logger.Warn("it could not be read whether the step function is stopped", "error", err)
		}
		if n == 1 {
			h.tidy(ctx)
		}
		err = h.once(ctx)
		if !errors.Is(err, errUndecided) || n == attempts {
			return err
		}
		h.o.Logger.Warn("a test of the new version was undecided; it begins again", "error", err)
		if engine.Sleep(ctx, h.o.Clock, pause) != nil {
			return err
		}
	}
}
