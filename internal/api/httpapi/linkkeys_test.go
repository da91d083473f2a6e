package httpapi_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// A server whose keys are a minute old must open what another one, with newer keys, has signed.
func TestALinkByAKeyThatIsNewOpens(t *testing.T) {
	newer := bytes.Repeat([]byte{9}, 32)
	var added, gone, asked atomic.Int64
	s := newServer(t, settings{options: func(o *httpapi.Options) {
		o.LinkSource = func(_ context.Context, age time.Duration) (access.LinkKeys, error) {
			switch asked.Add(1); {
			case gone.Load() > 0:
				return nil, engine.ErrUnavailable
			case added.Load() > 0 && age < time.Minute:
				return access.LinkKeys{newer, linkKey}, nil
			}
			return access.LinkKeys{linkKey}, nil
		}
	}})
	run := s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	byNewer := s.signed(newer, engine.Link{Run: run.ID, Suspension: sus, For: "anna", Expires: s.worker.Clock.Now().Add(time.Hour).UnixMilli()})
	if got := s.send("GET", byNewer, ""); got.StatusCode != 404 {
		t.Errorf("before the key is there: %d %s", got.StatusCode, got.text)
	}
	added.Store(1)
	if got := s.send("GET", byNewer, ""); got.StatusCode != 200 {
		t.Errorf("with the key: %d %s", got.StatusCode, got.text)
	}
	link := s.makeLink(run.ID, sus, "anna").Link
	if asked.Store(0); s.send("GET", link, "").StatusCode != 200 || asked.Load() != 1 {
		t.Errorf("a link by the key that is known: asked for keys %d times", asked.Load())
	}
	gone.Store(1)
	for _, path := range []string{byNewer, "/v1/streams/" + ticketFor(run.ID)} {
		if got := s.send("GET", path, ""); got.StatusCode != 503 || got.problem(t).Code != "unavailable" {
			t.Errorf("%s without keys: %d %s", path, got.StatusCode, got.text)
		}
	}
	if got := s.send("POST", "/v1/runs/"+run.ID+"/links", `{"target":"c1","for":"anna"}`); got.StatusCode != 503 {
		t.Errorf("a link without keys: %d %s", got.StatusCode, got.text)
	}
}
