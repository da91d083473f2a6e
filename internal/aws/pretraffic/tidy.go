package pretraffic

import (
	"context"
	"time"
)

// old is far more than a hook may take, so that the run of another that is at work stays.
const old = time.Hour

// mostTidied is how many runs a hook deletes. The next hooks delete others.
const mostTidied = 20

// tidy deletes what earlier hooks have left that died before they could. Nothing else would: a run
// that waits has no end, and what it has stored doesn't expire.
func (h *Hook) tidy(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, discardTime)
	defer cancel()
	behind := h.o.Store.RunsBehind(h.o.Clock.Now().Add(-old).UnixMilli(), "")
	runs, _, err := h.o.Store.Runs(within, tenant, "", behind, mostTidied)
	for _, r := range runs {
		if err == nil {
			err = h.o.Discard(within, r.Thread)
		}
	}
	if err != nil {
		h.o.Logger.Warn("what earlier tests have left could not be deleted; no caller sees it", "error", err)
	}
}
