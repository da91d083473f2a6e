package local

import (
	"context"
	"log/slog"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/quota"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// Quota bounds what each tenant may store and spend. Zero is no bound.
type Quota struct {
	Bytes int64
	Runs  int // that are not done

	DayCost core.USD // of the runs that start on one day of UTC
}

// nearlyFull is the share of its bytes, in percent, at which a tenant is logged.
const nearlyFull = 80

// bound is the quota with what each tenant has stored. It logs, once for each tenant, that its runs
// will be refused soon.
func (q Quota) bound(db *sqlite.DB, log *slog.Logger) quota.Bounds {
	var warned sync.Map
	return quota.Bounds{Bytes: q.Bytes, Runs: q.Runs, Stored: func(ctx context.Context, tenant string) (quota.Stored, error) {
		s, err := db.Stored(ctx, tenant)
		if err == nil && q.Bytes > 0 && s.Bytes/nearlyFull >= q.Bytes/100 {
			if _, known := warned.LoadOrStore(tenant, true); !known {
				log.Warn("a tenant has nearly used up its storage; raise --tenant-bytes before its runs are refused",
					"tenant", tenant, "bytes", s.Bytes, "quota", q.Bytes)
			}
		}
		return s, err
	}}
}
