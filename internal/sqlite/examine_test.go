package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/sqlite"
)

// An examination writes nothing, also not what the last connection of a file does when it is closed: a log that a kill has left is where it was.
func TestAnExaminationChangesNothing(t *testing.T) {
	killed := killedStore(t)
	for name, keep := range map[string][]string{
		"after a kill": {"", "-wal", "-shm", ".mark"},
		"after an end": {"", ".mark"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			for _, ending := range keep {
				if err := os.WriteFile(path+ending, killed[ending], 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r, err := sqlite.Examine(t.Context(), path, nil)
			if err != nil || len(keep) == 4 && (len(r.Findings) > 0 || r.Threads != copied+logged) {
				t.Errorf("%+v, %v", r, err)
			}
			for _, ending := range keep {
				now, err := os.ReadFile(path + ending)
				if err != nil || ending != "-shm" && string(now) != string(killed[ending]) {
					t.Errorf("x.db%s changed: %d bytes, %v", ending, len(now), err)
				}
			}
			if entries := listing(t, filepath.Dir(path)); len(keep) == 2 && entries != "x.db x.db.mark" {
				t.Errorf("it left %s", entries)
			}
		})
	}
}

// Without the log that was written last a database has forgotten what was acknowledged. It is refused, and an examination says so.
func TestALogThatWasRemovedIsMissed(t *testing.T) {
	files := killedStore(t)
	path := filepath.Join(t.TempDir(), "x.db")
	for _, ending := range []string{"", ".mark"} {
		if err := os.WriteFile(path+ending, files[ending], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := sqlite.Examine(t.Context(), path, nil)
	if err != nil || len(r.Findings) != 1 || r.Findings[0].Code != sqlite.FindOlder {
		t.Errorf("%+v, %v", r, err)
	}
	o := options(t, enginetest.AtMilli(1000))
	o.Sync = sqlite.SyncFull
	if _, err := sqlite.Open(t.Context(), path, o); !errors.Is(err, sqlite.ErrLost) {
		t.Errorf("it was opened: %v", err)
	}
}

// A file that was never a store is not called whole, and one with a mark has lost everything.
func TestAnEmptyFileIsNoStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := sqlite.Examine(t.Context(), path, nil); err != nil || !r.Empty || len(r.Findings) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	db := open(t, path, options(t, enginetest.AtMilli(1000)))
	if !db.Made() {
		t.Error("it counts as a store that was here")
	}
}

// A newer program's work is not damage.
func TestANewerStoreIsNotDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	o := options(t, enginetest.AtMilli(1000))
	if err := open(t, path, o).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := rawFile(t, path).Exec("INSERT INTO migrations (version, at) VALUES (999, 0)"); err != nil {
		t.Fatal(err)
	}
	if r, err := sqlite.Examine(t.Context(), path, nil); err != nil || !r.Newer() || r.Damaged() {
		t.Errorf("%+v, %v", r, err)
	}
	o.Examine = 1e9
	_, err := sqlite.Open(t.Context(), path, o)
	if damage, damaged := errors.AsType[*sqlite.DamageError](err); !errors.Is(err, sqlite.ErrNewerFile) || damaged {
		t.Errorf("%v, %v", err, damage)
	}
}
