package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/hot"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/headform"
)

// Attributes. Their names count in an item's size.
const (
	attrPK  = "pk"
	attrSK  = "sk"
	attrTTL = "ttl"

	attrShard       = "dsh" // index due
	attrDue         = "due"
	attrListPK      = "lp" // index list
	attrListSK      = "ls"
	attrApprovalsPK = "ap" // index approvals
	attrApprovalsSK = "as"

	attrRun    = "run" // of the head; written by a start
	attrAgent  = "agent"
	attrIdem   = "idem"
	attrEpoch  = "epoch"
	attrClaim  = "claim"
	attrSigs   = "sigs"
	attrInbox  = "inbox"
	attrStatus = "st" // written by its owner
	attrSchema = "v"
	attrRev    = "rev"
	attrCID    = "cid"
	attrSeq    = "seq"
	attrSeg    = "seg"
	attrEv     = "ev"
	attrLease  = "lease"
	attrTries  = "tries"
	attrDl     = "dl"
	attrNot    = "not_before"
	attrNsus   = "nsus"
	attrEnd    = "end"
	attrCalls  = "calls"
	attrTimed  = "timed"
	attrAV     = "av"
	attrAt     = "at"
	attrSeq0   = "seq0"
	attrEv0    = "ev0"
	attrRest   = "x"

	attrSus  = "sus" // of a call; its status is st
	attrJSON = "j"
)

// rest is the part of a head that has neither an attribute of its own nor a place in the item's
// keys.
type rest struct {
	stored
	hot.Members
	Idem    *hot.Hidden `json:"idem,omitempty"`
	End     *hot.Hidden `json:"end,omitempty"`
	Version *hot.Hidden `json:"av,omitempty"`
	At      *hot.Hidden `json:"at,omitempty"`
	Seq0    *hot.Hidden `json:"seq0,omitempty"`
	Ev0     *hot.Hidden `json:"ev0,omitempty"`
	Oldest  string      `json:"as,omitempty"` // only if the index has it in another form
	// in short
	Parent *headform.Parent `json:"pa,omitempty"`
}

type stored struct{ core.Head }

// position is the position of a head in the list of approvals. No two heads of a tenant have the
// same one, so a page may end anywhere.
func position(h core.Head) string {
	if h.Oldest == "" || strings.HasSuffix(h.Oldest, "#"+h.Run) {
		return h.Oldest
	}
	return h.Oldest + "#" + h.Thread
}

func restOf(h core.Head) types.AttributeValue {
	r := rest{stored: stored{h}, Parent: headform.ShortParent(h.Parent)}
	r.Out = headform.ShortOutbox(h.Thread, h.Out)
	if position(h) != h.Oldest {
		r.Oldest = h.Oldest
	}
	return jsonOf(h.Schema, encoded(r))
}

// jsonOf packs JSON in heads that programs without [core.SchemaFamily] don't read anyway.
func jsonOf(schema int, json string) types.AttributeValue {
	if schema < core.SchemaFamily {
		return text(json)
	}
	return bytesOf(headform.Pack(json))
}

func jsonAt(it item, name string) string {
	if packed := bytesAt(it, name); packed != nil {
		return headform.Unpack(packed)
	}
	return textAt(it, name)
}

func encoded(v any) string { return string(core.Encode(v)) }

// attribute is an attribute of a head. A nil value is not stored.
type attribute struct {
	name  string
	value types.AttributeValue
}

// ownerAttributes returns the attributes that a commit writes.
func ownerAttributes(h core.Head) []attribute {
	var end, ap types.AttributeValue
	if h.End != nil {
		end = text(encoded(h.End))
	}
	if h.Oldest != "" {
		ap = text(approvalsPartition(h.Tenant))
	}
	return []attribute{
		{attrStatus, text(h.Status.String())}, {attrSchema, number(int64(h.Schema))}, {attrRev, number(h.Rev)},
		{attrCID, unlessZero(int64(h.CID))}, {attrSeq, unlessZero(h.Seq)}, {attrSeg, unlessZero(int64(h.Seg))}, {attrEv, unlessZero(h.Ev)},
		{attrLease, unlessZero(h.Lease)}, {attrTries, unlessZero(int64(h.Tries))}, {attrDl, unlessZero(h.Deadline)},
		{attrNot, unlessZero(h.NotBefore)}, {attrNsus, unlessZero(int64(h.Pending))}, {attrEnd, end},
		{attrAV, hashOf(h.Version)}, {attrAt, unlessZero(h.At)}, {attrSeq0, unlessZero(h.Seq0)}, {attrEv0, unlessZero(h.Ev0)},
		{attrCalls, callsOf(h)}, {attrTimed, timedOf(h.Thread, h.TimedOut)}, {attrRest, restOf(h)},
		{attrApprovalsPK, ap}, {attrApprovalsSK, unlessEmpty(position(h))},
	}
}

