package enginetest

import (
	"context"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// PostedStore is the Messages of package slack.
type PostedStore interface {
	PutPosted(ctx context.Context, p notice.Posted) error
	Posted(ctx context.Context, p notice.Posted) (notice.Posted, error)
}

// TestPosted checks a store of which message asks. The first record stays, and belongs to one
// tenant, run, target and suspension.
func TestPosted(t *testing.T, store PostedStore) {
	p := notice.Posted{Tenant: tenant, Run: "run_a_0", Target: "desk", Suspension: "sus_2_x", Channel: "C1", TS: "1700000000.000100", Tool: "pay", At: 1 << 41}
	later := p
	later.TS = "1700000000.000200"
	for _, put := range []notice.Posted{p, later} {
		if err := store.PutPosted(t.Context(), put); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := store.Posted(t.Context(), p); err != nil || got != p {
		t.Errorf("%+v, %v", got, err)
	}
	for _, other := range []notice.Posted{
		{Tenant: "zoo", Run: p.Run, Target: p.Target, Suspension: p.Suspension},
		{Tenant: p.Tenant, Run: "run_b_0", Target: p.Target, Suspension: p.Suspension},
		{Tenant: p.Tenant, Run: p.Run, Target: "other", Suspension: p.Suspension},
		{Tenant: p.Tenant, Run: p.Run, Target: p.Target, Suspension: "sus_3_x"},
		{Tenant: p.Tenant + "#" + p.Run, Target: p.Target, Suspension: p.Suspension},
	} {
		if got, err := store.Posted(t.Context(), other); err != engine.ErrNotFound {
			t.Errorf("%+v: %+v, %v", other, got, err)
		}
	}
}
