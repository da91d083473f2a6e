package local

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/examine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
)

// A server whose directory is moved or removed acknowledges nothing more, says so, and ends with an
// error.
func TestAServerWhoseDirectoryIsGoneEnds(t *testing.T) {
	for name, harm := range map[string]func(data string) error{
		"removed": os.RemoveAll,
		"moved":   func(data string) error { return os.Rename(data, data+".old") },
	} {
		for _, by := range []string{"a start", "/healthz", "the sweep"} {
			t.Run(name+", found by "+by, func(t *testing.T) {
				t.Parallel()
				r, _ := countingRig(t)
				r.deploy(asked)
				s, err := Start(t.Context(), r.options())
				if err != nil {
					t.Fatal(err)
				}
				c := client.New("http://"+s.Addr(), client.WithRetries(0))
				if err := harm(r.data); err != nil {
					t.Fatal(err)
				}
				switch by {
				case "a start":
					_, err := c.StartRun(t.Context(), wire.StartRequest{Agent: "desk", Input: []byte(`"pay"`)}, "")
					if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Code != "storage_gone" || refused.Status != 503 {
						t.Errorf("a start: %v", err)
					}
				case "/healthz":
					answer, err := http.Get("http://" + s.Addr() + "/healthz")
					if err != nil || answer.StatusCode != 503 {
						t.Errorf("/healthz: %+v, %v", answer, err)
					}
				}
				if err := s.Wait(); !errors.Is(err, ErrStoreEnded) || !errors.Is(err, engine.ErrGone) {
					t.Errorf("the server ended with %v", err)
				}
				if text := r.log.text(); !strings.Contains(text, "level=ERROR msg=\"the data directory is no longer the one that the server opened") {
					t.Errorf("the log: %s", text)
				}
			})
		}
	}
}

func TestAStartSaysWhetherAStoreWasHere(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	s := r.start()
	s.end(t)
	if text := r.log.text(); !strings.Contains(text, "created an empty store") {
		t.Errorf("the first start: %s", text)
	}
	r.log.reset()
	s = r.start()
	s.end(t)
	if text := r.log.text(); strings.Contains(text, "created an empty store") {
		t.Errorf("the second start: %s", text)
	}
	if err := os.Remove(filepath.Join(r.data, databaseFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), r.options()); !errors.Is(err, mark.ErrLost) {
		t.Errorf("a start without the database: %v", err)
	}
}

// A damaged store is refused with what to do, and served as far as it can be if that is asked for.
func TestADamagedStoreIsRefusedOrServedOnRequest(t *testing.T) {
	r, _ := countingRig(t)
	run := r.asleep()
	raw := r.rawStore()
	if _, err := raw.Exec("DELETE FROM segments WHERE thread = ? AND seq = 1", run.ThreadID); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), r.options())
	if !errors.Is(err, engine.ErrDamaged) || !strings.Contains(err.Error(), "dormouse doctor --data "+r.data) || !strings.Contains(err.Error(), run.ThreadID) {
		t.Errorf("%v", err)
	}
	d, err := Examine(t.Context(), r.data, nil)
	if err != nil || d.State != Damaged || len(d.Findings) != 1 || d.Findings[0].Run != run.ID || d.Findings[0].Code != examine.FindJournal || len(d.Advice) == 0 {
		t.Errorf("%+v, %v", d, err)
	}
	o := r.options()
	o.Damaged = true
	s := r.startWith(o)
	other := s.begin(t)
	s.await(t, other.ID, "waiting")
	answer, err := http.Get("http://" + s.Addr() + "/healthz")
	if err != nil || answer.StatusCode != 503 {
		t.Errorf("/healthz: %+v, %v", answer, err)
	}
	s.end(t)
	if text := r.log.text(); !strings.Contains(text, "the store is damaged") {
		t.Errorf("%s", text)
	}
}

// Where a store must exist none is made: a restart after the directory was moved would serve an
// empty one.
func TestAStoreThatMustExistIsNotMade(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	s := r.start()
	s.end(t)
	o := r.options()
	o.MustExist = true
	ctx, stop := context.WithCancel(t.Context())
	again, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := again.Wait(); err != nil {
		t.Error(err)
	}
	if err := os.Rename(r.data, r.data+".old"); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), o); !errors.Is(err, ErrNoStore) || !strings.Contains(err.Error(), "--must-exist") {
		t.Errorf("a start without the store: %v", err)
	}
	if _, err := os.Stat(r.data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}

// A start that refuses its store is an ERROR in the log, also where the lines of all that use it
// are dropped: those who watch the log see no standard error.
func TestARefusedStoreIsInTheLog(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	if err := os.MkdirAll(filepath.Join(r.data, databaseFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), r.options()); !errors.Is(err, engine.ErrDisk) {
		t.Errorf("a start on a directory in place of the database: %v", err)
	}
	if text := r.log.text(); !strings.Contains(text, "level=ERROR msg=\"the store cannot be opened") {
		t.Errorf("the log: %s", text)
	}
}
