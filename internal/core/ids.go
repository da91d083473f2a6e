package core

import (
	"strconv"
	"strings"
)

// SuspensionID makes the id of a suspension that is committed in segment seq of a thread; random
// must be fresh for each. It names the thread, so that it is found without knowing its run.
func SuspensionID(thread string, seq int64, random string) string {
	return "sus_" + strconv.FormatInt(seq, 36) + "_" + random + "_" + strings.TrimPrefix(thread, "thr_")
}

// SuspensionThread is the thread of a suspension, or false if id does not say it.
func SuspensionThread(id string) (string, bool) {
	parts := strings.SplitN(id, "_", 4)
	if _, ok := SuspensionSeq(id); !ok || len(parts) != 4 || parts[3] == "" {
		return "", false
	}
	return ThreadID(parts[3]), true
}

// SuspensionSeq is the segment a suspension was committed in, or false if id is not a suspension's.
func SuspensionSeq(id string) (int64, bool) {
	rest, ok := strings.CutPrefix(id, "sus_")
	if !ok {
		return 0, false
	}
	digits, _, ok := strings.Cut(rest, "_")
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseInt(digits, 36, 64)
	return seq, err == nil && seq > 0
}

// ThreadID and RunID: a run's id carries its thread's id, so that finding it needs no index. number
// is unique within the thread.
func ThreadID(base string) string { return "thr_" + base }

// RunID is the id of the run of a thread that was started when the head's revision was number.
func RunID(thread string, number int64) string {
	return "run_" + strings.TrimPrefix(thread, "thr_") + "_" + strconv.FormatInt(number, 36)
}

// ThreadOf is the thread of a run, or false if run is not the id of one.
func ThreadOf(run string) (string, bool) {
	rest, ok := strings.CutPrefix(run, "run_")
	if !ok {
		return "", false
	}
	i := strings.LastIndexByte(rest, '_')
	if i <= 0 {
		return "", false
	}
	return ThreadID(rest[:i]), true
}

// Stamp orders the writes of one thread: epoch first, then the number of the put within the
// activation. It is never reused.
type Stamp int64

// NewStamp is the stamp of the n-th put of the activation that holds epoch.
func NewStamp(epoch int64, n int) Stamp { return Stamp(epoch<<20 + int64(n)) }

// Epoch is that of the activation whose write it is.
func (s Stamp) Epoch() int64 { return int64(s) >> 20 }
