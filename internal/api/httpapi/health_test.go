package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

func TestHealthSaysWhetherTheStoreCanBeReliedOn(t *testing.T) {
	var now httpapi.Storage
	s := newServer(t, settings{options: func(o *httpapi.Options) {
		o.Storage, o.Policy = func() httpapi.Storage { return now }, "sha256:0123456789abcdef"
	}})
	for trouble, want := range map[string]int{"": 200, wire.StorageFull: 200, wire.StorageFailing: 503, wire.StorageDamaged: 503, wire.StorageGone: 503} {
		now = httpapi.Storage{Trouble: trouble, LogBytes: 4120}
		got := s.send("GET", "/healthz", "")
		var health wire.Health
		if err := json.Unmarshal([]byte(got.text), &health); err != nil {
			t.Fatal(got.text)
		}
		status := map[int]string{200: wire.HealthOK, 503: wire.HealthFailing}[want]
		if got.StatusCode != want || health != (wire.Health{Status: status, Version: "v1.2.3", Policy: "sha256:0123456789abcdef", Storage: trouble, LogBytes: 4120}) {
			t.Errorf("%q: %d %s", trouble, got.StatusCode, got.text)
		}
	}
}

// Each 503 says in the log why, at most once in ten seconds for each code; where waiting does not
// help, as an error.
func TestTheLogSaysWhyRequestsAreNotServed(t *testing.T) {
	var text bytes.Buffer
	var fails error
	clock := enginetest.AtMilli(1_772_323_200_000)
	s := newServer(t, settings{clock: clock, options: func(o *httpapi.Options) { o.Logger = slog.New(slog.NewTextHandler(&text, nil)) },
		wrap: func(f frontend.Store) frontend.Store { return brokenStore{f, func() error { return fails }} }})
	said := func(err error) string {
		text.Reset()
		fails = fmt.Errorf("%w: the cause", err)
		s.send("GET", "/v1/runs/run_x_0", "")
		return text.String()
	}
	if line := said(engine.ErrDamaged); !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "code=storage_damaged") || !strings.Contains(line, "the cause") {
		t.Errorf("the first: %q", line)
	}
	if line := said(engine.ErrDamaged); line != "" {
		t.Errorf("the second at the same time: %q", line)
	}
	if line := said(engine.ErrUnreadable); line == "" {
		// an error that is not an ErrUnavailable is a fault
		t.Error("another code is not logged")
	}
	clock.Advance(11 * time.Second)
	if line := said(engine.ErrDamaged); !strings.Contains(line, "others_since_last=1") {
		t.Errorf("later: %q", line)
	}
}
