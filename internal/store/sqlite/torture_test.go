package sqlite_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

var (
	tortureKills = flag.Int("torture.kills", 14, "how often the store's torture kills a process")
	tortureSeed  = flag.Uint64("torture.seed", 0, "seed of the store's torture; 0 for another one each time")
)

// What a process of the torture is told.
const (
	tortureFile = "DORMOUSE_TEST_TORTURE_FILE" // the store
	tortureWork = "DORMOUSE_TEST_TORTURE_WORK" // [enginetest.TortureWork] as JSON
)

// wallClock is the machine's: processes have no other in common.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

func nowMilli() int64 { return time.Now().UnixMilli() }

// tortureOptions are those of the real store, but that what a dead process held is visible again
// soon.
func tortureOptions(random *enginetest.Random) sqlite.Options {
	return sqlite.Options{Clock: wallClock{}, Random: random, Visibility: 300 * time.Millisecond, MaxAttempts: 1 << 30, Sync: dbfile.SyncOff}
}

func TestStoreTorture(t *testing.T) {
	t.Parallel()
	seed := *tortureSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	path := filepath.Join(t.TempDir(), "torture.db")
	enginetest.Torture{Processes: 4, Kills: effort.Of(*tortureKills, 3), Seed: seed,
		Process: func(w enginetest.TortureWork) *exec.Cmd {
			told, err := json.Marshal(w)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestProcessOfTheTorture$")
			cmd.Env = append(os.Environ(), tortureFile+"="+path, tortureWork+"="+string(told))
			return cmd
		},
		Open: func(t *testing.T) enginetest.TortureStore {
			if got := damage(t, path); got != "ok" {
				t.Fatalf("the file is damaged: %s", got)
			}
			return open(t, path, tortureOptions(enginetest.NewRandom(t, seed)))
		},
	}.Run(t)
}

// TestProcessOfTheTorture is what the processes of [TestStoreTorture] run until they are killed.
// Among the other tests it is nothing.
func TestProcessOfTheTorture(t *testing.T) {
	path := os.Getenv(tortureFile)
	if path == "" {
		return
	}
	var w enginetest.TortureWork
	if err := json.Unmarshal([]byte(os.Getenv(tortureWork)), &w); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background() // nothing but a kill ends it
	random := enginetest.NewRandom(t, w.Seed+uint64(w.Worker)<<40+uint64(w.Life)<<16)
	db, err := sqlite.Open(ctx, path, tortureOptions(random))
	if err == nil {
		err = w.Run(ctx, db, nowMilli)
	}
	os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1)
}
