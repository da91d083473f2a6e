package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery/linestest"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest/linktest"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest/queuetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/pushes"
	"github.com/dormouse-dev/dormouse/internal/frontend/pushes/pushestest"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks/webhookstest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

var (
	_ frontend.Store   = (*sqlite.DB)(nil)
	_ frontend.Catalog = (*sqlite.DB)(nil)
)

func options(t *testing.T, clock *enginetest.Clock) sqlite.Options {
	return sqlite.Options{Clock: clock, Random: enginetest.NewRandom(t, 1), Sync: dbfile.SyncOff,
		Visibility: queuetest.Visibility, MaxAttempts: queuetest.MaxAttempts}
}

// open opens path until the end of the test.
func open(t *testing.T, path string, opts sqlite.Options) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func newFile(t *testing.T) string { return filepath.Join(t.TempDir(), "dormouse?#%20.db") }

func fresh(t *testing.T) *sqlite.DB {
	return open(t, newFile(t), options(t, enginetest.AtMilli(1000)))
}

func TestStore(t *testing.T) {
	t.Parallel()
	enginetest.TestStore(t, func(t *testing.T) enginetest.Store { return fresh(t) })
}

func TestLinks(t *testing.T) {
	t.Parallel()
	linktest.Test(t, func(t *testing.T) linktest.Store { return fresh(t) })
}

func TestQueue(t *testing.T) {
	t.Parallel()
	queuetest.Test(t, func(t *testing.T, clock *enginetest.Clock) queuetest.Queue {
		return queue{open(t, newFile(t), options(t, clock))}
	})
}

func TestJoint(t *testing.T) {
	t.Parallel()
	enginetest.TestJoint(t, queuetest.Visibility, func(t *testing.T, clock *enginetest.Clock) enginetest.JointStore {
		return open(t, newFile(t), options(t, clock))
	})
}

func TestStoreOfTwoProcesses(t *testing.T) {
	t.Parallel()
	enginetest.TestStore(t, func(t *testing.T) enginetest.Store {
		path := newFile(t)
		a := open(t, path, options(t, enginetest.AtMilli(1000)))
		return &inTurn{dbs: [2]*sqlite.DB{a, open(t, path, options(t, enginetest.AtMilli(1000)))}}
	})
}

type queue struct{ *sqlite.DB }

func (q queue) Dead(ctx context.Context) (dead []queuetest.Dead, err error) {
	letters, err := q.DeadLetters(ctx, 1000)
	for _, l := range letters {
		dead = append(dead, queuetest.Dead{Wakeup: l.Wakeup, Attempts: l.Attempts, Cause: l.Cause})
	}
	return dead, err
}

func TestLines(t *testing.T) {
	t.Parallel()
	linestest.Test(t, func(t *testing.T, b notice.Bound) linestest.Store {
		o := options(t, enginetest.AtMilli(1000))
		o.Bound = b
		return open(t, newFile(t), o)
	})
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	webhookstest.Test(t, func(t *testing.T) webhooks.Store { return fresh(t) })
}

func TestPushes(t *testing.T) {
	t.Parallel()
	pushestest.Test(t, func(t *testing.T) pushes.Store { return fresh(t) })
}

func TestPosted(t *testing.T) {
	t.Parallel()
	enginetest.TestPosted(t, fresh(t))
}
