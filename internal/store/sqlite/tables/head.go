package tables

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/hot"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/text/compact"
)

// HeadColumns are read by [ScanHead], in this order. They include the inbox and the votes, so that
// head, signals and counts belong to the same moment.
const HeadColumns = `heads.tenant, heads.thread, heads.run, heads.agent, heads.v, heads.st, heads.epoch, heads.rev, heads.cid, heads.seq,
	heads.seg, heads.ev, heads.sigs, heads.lease, heads.claim, heads.tries, heads.dl, heads.not_before, heads.nsus,
	heads.oldest, heads.born, heads.due, heads.calls, heads.timed, heads.body,
	(SELECT json_group_object(i.key, json(CASE WHEN json_valid(i.value) THEN i.value ELSE json_quote(i.value) END)) FROM inbox i WHERE i.tenant = heads.tenant AND i.thread = heads.thread),
	(SELECT json_group_array(json_array(v.suspension, v.voter, v.say)) FROM votes v WHERE v.tenant = heads.tenant AND v.thread = heads.thread)`

// body is the part of a head that has no column of its own.
type body struct {
	stored
	hot.Members
	Oldest *hot.Hidden `json:"as,omitempty"`
}

type stored struct{ core.Head }

// HeadBody returns what the column body of a head has. It is packed if the run waits or is done:
// what goes on would be packed again with each step.
func HeadBody(h core.Head) any {
	raw := core.Encode(body{stored: stored{h}})
	if h.Status == core.RunWaiting || h.Status == core.RunDone {
		return PackBody(raw, h.Thread)
	}
	return string(raw)
}

// Text returns v as JSON, bound as TEXT: SQLite would take a blob for its own binary form of JSON.
func Text(v any) string { return string(core.Encode(v)) }

// MapText encodes nil as an empty map, so that every map exists from the start.
func MapText[V any](m map[string]V) string {
	if m == nil {
		return "{}"
	}
	return Text(m)
}

// ScanHead reads the [HeadColumns]. Of a head that cannot be read it returns the identity, with an
// error that wraps [engine.ErrUnreadable] or [engine.ErrNewerSchema].
func ScanHead(s dbfile.Scanner, h *core.Head) error {
	var calls, timed, inbox, votes string
	var rest []byte
	var oldest any
	var found core.Head
	err := s.Scan(&found.Tenant, &found.Thread, &found.Run, &found.Agent, &found.Schema, &found.Status, &found.Epoch,
		&found.Rev, &found.CID, &found.Seq, &found.Seg, &found.Ev, &found.Sigs, &found.Lease, &found.Claim, &found.Tries,
		&found.Deadline, &found.NotBefore, &found.Pending, &oldest, &found.Born, &found.Due,
		&calls, &timed, &rest, &inbox, &votes)
	if err != nil {
		known, ok := identified(s)
		if !ok {
			return dbfile.Unavailable(err)
		}
		*h = known
		return Unreadable("head of thread "+known.Thread, err)
	}
	var malformed error
	found.Oldest, malformed = oldestKey(oldest, found.Run)
	full := body{stored: stored{found}}
	err = errors.Join(malformed, readBody(rest, &full), json.Unmarshal([]byte(calls), &full.Head.Calls),
		json.Unmarshal([]byte(timed), &full.Head.TimedOut), json.Unmarshal([]byte(inbox), &full.Head.Inbox), readVotes(votes, &full.Head))
	if err == nil && found.Status > core.RunDone {
		err = fmt.Errorf("%d is not a status", found.Status)
	}
	if err != nil {
		*h = identity(found)
	}
	if err != nil && found.Schema > core.SchemaVersion {
		return fmt.Errorf("%w: thread %q", engine.ErrNewerSchema, found.Thread)
	}
	if err != nil {
		return Unreadable("head of thread "+found.Thread, err)
	}
	*h = full.Head
	if h.Out == nil {
		h.Out = map[string]core.Out{}
	}
	return nil
}

func readBody(stored []byte, full *body) error {
	raw, err := compact.Unpack(stored, full.Head.Thread)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, full)
}

// readVotes reads the votes of a thread, each with its suspension.
func readVotes(rows string, h *core.Head) error {
	var read [][3]json.RawMessage
	if err := json.Unmarshal([]byte(rows), &read); err != nil {
		return err
	}
	h.Votes = map[string]vote.Tally{}
	for _, row := range read {
		var sus, voter string
		var said vote.Say
		err := errors.Join(json.Unmarshal(row[0], &sus), json.Unmarshal(row[1], &voter), json.Unmarshal(row[2], &said))
		if err != nil {
			return err
		}
		if h.Votes[sus] == nil {
			h.Votes[sus] = vote.Tally{}
		}
		h.Votes[sus][voter] = said
	}
	return nil
}

// identified returns the identity of a head that has an invalid value in some column, or false if
// the row cannot be read at all.
func identified(s dbfile.Scanner) (h core.Head, ok bool) {
	values := make([]any, 27)
	to := make([]any, len(values))
	for i := range values {
		to[i] = &values[i]
	}
	if s.Scan(to...) != nil {
		return h, false
	}
	for at, field := range map[int]*string{0: &h.Tenant, 1: &h.Thread, 2: &h.Run, 3: &h.Agent} {
		*field, _ = values[at].(string)
	}
	h.Oldest, _ = oldestKey(values[19], h.Run)
	h.Born, _ = values[20].(int64)
	h.At = h.Born
	return h, true
}

// identity is what lists show of a head that cannot be read. It has no calls.
func identity(h core.Head) core.Head {
	return core.Head{Identity: core.Identity{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Agent: h.Agent},
		Waits: core.Waits{Oldest: h.Oldest}, Origin: core.Origin{Born: h.Born, At: h.Born}}
}

// Unreadable is the error for stored data that this program cannot have written.
func Unreadable(what string, err error) error {
	return dbfile.Unavailable(fmt.Errorf("sqlite: the stored %s: %w: %w", what, engine.ErrUnreadable, err))
}