// startAttributes returns the attributes that a start writes in addition to the owner's. The inbox
// exists from the start, so that a signal can be added to it.
func (s *Store) startAttributes(h core.Head) []attribute {
	var shard types.AttributeValue
	if h.Due != 0 {
		shard = text(s.shard(threadPK(h.Tenant, h.Thread)))
	}
	return append(voteAttributes(h), []attribute{
		{attrRun, text(h.Run)}, {attrAgent, text(h.Agent)}, {attrIdem, hashOf(h.Idem)},
		{attrEpoch, number(h.Epoch)}, {attrClaim, unlessEmpty(h.Claim)}, {attrSigs, number(h.Sigs)}, {attrInbox, inboxOf(h.Thread, h.Inbox)},
		{attrDue, unlessZero(h.Due)}, {attrShard, shard},
		{attrListPK, text(runsPartition(h.Tenant))}, {attrListSK, text(runPosition(h.Born, h.Run))},
	}...)
}

func unlessZero(n int64) types.AttributeValue {
	if n == 0 {
		return nil
	}
	return number(n)
}

func unlessEmpty(s string) types.AttributeValue {
	if s == "" {
		return nil
	}
	return text(s)
}

// restOfCall is a call without the values that conditions read.
type restOfCall struct {
	core.Call
	Status *hot.Hidden `json:"st,omitempty"`
	Sus    *hot.Hidden `json:"sus,omitempty"`
}

func callsOf(h core.Head) types.AttributeValue {
	if len(h.Calls) == 0 {
		return nil
	}
	out := item{}
	for id, c := range h.Calls {
		c = headform.ShortCall(h.Thread, c)
		call := item{attrStatus: text(c.Status.String())}
		if c.Sus != "" {
			call[attrSus] = text(c.Sus)
		}
		if j := encoded(restOfCall{Call: c}); j != "{}" {
			call[attrJSON] = jsonOf(h.Schema, j)
		}
		out[id] = mapOf(call)
	}
	return mapOf(out)
}

func timedOf(thread string, timed map[string]int) types.AttributeValue {
	if len(timed) == 0 {
		return nil
	}
	out := item{}
	for sus, n := range timed {
		out[headform.Short(thread, sus)] = number(int64(n))
	}
	return mapOf(out)
}

// readHead decodes the head of an item. A head that a newer program wrote is decoded as far as
// possible.
func readHead(it item) (core.Head, error) {
	at, err := threadOf(textAt(it, attrPK))
	if err != nil {
		return core.Head{}, err
	}
	h, err := decodeHead(it, at.Thread)
	h.Tenant, h.Thread = at.Tenant, at.Thread
	switch {
	case err == nil:
		return h, nil
	case h.Schema > core.SchemaVersion:
		return core.Head{}, fmt.Errorf("%w: thread %q", engine.ErrNewerSchema, at.Thread)
	}
	return core.Head{}, unreadable("head of thread "+at.Thread, err)
}

