package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrNewerFile: the file was written by a newer program than this one.
var ErrNewerFile = errors.New("the file was written by a newer version of the program")

// migrations are applied in order and never changed once released; the number of one is its place, counted from 1.
var migrations = []string{schema1, schemaIntake, schemaRemind, schemaTurns, schemaIntakeLine, schemaUsage, schemaLinks, schemaMark, schemaFeed}

const schemaRemind = "CREATE INDEX queue_thread ON queue (tenant, thread);"

// Columns hold what conditions and indexes touch; body holds the rest of a head as JSON. Texts are never NULL.
const schema1 = `
CREATE TABLE heads (
	tenant TEXT NOT NULL, thread TEXT NOT NULL,
	run TEXT NOT NULL, agent TEXT NOT NULL, v INTEGER NOT NULL, st INTEGER NOT NULL,
	epoch INTEGER NOT NULL, rev INTEGER NOT NULL, cid INTEGER NOT NULL,
	seq INTEGER NOT NULL, seg INTEGER NOT NULL, ev INTEGER NOT NULL, sigs INTEGER NOT NULL,
	lease INTEGER NOT NULL, claim TEXT NOT NULL, tries INTEGER NOT NULL,
	dl INTEGER NOT NULL, not_before INTEGER NOT NULL, nsus INTEGER NOT NULL, has_end INTEGER NOT NULL,
	oldest TEXT NOT NULL, born INTEGER NOT NULL, due INTEGER NOT NULL,
	calls TEXT NOT NULL, timed TEXT NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, thread)
);
CREATE INDEX heads_due ON heads (due) WHERE due > 0;
CREATE INDEX heads_oldest ON heads (tenant, oldest, thread) WHERE oldest <> '';
CREATE INDEX heads_born ON heads (tenant, born, run);

CREATE TABLE inbox (
	tenant TEXT NOT NULL, thread TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
	PRIMARY KEY (tenant, thread, key)
) WITHOUT ROWID;

CREATE TABLE segments (
	tenant TEXT NOT NULL, thread TEXT NOT NULL, seq INTEGER NOT NULL,
	w INTEGER NOT NULL, prev INTEGER NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, thread, seq)
);

CREATE TABLE archive (
	tenant TEXT NOT NULL, run TEXT NOT NULL, thread TEXT NOT NULL, born INTEGER NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, run)
);
CREATE INDEX archive_born ON archive (tenant, born, run);
CREATE INDEX archive_thread ON archive (tenant, thread, born, run);

CREATE TABLE keys (
	tenant TEXT NOT NULL, key TEXT NOT NULL, run TEXT NOT NULL, digest TEXT NOT NULL, expires INTEGER NOT NULL,
	PRIMARY KEY (tenant, key)
) WITHOUT ROWID;

CREATE TABLE payloads (
	tenant TEXT NOT NULL, thread TEXT NOT NULL, digest TEXT NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (tenant, thread, digest)
);

CREATE TABLE definitions (
	tenant TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, name, digest)
);
CREATE TABLE deployed (
	tenant TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
	PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

CREATE TABLE queue (
	id INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, thread TEXT NOT NULL,
	visible_at INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
	receipt TEXT NOT NULL DEFAULT '', cause TEXT NOT NULL DEFAULT ''
);
CREATE INDEX queue_visible ON queue (visible_at);

CREATE TABLE dead (
	id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, thread TEXT NOT NULL,
	attempts INTEGER NOT NULL, cause TEXT NOT NULL, at INTEGER NOT NULL
);
`

// migrate brings the file to the newest schema in one transaction, so that of several processes one does it and none sees half
// of it.
func migrate(ctx context.Context, conn *sql.Conn, now int64) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := applyMigrations(ctx, conn, now)
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

func applyMigrations(ctx context.Context, conn *sql.Conn, now int64) error {
	_, err := conn.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, at INTEGER NOT NULL)")
	if err != nil {
		return err
	}
	var version int
	row := conn.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM migrations")
	if err := row.Scan(&version); err != nil {
		return err
	}
	if version > len(migrations) {
		return fmt.Errorf("%w: its schema is %d, this program knows %d", ErrNewerFile, version, len(migrations))
	}
	for ; version < len(migrations); version++ {
		if _, err := conn.ExecContext(ctx, migrations[version]); err != nil {
			return fmt.Errorf("migration %d: %w", version+1, err)
		}
		if _, err := conn.ExecContext(ctx, "INSERT INTO migrations (version, at) VALUES (?, ?)", version+1, now); err != nil {
			return err
		}
	}
	return nil
}
