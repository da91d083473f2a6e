package sleepers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/copies"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// fill makes the stores: in each, the server executes one run until it waits, which is copied.
func (b *bench) fill(ctx context.Context, dir string) error {
	sum, done := 0, 0
	for _, waiting := range b.Waiting {
		sum += waiting
	}
	for i, waiting := range b.Waiting {
		s := store{waiting: waiting, total: waiting + b.Rounds*b.Decisions + spare, Place: served.Place{Dir: filepath.Join(dir, fmt.Sprint(i))}}
		if err := s.prepare(b.model); err != nil {
			return err
		}
		thread, err := b.first(ctx, s)
		if err != nil {
			return err
		}
		if s.born, err = b.copy(ctx, s, thread, func(n int) { b.progress("waiting runs", done+min(n, waiting), sum) }); err != nil {
			return err
		}
		if err := s.weigh(ctx); err != nil {
			return err
		}
		done += waiting
		b.stores = append(b.stores, s)
	}
	return nil
}

// token is the approver's. The store is temporary, and the server listens on loopback.
var token = access.NewToken([access.TokenBytes]byte{})

func (s store) prepare(m *model) error {
	grant := access.Grant{Principal: access.Principal{Name: "anna", Tenant: access.Tenant, Roles: []access.Role{access.Admin}}, Hash: access.HashOf(token)}
	return s.Prepare(map[string]string{"sleeper": fmt.Sprintf(served.Sleeper, m.url())}, grant)
}

// first lets the server execute the run that is copied, and returns its thread.
func (b *bench) first(ctx context.Context, s store) (thread string, err error) {
	server, err := b.start(ctx, s.Place)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	ctx, stop := served.UntilFull(ctx, server.api)
	defer stop()
	defer func() { err = served.Why(ctx, err) }()
	run, err := server.api.StartRun(ctx, client.StartRequest{Agent: "sleeper", Input: core.Encode(served.Request)}, "")
	if err != nil {
		return "", err
	}
	if run, err = server.api.WaitRun(ctx, run.ID); err == nil && len(run.Pending) != 1 {
		err = fmt.Errorf("the first run does not wait for an approval: %+v", run)
	}
	return run.ThreadID, err
}

// The ids are random, so each run that is written changes a page of its own in the indexes. The
// pages reach the disk when the system likes; once it holds too many, it makes writes wait, and a
// write that takes 15 s counts as one of a hanging disk. So transactions are small, and the file is
// flushed between them.
const (
	batch      = 250    // runs in one transaction
	flushEvery = 50_000 // runs
	patience   = 20     // writes that are answered as hanging, one after the other
)

// copy writes all other runs, and returns when the first one began. They began during the two days
// before it, so their reminders are due tomorrow.
func (b *bench) copy(ctx context.Context, s store, thread string, written func(int)) (born int64, err error) {
	// open until the database is closed: to close a file ends the locks of its process
	file, err := os.OpenFile(s.File(), os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Sync(), file.Close()) }()
	db, err := sqlite.Open(ctx, s.File(), sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}, Sync: dbfile.SyncOff})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	template, err := copies.Of(ctx, db, access.Tenant, thread)
	if err != nil {
		return 0, err
	}
	s.born = template.Born
	for from := 0; from < s.total-1; from += batch {
		var draws []copies.Drawn
		for i := from; i < min(from+batch, s.total-1); i++ {
			draws = append(draws, b.draw(s, i))
		}
		if err := patiently(func() error { return template.Write(ctx, db, draws) }); err != nil {
			return 0, fmt.Errorf("after %d of %d runs: %w", from, s.total, err)
		}
		if written(from + len(draws)); (from+batch)%flushEvery == 0 {
			if err := file.Sync(); err != nil {
				return 0, err
			}
		}
	}
	return s.born, nil
}

// patiently repeats a write whose disk seems to hang. The write may have been made all the same, or
// be made later, so it must be one that can be repeated.
func patiently(write func() error) (err error) {
	for range patience {
		if err = write(); !errors.Is(err, engine.ErrDisk) {
			return err
		}
	}
	return err
}

const spread = 48 * time.Hour

// draw returns what run i of a store has of its own. The same seed draws the same.
func (b *bench) draw(s store, i int) copies.Drawn {
	r := rand.New(rand.NewPCG(b.Seed, uint64(s.waiting)<<32+uint64(i)))
	before := spread.Milliseconds() - int64(i)*spread.Milliseconds()/int64(s.total)
	return copies.Drawn{Thread: text(r, 24), Claim: text(r, 20), Suspension: text(r, 26), Born: s.born - before}
}

func text(r *rand.Rand, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

// weigh reads how much space each table and index takes.
func (s *store) weigh(ctx context.Context) (err error) {
	db, err := sql.Open("sqlite", dbfile.DataSource(s.File(), url.Values{"mode": {"ro"}}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
	if err != nil {
		return err
	}
	defer rows.Close()
	s.space = map[string]float64{}
	for rows.Next() {
		var name string
		var bytes float64
		if err := rows.Scan(&name, &bytes); err != nil {
			return err
		}
		each := bytes / float64(s.total)
		s.bytes += each
		if each >= 1 {
			s.space[strings.TrimPrefix(name, "sqlite_autoindex_")] += each
		}
	}
	return rows.Err()
}