func decodeHead(it item, thread string) (core.Head, error) {
	var r rest
	err := json.Unmarshal([]byte(jsonAt(it, attrRest)), &r)
	h := r.Head
	h.Thread, h.Parent = thread, r.Parent.Long()
	h.Run, h.Agent, h.Claim = textAt(it, attrRun), textAt(it, attrAgent), textAt(it, attrClaim)
	h.Version, h.Idem = hashAt(it, attrAV), hashAt(it, attrIdem)
	h.Schema, h.Tries, h.Pending = int(numberAt(it, attrSchema)), int(numberAt(it, attrTries)), int(numberAt(it, attrNsus))
	h.Epoch, h.Rev, h.Sigs = numberAt(it, attrEpoch), numberAt(it, attrRev), numberAt(it, attrSigs)
	h.Seq, h.Ev = numberAt(it, attrSeq), numberAt(it, attrEv)
	h.CID, h.Seg = core.Stamp(numberAt(it, attrCID)), core.Stamp(numberAt(it, attrSeg))
	h.Lease, h.Deadline, h.NotBefore = numberAt(it, attrLease), numberAt(it, attrDl), numberAt(it, attrNot)
	h.At, h.Seq0, h.Ev0, h.Due = numberAt(it, attrAt), numberAt(it, attrSeq0), numberAt(it, attrEv0), numberAt(it, attrDue)
	h.Born = bornAt(textAt(it, attrListSK))
	if h.Oldest = r.Oldest; h.Oldest == "" {
		h.Oldest = textAt(it, attrApprovalsSK)
	}
	return h, errors.Join(err, h.Status.UnmarshalText([]byte(textAt(it, attrStatus))), decodeEnd(it, &h), decodeMaps(it, &h))
}

func decodeEnd(it item, h *core.Head) error {
	end := textAt(it, attrEnd)
	if end == "" {
		return nil
	}
	return json.Unmarshal([]byte(end), &h.End)
}

// decodeMaps decodes the maps of a head. It creates empty ones, because the planner writes into
// them.
func decodeMaps(it item, h *core.Head) (err error) {
	long := func(id string) string { return headform.Long(h.Thread, id) }
	h.Calls, h.TimedOut, h.Inbox = map[string]core.Call{}, map[string]int{}, map[string]core.Signal{}
	for id := range mapAt(it, attrCalls) {
		call, decodeErr := decodeCall(mapAt(mapAt(it, attrCalls), id))
		h.Calls[id], err = headform.LongCall(h.Thread, call), errors.Join(err, decodeErr)
	}
	if h.Out = headform.LongOutbox(h.Thread, h.Out); h.Out == nil {
		h.Out = map[string]core.Out{}
	}
	timed := mapAt(it, attrTimed)
	for sus := range timed {
		h.TimedOut[long(sus)] = int(numberAt(timed, sus))
	}
	inbox := mapAt(it, attrInbox)
	for key := range inbox {
		h.Inbox[long(key)] = readSignal(mapAt(inbox, key), long)
	}
	h.Votes = votesIn(it, long)
	return err
}

func decodeCall(it item) (core.Call, error) {
	var c restOfCall
	if j := jsonAt(it, attrJSON); j != "" {
		if err := json.Unmarshal([]byte(j), &c); err != nil {
			return core.Call{}, err
		}
	}
	c.Call.Sus = textAt(it, attrSus)
	return c.Call, c.Call.Status.UnmarshalText([]byte(textAt(it, attrStatus)))
}

// Load implements [engine.Store] and frontend.Store.
func (s *Store) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	h, err := s.head(ctx, headKey(tenant, thread))
	if err == nil && h.Thread == "" {
		err = engine.ErrNotFound
	}
	return h, err
}

// head reads a head consistently, or a zero head if there is none.
func (s *Store) head(ctx context.Context, at key) (core.Head, error) {
	it, err := s.get(ctx, "reading a head", at)
	if err != nil || it == nil {
		return core.Head{}, err
	}
	return s.seen(it)
}

// get reads an item consistently, or nil if there is none.
func (s *Store) get(ctx context.Context, doing string, at key) (item, error) {
	consistent := true
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.o.Table, Key: at.attributes(), ConsistentRead: &consistent})
	if err != nil {
		return nil, s.unavailable(doing, err)
	}
	if len(out.Item) == 0 {
		return nil, nil
	}
	return out.Item, nil
}

// stored is get for an item that must be there. [engine.ErrNotFound] if it is not.
func (s *Store) stored(ctx context.Context, doing string, at key) (item, error) {
	it, err := s.get(ctx, doing, at)
	if err == nil && it == nil {
		err = engine.ErrNotFound
	}
	return it, err
}
