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
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/mark"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// data is an open data directory and this process's share of it.
type data struct {
	db    *sqlite.DB
	share *lock
}

// openData opens the store, and frees the leases of a crashed process if no other process uses the
// directory.
func openData(ctx context.Context, o Options, times timing, policy string) (*data, error) {
	// a server that was started in the wrong directory leaves no store there
	if _, err := os.Stat(o.Agents); err != nil {
		return nil, err
	}
	path := filepath.Join(o.Data, databaseFile)
	if info, err := os.Stat(path); o.MustExist && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0) {
		err = fmt.Errorf("%w in %s, and --must-exist requires one; correct --data, restore the directory, or start once without --must-exist to create a store", ErrNoStore, o.Data)
		o.raw.Error("the data directory has no store and --must-exist is set; the server does not start", "data", o.Data)
		return nil, err
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, fmt.Errorf("creating the data directory: %w", err)
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{Clock: o.clock, Random: machine.Random{}, Visibility: times.lease + time.Minute,
		Examine: examineFor(path), Damaged: o.Damaged, CopyPages: o.CopyPages, NoRoom: o.noRoom})
	if err != nil {
		o.raw.Error("the store cannot be opened; the server does not start", "data", o.Data, "error", err)
		return nil, unopened(o, err)
	}
	if db.Made() {
		o.Logger.Info("created an empty store, because the data directory had none", "data", o.Data)
	}
	share, err := lockData(o.Data, policy, func() error {
		freed, err := db.FreeLeases(ctx)
		if freed > 0 {
			o.Logger.Info("took over the runs of a stopped process", "runs", freed)
		}
		if noRoom(err) { // the runs continue when their leases expire
			return nil
		}
		return err
	})
	if errors.Is(err, errMarked) {
		err = fmt.Errorf("another server uses %s with a different policy; start both with the same --policy, or stop the other server", o.Data)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if !share.alone {
		o.Logger.Warn("another server uses this data directory; give both the same agents and tokens: "+
			"both run the agents of the server started last, and each accepts only its own tokens", "data", o.Data)
	}
	return &data{db, share}, nil
}

// databaseFile is the store in a data directory.
const databaseFile = "dormouse.db"

// examineFor returns how long the store is examined: longer if a crashed process left a log.
func examineFor(path string) time.Duration {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return examineLongTime
	}
	return examineTime
}

// ErrNoStore: the data directory has no store, and --must-exist is set.
var ErrNoStore = errors.New("there is no store")

// unopened adds what to do to the error of a store that cannot be opened.
func unopened(o Options, err error) error {
	switch {
	case errors.Is(err, mark.ErrLost):
		return err // says what to do
	case errors.Is(err, txfile.ErrNewerFile):
		return fmt.Errorf("%w\nStart the newer version: this version does not change a store that it cannot fully read", err)
	case errors.Is(err, engine.ErrDamaged) && o.Damaged:
		return fmt.Errorf("%w\nThe damage is in data that the server needs to start, so --serve-damaged does not help. To see what is damaged and what to do, run: %s", err, o.command("doctor", "--data", o.Data))
	case errors.Is(err, engine.ErrDamaged):
		return fmt.Errorf("%w\nThe store is damaged, so the server does not start; pass --serve-damaged to serve the undamaged runs. To see what is damaged and what to do, run: %s", err, o.command("doctor", "--data", o.Data))
	case errors.Is(err, engine.ErrDisk):
		return fmt.Errorf("%w\nThe disk returned an error: check the disk, the permissions of %s and the system log. If another server is stopping there, wait until it has stopped", err, o.Data)
	}
	return err
}

// errMarked: another process uses the directory with a different policy. What a run may do would
// depend on which process continues it.
var errMarked = errors.New("local: the data directory is held with another mark")

// policyMark identifies a policy.
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

// examineTime is how long the store is examined before it is served. After a crash it is examined
// longer, because the log that was left is adopted.
const (
	examineTime     = 5 * time.Second
	examineLongTime = time.Minute
)

// storageWords are the storage states of /healthz.
var storageWords = map[txfile.Trouble]string{txfile.NoTrouble: "", txfile.Full: wire.StorageFull, txfile.Failing: wire.StorageFailing,
	txfile.Damaged: wire.StorageDamaged, txfile.Gone: wire.StorageGone}

// storage returns the state of the store for /healthz. It looks at the files, so that a probe
// notices a missing directory at once.
func (d *data) storage() httpapi.Storage {
	_ = d.db.Look()
	trouble, _ := d.db.Trouble()
	return httpapi.Storage{Trouble: storageWords[trouble], LogBytes: d.db.LogBytes()}
}

// ErrStoreEnded: the server must not continue with its store.
var ErrStoreEnded = errors.New("the server stopped because of its store")

// ended returns why the server stops, and what to do.
func (d *data) ended() error {
	why := d.db.WhyEnded()
	if errors.Is(why, engine.ErrGone) {
		return fmt.Errorf("%w: %w. Move the directory back, or start with another one", ErrStoreEnded, why)
	}
	return fmt.Errorf("%w: %w. All acknowledged data is in the write-ahead log, which the next start reads. Check the disk first, and close other programs that have the database open", ErrStoreEnded, why)
}
