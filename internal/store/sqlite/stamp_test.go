package sqlite_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

func TestTheStampChangesWithEveryCommitOfAnyProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("changes are noted late")
	}
	path, before := newFile(t), time.Now()
	later := before.Add(time.Hour)
	mine, other := open(t, path, options(t, enginetest.AtMilli(1000))), open(t, path, options(t, enginetest.AtMilli(1000)))
	seen := map[string]bool{}
	for n, db := range []*sqlite.DB{mine, other, mine} {
		head := core.Head{Identity: core.Identity{Tenant: "a", Thread: "thr_" + string(rune('a'+n)), Run: "run_x_0", Schema: 1}}
		if _, err := db.Start(t.Context(), engine.StartRequest{Head: head}); err != nil {
			t.Fatal(err)
		}
		stamp := mine.Stamp(later)
		if stamp == "" || seen[stamp] || mine.Stamp(later) != stamp || other.Stamp(later) != stamp {
			t.Errorf("after commit %d: %q", n, stamp)
		}
		seen[stamp] = true
	}
	if got := mine.Stamp(before); got != "" {
		t.Errorf("right after a commit: %q", got)
	}
}
