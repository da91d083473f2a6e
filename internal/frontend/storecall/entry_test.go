package storecall_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// A damaged entry hides no other. That the store does not answer, or that the caller is gone, still
// ends the list.
func TestADamagedEntryCountsAsNone(t *testing.T) {
	clock := frontendtest.NewClock()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx     context.Context
		err     error
		skipped bool
	}{
		"unreadable":      {t.Context(), fmt.Errorf("%w: %w", engine.ErrUnavailable, engine.ErrUnreadable), true},
		"not decodable":   {t.Context(), errors.New("a newer program wrote it"), true},
		"no answer":       {t.Context(), engine.ErrUnavailable, false},
		"denied":          {t.Context(), engine.ErrDenied, false},
		"a caller's end":  {gone, context.Canceled, false},
		"nothing, at all": {t.Context(), nil, false},
	} {
		v, err := storecall.TryEntry(c.ctx, clock, func() (int, error) { return 7, c.err })
		if c.skipped != (v == 0 && err == nil) || !c.skipped && (err == nil) != (c.err == nil) {
			t.Errorf("%s: %d, %v", name, v, err)
		}
	}
}
