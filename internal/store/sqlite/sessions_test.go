package sqlite_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/sqlitetest"
)

func TestASessionIsEnded(t *testing.T) {
	clock := enginetest.NewClock(time.Unix(1_800_000_000, 0))
	db, _ := sqlitetest.Open(t, clock, enginetest.NewRandom(t, 1))
	ends := func(id string, life time.Duration) {
		t.Helper()
		if err := db.EndSession(t.Context(), id, clock.Now().Add(life)); err != nil {
			t.Fatal(err)
		}
	}
	is := func(id string, want bool) {
		t.Helper()
		if ended, err := db.SessionEnded(t.Context(), id); err != nil || ended != want {
			t.Errorf("%s: %v, %v", id, ended, err)
		}
	}
	is("a", false)
	ends("a", time.Hour)
	ends("a", time.Hour)
	is("a", true)
	is("b", false)
	clock.Advance(2 * time.Hour)
	ends("b", time.Hour) // forgets the expired one
	is("a", false)
	is("b", true)
}
