package sqlite_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/tables"
)

// A journal whose segments are text, as earlier programs stored them, is read as one whose segments
// are packed, and goes on.
func TestSegmentsOfEarlierProgramsAreRead(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	path := filepath.Join(t.TempDir(), "dormouse.db")
	db := open(t, path, options(t, clock))
	worker := frontendtest.Worker{Test: t, Store: db, Clock: clock, Random: &frontendtest.Random{}, Tenant: tenant}
	started, err := callers(t, db, clock).Start(t.Context(), frontend.Caller{Tenant: tenant}, "", wire.StartRequest{Agent: "a", Input: core.Encode("go")})
	if err != nil {
		t.Fatal(err)
	}
	thread := started.Run.ThreadID
	worker.Suspend(started.Run.ID, frontendtest.Call{ID: "c1", Tool: "pay", Kind: core.KindApproval})
	packed, err := db.Segments(t.Context(), tenant, thread, 1, 9)
	if err != nil || len(packed) == 0 {
		t.Fatalf("%d segments, %v", len(packed), err)
	}
	raw := rawFile(t, path)
	var form string
	for _, s := range packed {
		if err := raw.QueryRow("SELECT typeof(body) FROM segments WHERE thread = ? AND seq = ?", thread, s.Seq).Scan(&form); err != nil || form != "blob" {
			t.Errorf("segment %d is stored as %s (%v)", s.Seq, form, err)
		}
		s.W, s.Prev = 0, 0
		seq := s.Seq
		s.Seq = 0
		if _, err := raw.Exec("UPDATE segments SET body = ? WHERE thread = ? AND seq = ?", tables.Text(s), thread, seq); err != nil {
			t.Fatal(err)
		}
	}
	again := open(t, path, options(t, clock))
	if plain, err := again.Segments(t.Context(), tenant, thread, 1, 9); err != nil || !reflect.DeepEqual(plain, packed) {
		t.Errorf("as text they are %+v (%v), packed %+v", plain, err, packed)
	}
	// of 4,096 bytes for the head, and of the text
	if got := stored(t, again, tenant); got.Bytes < 4096+300 {
		t.Errorf("%+v are counted", got)
	}
}

// A large segment of a run that goes on stays text: packing it would cost its step too much CPU.
func TestLargeSegmentsOfARunThatGoesOnStayText(t *testing.T) {
	for status, want := range map[core.RunStatus]bool{core.RunRunning: false, core.RunWaiting: true, core.RunDone: true} {
		for text, small := range map[string]bool{"I look at the order.": true, strings.Repeat("The lamp is broken. ", 200): false} {
			s := core.Segment{Messages: []core.Message{{Role: core.RoleAssistant, Parts: core.TextParts(text), RunID: "run_a_0", At: 1}}}
			if _, packed := tables.SegmentBody(s, core.Head{Status: status}).([]byte); packed != (want || small) {
				t.Errorf("%d bytes of a run that is %s are packed: %v", len(text), status, packed)
			}
		}
	}
}
