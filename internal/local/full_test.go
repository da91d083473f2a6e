package local

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

// crashed copies the data of a server that lives, as a kill would leave it, and ends the server.
func crashed(t *testing.T, s running, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	s.end(t)
}

// onFullDisk runs a server on data that a killed one left on a disk that is full until room is
// called.
func onFullDisk(t *testing.T, play func(r *rig, paid *atomic.Int64, waiting wire.Run, o Options, room func())) {
	killed := func(t *testing.T, data string) (*rig, *atomic.Int64, wire.Run) {
		r, paid := countingRig(t)
		r.deploy(asked)
		s := r.start()
		run := s.await(t, s.begin(t).ID, "waiting")
		crashed(t, s, r.data, data)
		r.data = data
		return r, paid, run
	}
	t.Run("played", func(t *testing.T) {
		r, paid, run := killed(t, filepath.Join(t.TempDir(), "data"))
		var full atomic.Bool
		full.Store(true)
		o := r.options()
		o.noRoom = full.Load
		play(r, paid, run, o, func() { full.Store(false) })
	})
	t.Run("real", func(t *testing.T) {
		disk := enginetest.SmallDisk(t, 4<<20)
		r, paid, run := killed(t, filepath.Join(disk, "data"))
		play(r, paid, run, r.options(), enginetest.Fill(t, disk))
	})
}

func storage(t *testing.T, s running) string {
	t.Helper()
	answer, err := http.Get("http://" + s.Addr() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var health wire.Health
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, json.Unmarshal(body, &health)); err != nil || answer.StatusCode != 200 || health.Status != "ok" {
		t.Fatalf("%d %s, %v", answer.StatusCode, body, err)
	}
	return health.Storage
}

// awaitStorage waits for what the sweep's period brings.
func awaitStorage(t *testing.T, s running, want string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); storage(t, s) != want; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("/healthz does not come to say %q", want)
		}
	}
}

// The same was done by hand with a disk of 3 MB: 15 starts were acknowledged, then starts and
// decisions got 503 while health and reads went on with 200. 14 of the runs had reached their
// approval; the last one got there 123 seconds after there was space again.
func TestAServerOnAFullDiskServesReadsAndTheInboxAndGoesOnByItself(t *testing.T) {
	onFullDisk(t, func(r *rig, paid *atomic.Int64, run wire.Run, o Options, room func()) {
		t := r.t
		sweepText = "50ms"
		t.Cleanup(func() { sweepText = "5s" })
		s := r.startWith(o)
		if got, err := s.Run(t.Context(), run.ID); err != nil || got.Status != "waiting" {
			t.Errorf("the run is %q, %v", got.Status, err)
		}
		if inbox, err := s.ApprovalPage(t.Context(), client.ApprovalFilter{}); err != nil || len(inbox.Items) != 1 {
			t.Errorf("the inbox has %d, %v", len(inbox.Items), err)
		}
		if texts := results(t, s, run); len(texts) != 0 {
			t.Errorf("results %q", texts)
		}
		yes := wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume", DecisionID: "d1"}
		for range 8 { // some of it may still fit into a page that is there
			_, err := s.Decide(t.Context(), run.ID, yes)
			_, started := s.StartRun(t.Context(), wire.StartRequest{Agent: "desk", Input: json.RawMessage(`"` + strings.Repeat("more ", 2000) + `"`)}, "")
			for _, err := range []error{err, started} {
				refused, is := errors.AsType[*client.Error](err)
				if err != nil && (!is || refused.Status != http.StatusInsufficientStorage || refused.Code != "disk_full" || refused.RetryAfter == 0 ||
					!strings.Contains(refused.Detail, "16 MB") || strings.Contains(refused.Detail, r.data)) {
					t.Errorf("a write is refused as %v", err)
				}
			}
			if started == nil {
				continue
			}
		}
		awaitStorage(t, s, wire.StorageFull)
		r.log.await(t, "the disk is full")
		if log := r.log.text(); !strings.Contains(log, r.data) || strings.Count(log, "the disk is full") > 3 {
			t.Errorf("the log says it %d times, or not where", strings.Count(log, "the disk is full"))
		}
		room()
		awaitStorage(t, s, "")
		r.log.await(t, "the disk has space again")
		if _, err := s.Decide(t.Context(), run.ID, yes); err != nil {
			t.Fatal(err)
		}
		if got := s.await(t, run.ID, "done"); got.Error != nil || paid.Load() != 1 {
			t.Errorf("paid %d times, %+v", paid.Load(), got.Error)
		}
		s.end(t)
	})
}

func TestAChangedAgentIsServedOnceItsDefinitionCanBeStored(t *testing.T) {
	onFullDisk(t, func(r *rig, _ *atomic.Int64, _ wire.Run, o Options, room func()) {
		t := r.t
		sweepText = "50ms"
		t.Cleanup(func() { sweepText = "5s" })
		r.deploy(allowed + strings.Repeat("# much more than there is room for in a page\n", 10) + "instructions: " + strings.Repeat("more ", 5000) + "\n")
		s := r.startWith(o)
		if reason := without(t, s, "desk"); !strings.Contains(reason, "the disk of the server is full") {
			t.Errorf("got %q", reason)
		}
		room()
		r.log.await(t, "stored the agents that changed before the start")
		if reason := without(t, s, "desk"); reason != "" {
			t.Errorf("it is still unavailable: %q", reason)
		}
		if got := s.await(t, s.begin(t).ID, "done"); got.Error != nil {
			t.Error(got.Error)
		}
		s.end(t)
	})
}
