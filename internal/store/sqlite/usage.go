package sqlite

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// schemaUsage counts what each tenant has stored, by triggers: every write is counted in its own transaction, whichever process makes
// it. A thread counts 4 KiB for its head, its keys and its place in the indexes, and the text of its journal, of values beside it
// and of runs in the archive counts in full. What a file already holds is counted once, by this migration.
const schemaUsage = `
CREATE TABLE usage (tenant TEXT NOT NULL PRIMARY KEY, bytes INTEGER NOT NULL, runs INTEGER NOT NULL) WITHOUT ROWID;

INSERT INTO usage (tenant, bytes, runs) ` + countUsage + `;

CREATE TRIGGER usage_head AFTER INSERT ON heads BEGIN
	INSERT INTO usage (tenant, bytes, runs) VALUES (new.tenant, 4096, new.st <> 3)
	ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes, runs = runs + excluded.runs;
END;
CREATE TRIGGER usage_status AFTER UPDATE OF st ON heads WHEN (new.st = 3) <> (old.st = 3) BEGIN
	UPDATE usage SET runs = runs + (old.st = 3) - (new.st = 3) WHERE tenant = new.tenant;
END;
CREATE TRIGGER usage_segment AFTER INSERT ON segments BEGIN
	INSERT INTO usage (tenant, bytes, runs) VALUES (new.tenant, octet_length(new.body), 0)
	ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER usage_segment_again AFTER UPDATE OF body ON segments BEGIN
	UPDATE usage SET bytes = bytes + octet_length(new.body) - octet_length(old.body) WHERE tenant = new.tenant;
END;
CREATE TRIGGER usage_payload AFTER INSERT ON payloads BEGIN
	INSERT INTO usage (tenant, bytes, runs) VALUES (new.tenant, octet_length(new.body), 0)
	ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER usage_archive AFTER INSERT ON archive BEGIN
	INSERT INTO usage (tenant, bytes, runs) VALUES (new.tenant, octet_length(new.body), 0)
	ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER usage_archive_again AFTER UPDATE OF body ON archive BEGIN
	UPDATE usage SET bytes = bytes + octet_length(new.body) - octet_length(old.body) WHERE tenant = new.tenant;
END;
`

// countUsage counts all of the file.
const countUsage = `SELECT tenant, sum(bytes), sum(runs) FROM (
	SELECT tenant, 4096 AS bytes, st <> 3 AS runs FROM heads
	UNION ALL SELECT tenant, octet_length(body), 0 FROM segments
	UNION ALL SELECT tenant, octet_length(body), 0 FROM payloads
	UNION ALL SELECT tenant, octet_length(body), 0 FROM archive) GROUP BY tenant`

// Stored is what a tenant has stored, and how many of its runs are not done. A kill of the process does not make it wrong.
func (db *DB) Stored(ctx context.Context, tenant string) (u frontend.Stored, err error) {
	err = db.readOne(ctx, func(s scanner) error { return s.Scan(&u.Bytes, &u.Runs) }, "SELECT bytes, runs FROM usage WHERE tenant = ?", tenant)
	if errors.Is(err, engine.ErrNotFound) {
		return u, nil
	}
	return u, err
}
