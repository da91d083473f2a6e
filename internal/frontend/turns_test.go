package frontend_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// slowInbox is a store in which each page of an inbox takes until it is let go.
type slowInbox struct {
	frontend.Store
	reads chan string // tenants, in the order in which their pages are begun
	let   chan struct{}
}

func (s slowInbox) Approvals(ctx context.Context, tenant, _ string, _ int) ([]core.Head, string, error) {
	s.reads <- tenant
	select {
	case <-s.let:
		return nil, "", nil
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
}

func (s slowInbox) read(f *query.Reader, ctx context.Context, tenant string) {
	_, _ = f.Approvals(ctx, frontend.Caller{Tenant: tenant}, query.List{})
}

// One tenant whose pages take long, and that asks for many, keeps no other from its inbox.
func TestTenantsTakeTurnsAtPages(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pages int
		// the pages that are begun, one after the other, once evil's first are under way
		want []string
	}{
		{"two at once", 2, []string{"acme", "evil", "acme", "evil"}},
		{"one at once", 1, []string{"evil", "acme", "evil", "acme"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				s := slowInbox{reads: make(chan string, 100), let: make(chan struct{})}
				f := query.New(frontend.New(frontend.Options{Store: s, Clock: frontendtest.NewClock(), Limits: frontend.Limits{Pages: tt.pages}}))
				for range 20 {
					go s.read(f, ctx, "evil")
				}
				synctest.Wait()
				for range 2 {
					go s.read(f, ctx, "acme")
				}
				synctest.Wait()
				for len(s.reads) > 0 {
					<-s.reads
				}
				var got []string
				for range tt.want {
					s.let <- struct{}{}
					synctest.Wait()
					got = append(got, <-s.reads)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("began pages of %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// A caller who goes away while it waits gives its turn to the next.
func TestAPageThatNobodyWaitsForTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s := slowInbox{reads: make(chan string, 100), let: make(chan struct{})}
		f := query.New(frontend.New(frontend.Options{Store: s, Clock: frontendtest.NewClock(), Limits: frontend.Limits{Pages: 1}}))
		go s.read(f, ctx, "evil")
		synctest.Wait()
		away, leave := context.WithCancel(ctx)
		for range 3 {
			go s.read(f, away, "acme")
		}
		go s.read(f, ctx, "third")
		synctest.Wait()
		leave()
		synctest.Wait()
		for _, want := range []string{"evil", "third"} {
			if got := <-s.reads; got != want {
				t.Fatalf("began a page of %s, want %s", got, want)
			}
			s.let <- struct{}{}
			synctest.Wait()
		}
		if len(s.reads) > 0 {
			t.Errorf("began a page of %s, who is gone", <-s.reads)
		}
		go s.read(f, ctx, "last")
		synctest.Wait()
		if len(s.reads) != 1 {
			t.Error("the place is lost")
		}
	})
}
