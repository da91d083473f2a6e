package console_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// BenchmarkTheInbox reads the first page of 50 by deadline, with its count, of inboxes of 50 and of
// 10,000 questions in turn, and reports the ratio of the two.
func BenchmarkTheInbox(b *testing.B) {
	sizes := []int{50, 10_000}
	var servers []*server
	for _, n := range sizes {
		s := newServer(b)
		for i := range n {
			call := frontendtest.Call{Tool: "pay", Kind: core.KindApproval, Deadline: s.clock.Now().Add(time.Duration((i*7919)%n+1) * time.Minute).UnixMilli()}
			s.waits(`"go"`, call)
		}
		servers = append(servers, s)
	}
	took := make([]time.Duration, len(sizes))
	who := frontend.Caller{Tenant: tenant, By: "token:anna", Roles: []access.Role{access.Decide}}
	for b.Loop() {
		for i, s := range servers {
			at := time.Now()
			page, err := s.reads.Inbox(b.Context(), who, query.List{Order: query.OrderDeadline, Kind: query.KindQuestion, Limit: 50}, true)
			took[i] += time.Since(at)
			if err != nil || len(page.Items) != 50 || *page.Count != (wire.InboxCount{Questions: sizes[i]}) {
				b.Fatal(len(page.Items), page.Count, err)
			}
		}
	}
	for i, name := range []string{"ms/page-of-50", "ms/page-of-10000"} {
		b.ReportMetric(took[i].Seconds()*1000/float64(b.N), name)
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
}
