package sim_test

import (
	"context"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery/linestest"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest/queuetest"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

func TestTheSimulatedStoreKeepsTheContractOfStores(t *testing.T) {
	for name, written := range map[string]bool{"values": false, "stored form": true} {
		t.Run(name, func(t *testing.T) {
			enginetest.TestStore(t, func(*testing.T) enginetest.Store {
				m := sim.NewMemory(enginetest.AtMilli(1000))
				m.Written = written
				return m
			})
		})
	}
}

func TestTheSimulatedLinesKeepTheContractOfLines(t *testing.T) {
	for name, written := range map[string]bool{"values": false, "stored form": true} {
		t.Run(name, func(t *testing.T) {
			linestest.Test(t, func(_ *testing.T, b notice.Bound) linestest.Store {
				m := sim.NewMemory(enginetest.AtMilli(1000))
				m.Written, m.Bound = written, b
				return m
			})
		})
	}
}

func TestTheSimulatedQueueKeepsTheContractOfQueues(t *testing.T) {
	queuetest.Test(t, func(_ *testing.T, clock *enginetest.Clock) queuetest.Queue {
		return queue{&sim.MemoryQueue{Clock: clock, Visibility: queuetest.Visibility, MaxAttempts: queuetest.MaxAttempts}}
	}, queuetest.NoTurns)
}

func TestTheSimulatedStoreAndQueueShareTheirWrites(t *testing.T) {
	enginetest.TestJoint(t, queuetest.Visibility, func(_ *testing.T, clock *enginetest.Clock) enginetest.JointStore {
		queue := &sim.MemoryQueue{Clock: clock, Visibility: queuetest.Visibility}
		return struct {
			sim.JointStore
			*sim.MemoryQueue
		}{sim.JointStore{FullStore: sim.NewMemory(clock), Joint: queue}, queue}
	})
}

type queue struct{ *sim.MemoryQueue }

func (q queue) Dead(ctx context.Context) (dead []queuetest.Dead, err error) {
	all, err := q.MemoryQueue.Dead(ctx)
	for _, d := range all {
		dead = append(dead, queuetest.Dead(d))
	}
	return dead, err
}

func TestTheIndexOfTheSimulatedStoreLags(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	m := sim.NewMemory(clock)
	m.Lag = 500
	start := engine.StartRequest{Due: 1000}
	start.Head.Tenant, start.Head.Thread = "t", "thr_a"
	if _, err := m.Start(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	if due := m.DueBefore(9000, 10); len(due) != 0 {
		t.Errorf("seen at once: %v", due)
	}
	clock.Advance(500 * 1e6)
	due := m.DueBefore(9000, 10)
	if len(due) != 1 || !m.Move(due[0], 9000) || m.Move(due[0], 9001) {
		t.Errorf("due %v", due)
	}
	if old := m.DueBefore(9000, 10); len(old) != 1 || old[0].Due != 1000 {
		t.Errorf("the index is not behind: %v", old)
	}
}
