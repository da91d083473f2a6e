package refusal

import (
	"errors"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// reasons are the refusals of a store that knows why it cannot do something, the most telling
// first. Those without a pause do not pass by waiting: sending the request again is of no use until
// an operator has done something.
var reasons = []storageReason{
	{engine.ErrNoRoom, CodeDiskFull, 30 * time.Second,
		"the server's disk is full, so nothing was stored; it needs at least 16 MB of free space. Reads still work; send the same request again later"},
	{engine.ErrGone, CodeStorageGone, 0, "the server's store was moved or removed, so the request may have been stored or not; ask the operator to restore it"},
	{engine.ErrDamaged, CodeStorageDamaged, 0, "the stored data is damaged where this request reads or writes; ask the operator to examine the store with the command doctor"},
	{engine.ErrDenied, CodeStorageDenied, 0, "the store rejects the server's credentials or permissions, so nothing is stored; ask the operator to grant access"},
	{engine.ErrDisk, CodeStorageFailing, 0, "the server's disk returns errors, so the request may have been stored or not; ask the operator to check the disk"},
	{engine.ErrUnreadable, CodeUnreadable, 0, "this version of the server can't read the stored data; ask the operator to check which version wrote it"},
}

type storageReason struct {
	reason error
	code   Code
	pause  time.Duration
	detail string
}

// Storage translates an [engine.ErrUnavailable] for the caller: the reason why the store can't
// do it, if known, otherwise that it is busy.
func Storage(cause error) *Error {
	i := slices.IndexFunc(reasons, func(s storageReason) bool { return errors.Is(cause, s.reason) })
	if i < 0 {
		return &Error{Code: CodeUnavailable, Detail: "the store is busy; send the same request again", RetryAfter: time.Second, cause: cause}
	}
	s := reasons[i]
	return &Error{Code: s.code, Detail: s.detail, RetryAfter: s.pause, cause: cause}
}
