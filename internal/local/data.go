package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// data is an open data directory and this process's share of it.
type data struct {
	db    *sqlite.DB
	share *lock
}

// openData opens the file, and puts right what a dead process left behind if no other lives.
func openData(ctx context.Context, o Options, times timing, policy string) (*data, error) {
	path := filepath.Join(o.Data, databaseFile)
	if info, err := os.Stat(path); o.MustExist && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0) {
		err = fmt.Errorf("%w: none is in %s, and --must-exist says that one is. Bring it back, or start once without --must-exist to make one", ErrNoStore, o.Data)
		o.raw.Error("there is no store where one must exist; the server does not start", "data", o.Data)
		return nil, err
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{Clock: o.clock, Random: machine.Random{}, Visibility: times.lease + time.Minute,
		Examine: examineFor(path), Damaged: o.Damaged, CopyPages: o.CopyPages, NoRoom: o.noRoom})
	if err != nil {
		o.raw.Error("the store is not served; the server does not start", "data", o.Data, "error", err)
		return nil, unopened(o, err)
	}
	if db.Made() {
		o.Logger.Info("no store was here: an empty one was made", "data", o.Data)
	}
	share, err := lockData(o.Data, policy, func() error {
		freed, err := db.FreeLeases(ctx)
		if freed > 0 {
			o.Logger.Info("took over what a stopped process left behind", "runs", freed)
		}
		if noRoom(err) { // what was at hand goes on once its lease is over
			return nil
		}
		return err
	})
	if errors.Is(err, errMarked) {
		err = fmt.Errorf("another server works on %s with another policy; give both the same --policy, or stop it", o.Data)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if !share.alone {
		o.Logger.Warn("another server works on this data directory; give both the same agents and tokens: the agents of the one started last count for both, "+
			"the tokens for each server alone", "data", o.Data)
	}
	return &data{db, share}, nil
}

// databaseFile is the store in a data directory.
const databaseFile = "dormouse.db"

// examineFor is how long the store is examined: longer if a process that did not end by itself left
// a log.
func examineFor(path string) time.Duration {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return examineLongTime
	}
	return examineTime
}

// ErrNoStore: there is no store in a data directory in which one must exist.
var ErrNoStore = errors.New("there is no store")

// unopened says what to do about a store that cannot be opened.
func unopened(o Options, err error) error {
	switch {
	case errors.Is(err, sqlite.ErrLost):
		return err // says it itself
	case errors.Is(err, sqlite.ErrNewerFile):
		return fmt.Errorf("%w\nUse the newer version: this one changes nothing that it does not know", err)
	case errors.Is(err, engine.ErrDamaged) && o.Damaged:
		return fmt.Errorf("%w\nThe start cannot read what it needs itself, so --serve-damaged cannot help. %s says what is wrong, and what to do", err, o.command("doctor", "--data", o.Data))
	case errors.Is(err, engine.ErrDamaged):
		return fmt.Errorf("%w\nThe store is damaged, so nothing is served. %s says what, and what to do. --serve-damaged serves what is whole", err, o.command("doctor", "--data", o.Data))
	case errors.Is(err, engine.ErrDisk):
		return fmt.Errorf("%w\nThe disk answers with errors: look at it, at the rights of %s, and at the system's log. If another server is ending there, wait for that", err, o.Data)
	}
	return err
}

// errMarked: another process works on the directory under another policy, and what a run is allowed
// would depend on which takes it up.
var errMarked = errors.New("local: the data directory is held with another mark")

// policyMark tells policies apart.
func policyMark(policy *agent.Permissions) string {
	if policy == nil {
		return "no policy"
	}
	return core.Digest(core.Encode(policy))
}

func (d *data) close() error {
	defer d.share.release()
	return d.db.Close()
}

// examineTime is how long the store is examined before it is served; after a kill, while what was
// left in the log is adopted, longer.
const (
	examineTime     = 5 * time.Second
	examineLongTime = time.Minute
)

// storageWords are the troubles as /healthz has them.
var storageWords = map[sqlite.Trouble]string{sqlite.NoTrouble: "", sqlite.Full: wire.StorageFull, sqlite.Failing: wire.StorageFailing,
	sqlite.Damaged: wire.StorageDamaged, sqlite.Gone: wire.StorageGone}

// storage is the state of the store for /healthz. It looks at the files, so that a probe finds a
// directory gone at once.
func (d *data) storage() httpapi.Storage {
	_ = d.db.Look()
	trouble, _ := d.db.Trouble()
	return httpapi.Storage{Trouble: storageWords[trouble], LogBytes: d.db.LogBytes()}
}

// ErrStoreEnded ends a server that must not go on with its store.
var ErrStoreEnded = errors.New("the server ended because of its store")

// ended is why the server has to end.
func (d *data) ended() error {
	why := d.db.WhyEnded()
	if errors.Is(why, engine.ErrGone) {
		return fmt.Errorf("%w: %w. Bring what was moved back, or start with another directory", ErrStoreEnded, why)
	}
	return fmt.Errorf("%w: %w. Everything that was acknowledged is in the write-ahead log, and the next start reads it. Look at the disk first, and end other programs that have the database open", ErrStoreEnded, why)
}
