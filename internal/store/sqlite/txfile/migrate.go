package txfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrNewerFile reports that a newer version of the program wrote the file.
var ErrNewerFile = errors.New("the file was written by a newer version of the program")

// migrate brings the file to the newest schema in one transaction, so that one of several processes
// does it and none sees half of it.
func migrate(ctx context.Context, conn *sql.Conn, migrations []string, now int64) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := applyMigrations(ctx, conn, migrations, now)
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

func applyMigrations(ctx context.Context, conn *sql.Conn, migrations []string, now int64) error {
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
	if version < 0 {
		return fmt.Errorf("its schema is %d, and no version of the program wrote that", version)
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
