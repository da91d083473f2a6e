package sleepers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
	"github.com/dormouse-dev/dormouse/internal/core"
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
	return s.Prepare(map[string]string{"sleeper": fmt.Sprintf(agentFile, m.url())}, grant)
}

// first lets the server execute the run that is copied, and returns its thread.
func (b *bench) first(ctx context.Context, s store) (thread string, err error) {
	server, err := b.start(ctx, s.Place)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	run, err := server.api.StartRun(ctx, client.StartRequest{Agent: "sleeper", Input: core.Encode(served.Request)}, "")
	if err != nil {
		return "", err
	}
	if run, err = server.api.WaitRun(ctx, run.ID); err == nil && len(run.Pending) != 1 {
		err = fmt.Errorf("the first run does not wait for an approval: %+v", run)
	}
	return run.ThreadID, err
}

// batch is how many runs are written in one transaction.
const batch = 2000

// copy writes all other runs, and returns when the first one began. They began during the two days
// before it, so their reminders are due tomorrow.
func (b *bench) copy(ctx context.Context, s store, thread string, written func(int)) (born int64, err error) {
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
		if err := template.Write(ctx, db, draws); err != nil {
			return 0, err
		}
		written(from + len(draws))
	}
	return s.born, nil
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
