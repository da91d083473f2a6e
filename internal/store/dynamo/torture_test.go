package dynamo_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

var tortureKills = flag.Int("torture.kills", 10, "how often the store's torture kills a process")

// What a process of the torture is told.
const (
	tortureURL   = "DORMOUSE_TEST_TORTURE_URL"   // the server
	tortureTable = "DORMOUSE_TEST_TORTURE_TABLE" // the table
	// the file with the queue, which is not what is tested here
	tortureQueue = "DORMOUSE_TEST_TORTURE_QUEUE"
	tortureWork  = "DORMOUSE_TEST_TORTURE_WORK" // [enginetest.TortureWork] as JSON
)

// wakeups are what a torture store has of a queue.
type wakeups interface {
	engine.Waker
	engine.Receiver
}

func openTortured(ctx context.Context, url, table, file string, random *enginetest.Random) (enginetest.TortureStore, error) {
	q, err := sqlite.Open(ctx, file, sqlite.Options{Clock: wallClock{}, Random: random, Visibility: 300 * time.Millisecond, MaxAttempts: 1 << 30,
		Sync: dbfile.SyncOff})
	if err != nil {
		return nil, err
	}
	store := dynamo.New(at(url).client(), dynamo.Options{Table: table, Clock: wallClock{}, Random: random})
	return struct {
		*dynamo.Store
		wakeups
	}{store, q}, nil
}

func TestStoreTorture(t *testing.T) {
	t.Parallel()
	seed := *seed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	eachServer(t, func(t *testing.T, s server) {
		url, table, file := s.url(t), s.table(t), filepath.Join(t.TempDir(), "queue.db")
		enginetest.Torture{Processes: 4, Kills: effort.Of(*tortureKills, 2), Seed: seed,
			Process: func(w enginetest.TortureWork) *exec.Cmd {
				told, err := json.Marshal(w)
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(os.Args[0], "-test.run=^TestProcessOfTheTorture$")
				cmd.Env = append(os.Environ(), tortureURL+"="+url, tortureTable+"="+table, tortureQueue+"="+file, tortureWork+"="+string(told))
				return cmd
			},
			Open: func(t *testing.T) enginetest.TortureStore {
				store, err := openTortured(t.Context(), url, table, file, enginetest.NewRandom(t, seed))
				if err != nil {
					t.Fatal(err)
				}
				return store
			},
		}.Run(t)
	})
}

// TestProcessOfTheTorture is what the processes of [TestStoreTorture] run until they are killed.
// Among the other tests it is nothing.
func TestProcessOfTheTorture(t *testing.T) {
	url := os.Getenv(tortureURL)
	if url == "" {
		return
	}
	var w enginetest.TortureWork
	if err := json.Unmarshal([]byte(os.Getenv(tortureWork)), &w); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background() // nothing but a kill ends it
	random := enginetest.NewRandom(t, w.Seed+uint64(w.Worker)<<40+uint64(w.Life)<<16)
	store, err := openTortured(ctx, url, os.Getenv(tortureTable), os.Getenv(tortureQueue), random)
	if err == nil {
		err = w.Run(ctx, store, func() int64 { return time.Now().UnixMilli() })
	}
	os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1)
}
