package frontend

import (
	"errors"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// storage are the refusals of a store that knows why it cannot do something, the most telling
// first. Those without a pause do not pass by waiting: sending the request again is of no use until
// an operator has done something.
var storage = []storageRefusal{
	{engine.ErrNoRoom, CodeDiskFull, 30 * time.Second,
		"the disk of the server's data directory is full, so nothing was stored; it needs 16 MB of free space at least. Reading goes on; send the same request again later"},
	{engine.ErrGone, CodeStorageGone, 0, "the server's store was moved or removed, so whether this was stored cannot be told; its operator has to bring it back"},
	{engine.ErrDamaged, CodeStorageDamaged, 0, "what is stored is damaged where this request reads or writes; the operator has to repair it, as the command doctor says"},
	{engine.ErrDenied, CodeStorageDenied, 0, "the store refuses the server's credentials or rights, so nothing is stored; its operator has to grant them"},
	{engine.ErrDisk, CodeStorageFailing, 0, "the disk of the server answers with errors; whether this was stored cannot be told. The operator has to look at the disk"},
	{engine.ErrUnreadable, CodeUnreadable, 0, "what is stored here cannot be read by this version of the server; the operator has to look at it"},
}

type storageRefusal struct {
	reason error
	code   Code
	pause  time.Duration
	detail string
}

// StoreError is what a caller is told of an [engine.ErrUnavailable]: why the store cannot do it, if
// that is known, else that it is busy.
func StoreError(cause error) *Error {
	i := slices.IndexFunc(storage, func(s storageRefusal) bool { return errors.Is(cause, s.reason) })
	if i < 0 {
		return &Error{Code: CodeUnavailable, Detail: "the store is busy; send the same request again", RetryAfter: time.Second, cause: cause}
	}
	s := storage[i]
	return &Error{Code: s.code, Detail: s.detail, RetryAfter: s.pause, cause: cause}
}
