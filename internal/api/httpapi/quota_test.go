package httpapi_test

import (
	"context"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/quota"
)

// What begins work is refused beyond a tenant's quota, in each of the ways that work begins.
func TestQuotasOverHTTP(t *testing.T) {
	stored := quota.Stored{}
	s := newServer(t, settings{front: func(o *frontend.Options) {
		o.Quota = quota.Bounds{Bytes: 1 << 20, Runs: 10, Stored: func(context.Context, string) (quota.Stored, error) { return stored, nil }}
	}})
	failed, done := s.start(), s.start()
	s.worker.End(failed.ID, core.Reason{Kind: core.Failed, Code: "boom"}, "")
	s.worker.Finish(done.ID, "done")
	for code, is := range map[string]struct {
		quota.Stored
		status int
	}{
		"tenant_too_many_open_runs": {quota.Stored{Runs: 10}, 429},
		"tenant_storage_full":       {quota.Stored{Bytes: 1 << 20}, 507},
	} {
		stored = is.Stored
		for path, body := range map[string]string{
			"/v1/runs": `{"agent":"desk","input":"hello"}`,
			"/v1/asks": `{"title":"Deploy?"}`,
			"/v1/threads/" + done.ThreadID + "/messages": `{"input":"hello"}`,
			"/v1/runs/" + failed.ID + "/retry":           ``,
		} {
			if got := s.send("POST", path, body); got.StatusCode != is.status || got.code() != code {
				t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
			}
		}
	}
}
