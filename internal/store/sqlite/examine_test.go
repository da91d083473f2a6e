package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/examine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// An examination writes nothing, also not what the last connection of a file does when it is
// closed: a log that a kill has left is where it was.
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
			r, err := examine.File(t.Context(), path, nil)
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

// Without the log that was written last a database has forgotten what was acknowledged. It is
// refused, and an examination says so.
func TestALogThatWasRemovedIsMissed(t *testing.T) {
	files := killedStore(t)
	path := filepath.Join(t.TempDir(), "x.db")
	for _, ending := range []string{"", ".mark"} {
		if err := os.WriteFile(path+ending, files[ending], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := examine.File(t.Context(), path, nil)
	if err != nil || len(r.Findings) != 1 || r.Findings[0].Code != examine.FindOlder {
		t.Errorf("%+v, %v", r, err)
	}
	o := options(t, enginetest.AtMilli(1000))
	o.Sync = dbfile.SyncFull
	if _, err := sqlite.Open(t.Context(), path, o); !errors.Is(err, mark.ErrLost) {
		t.Errorf("it was opened: %v", err)
	}
}

// A file that was never a store is not called whole, and one with a mark has lost everything.
func TestAnEmptyFileIsNoStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := examine.File(t.Context(), path, nil); err != nil || !r.Empty || len(r.Findings) > 0 {
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
	if r, err := examine.File(t.Context(), path, nil); err != nil || !r.Newer() || r.Damaged() {
		t.Errorf("%+v, %v", r, err)
	}
	o.Examine = time.Second
	_, err := sqlite.Open(t.Context(), path, o)
	if damage, damaged := errors.AsType[*examine.DamageError](err); !errors.Is(err, txfile.ErrNewerFile) || damaged {
		t.Errorf("%v, %v", err, damage)
	}
}

// A log that is damaged in its middle is not cut off there in silence: only the last commit, which
// a loss of power may have torn, can be missing.
func TestADamagedLogIsNotCutOffInSilence(t *testing.T) {
	t.Parallel()
	whole := killedStore(t)
	const frame = 24 + 4096
	frames := (len(whole["-wal"]) - 32) / frame
	refused, looked := 0, 0
	every := effort.Of(9, 27)
	for n := int(time.Now().UnixNano() % int64(every)); n < frames; n += every {
		looked++
		path := filepath.Join(t.TempDir(), "x.db")
		for ending, text := range whole {
			text = slices.Clone(text)
			if ending == "-wal" {
				text[32+n*frame+(n*97)%frame] ^= 4
			}
			if err := os.WriteFile(path+ending, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o := options(t, enginetest.AtMilli(1000))
		o.Sync, o.Examine = dbfile.SyncFull, time.Minute
		db, err := sqlite.Open(t.Context(), path, o)
		if err != nil {
			if refused++; !errors.Is(err, engine.ErrDamaged) {
				t.Errorf("frame %d: %v", n, err)
			}
			continue
		}
		h, err := db.Load(t.Context(), tenant, threadNumber(copied+logged-1))
		if err != nil || h.Seq < 2 {
			t.Errorf("frame %d of %d: served, and the last run is at segment %d, %v", n, frames, h.Seq, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if refused < looked*9/10 {
		t.Errorf("of %d logs %d were refused", looked, refused)
	}
}

// The log lies beside the file that a link leads to.
func TestALinkToADatabaseIsFollowed(t *testing.T) {
	real, link := filepath.Join(t.TempDir(), "real.db"), filepath.Join(t.TempDir(), "x.db")
	o := options(t, enginetest.AtMilli(1000))
	start(t, open(t, real, o), newHead(thread))
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	db := open(t, link, o)
	if _, err := db.Load(t.Context(), tenant, thread); err != nil {
		t.Error(err)
	}
	start(t, db, newHead(numbered(1)))
	if r, err := examine.File(t.Context(), link, nil); err != nil || len(r.Findings) > 0 || r.Threads != 2 || r.LogBytes == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Another program's database is neither whole nor taken.
func TestAForeignDatabaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if _, err := rawFile(t, path).Exec("CREATE TABLE songs (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	r, err := examine.File(t.Context(), path, nil)
	if err != nil || len(r.Findings) != 1 || r.Findings[0].Code != examine.FindForeign {
		t.Errorf("%+v, %v", r, err)
	}
	o := options(t, enginetest.AtMilli(1000))
	o.Examine = time.Minute
	if _, err := sqlite.Open(t.Context(), path, o); !errors.Is(err, engine.ErrDamaged) {
		t.Errorf("it was opened: %v", err)
	}
}

// A log without its database is no new store.
func TestALogWithoutADatabaseIsRefused(t *testing.T) {
	files := killedStore(t)
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path+"-wal", files["-wal"], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path, options(t, enginetest.AtMilli(1000))); !errors.Is(err, mark.ErrLost) {
		t.Errorf("it was opened: %v", err)
	}
	if now, err := os.ReadFile(path + "-wal"); err != nil || len(now) != len(files["-wal"]) {
		t.Errorf("the log has %d bytes now, %v", len(now), err)
	}
}

// A mark that is damaged says nothing of the database.
func TestADamagedMarkRefusesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	o := options(t, enginetest.AtMilli(1000))
	o.Sync = dbfile.SyncFull
	if err := open(t, path, o).Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path + ".mark")
	if err != nil {
		t.Fatal(err)
	}
	for at := range text {
		harmed := slices.Clone(text)
		harmed[at] ^= 1
		if err := os.WriteFile(path+".mark", harmed, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := examine.File(t.Context(), path, nil); err != nil || len(r.Findings) > 0 {
			t.Errorf("%q: %+v, %v", harmed, r, err)
		}
	}
}

// After a rollback the runs of the newer version are named. The others are examined and served.
func TestARunOfANewerVersionIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	for ending, text := range killedStore(t) {
		if err := os.WriteFile(path+ending, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rawFile(t, path).Exec("UPDATE heads SET v = 999 WHERE thread = ?", threadNumber(1)); err != nil {
		t.Fatal(err)
	}
	r, err := examine.File(t.Context(), path, nil)
	if err != nil || len(r.Findings) != 1 || r.Findings[0].Code != examine.FindNewerHead || r.Findings[0].Thread != threadNumber(1) || r.Threads != copied+logged-1 {
		t.Errorf("%+v, %v", r, err)
	}
	if r.Damaged() || r.Newer() {
		t.Errorf("damaged %t, newer %t", r.Damaged(), r.Newer())
	}
	o := options(t, enginetest.AtMilli(1000))
	o.Examine = time.Minute
	db, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestASchemaThatNoVersionWroteIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	o := options(t, enginetest.AtMilli(1000))
	if err := open(t, path, o).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := rawFile(t, path).Exec("UPDATE migrations SET version = version - 10 - (SELECT max(version) FROM migrations)"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path, o); err == nil || !strings.Contains(err.Error(), "its schema is -10") {
		t.Error(err)
	}
}

func TestADamagedWebhookIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, options(t, enginetest.AtMilli(1000)))
	if err := db.PutWebhook(t.Context(), notice.Webhook{Tenant: "acme", ID: "wh_a", Rev: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.DisableEndpoint(t.Context(), notice.Disabled{Tenant: "acme", Endpoint: "agent/desk/pager", At: 1000, Reason: "410 Gone"}); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{"", "UPDATE webhooks SET body = '{'", "UPDATE disabled_endpoints SET body = '[]'"} {
		if damage != "" {
			if _, err := rawFile(t, path).Exec(damage); err != nil {
				t.Fatal(err)
			}
		}
		r, err := examine.File(t.Context(), path, nil)
		if found := len(r.Findings); err != nil || (damage != "") != (found > 0) || found > 0 && (r.Findings[found-1].Code != examine.FindWebhook || !r.Damaged()) {
			t.Errorf("%q: %+v, %v", damage, r.Findings, err)
		}
	}
}
