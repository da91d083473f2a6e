package measure

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// raw is a database of its own on the disk that is measured. It commits a row of 1 KB at a time
// with the same durability as the store, and does nothing else.
type raw struct{ pool *sql.DB }

func openRaw(ctx context.Context, dir string) (*raw, error) {
	path := filepath.Join(dir, "raw.db")
	pool, err := sql.Open("sqlite", dbfile.DataSource(path, url.Values{"_pragma": dbfile.WritePragmas(dbfile.SyncFull)}))
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	if _, err := pool.ExecContext(ctx, "CREATE TABLE rows (body TEXT)"); err != nil {
		pool.Close()
		return nil, err
	}
	r := &raw{pool}
	_, err = r.commits(ctx) // the first ones make the files longer
	return r, err
}

// commits returns how long single commits took, in milliseconds.
func (r *raw) commits(ctx context.Context) (took []float64, err error) {
	body := strings.Repeat("0123456789abcdef", 64)
	for range rawCommits {
		began := time.Now()
		if _, err := r.pool.ExecContext(ctx, "INSERT INTO rows VALUES (?)", body); err != nil {
			return nil, err
		}
		took = append(took, ms(time.Since(began)))
	}
	slices.Sort(took)
	return took, nil
}
