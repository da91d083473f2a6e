package sqlite

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/quota"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// countUsage counts the entire file.
const countUsage = `SELECT tenant, sum(bytes), sum(runs) FROM (
	SELECT tenant, 4096 AS bytes, st <> 3 AS runs FROM heads
	UNION ALL SELECT tenant, octet_length(body), 0 FROM segments
	UNION ALL SELECT tenant, octet_length(body), 0 FROM payloads
	UNION ALL SELECT tenant, octet_length(body), 0 FROM archive) GROUP BY tenant`

// Stored returns what a tenant has stored, and how many of its runs are not done. It stays correct
// if the process is killed.
func (db *DB) Stored(ctx context.Context, tenant string) (u quota.Stored, err error) {
	err = db.readOne(ctx, func(s dbfile.Scanner) error { return s.Scan(&u.Bytes, &u.Runs) }, "SELECT bytes, runs FROM usage WHERE tenant = ?", tenant)
	if errors.Is(err, engine.ErrNotFound) {
		return u, nil
	}
	return u, err
}
