package dynamo

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/bodyform"
)

// Attributes of a segment. Its number and its stamp are in its key.
const (
	attrPrev = "prev"
	attrW    = "w"
)

// putSegment stores a segment under its stamp. No put replaces another, so a late one of any owner
// cannot change what a head names:
//
//	owner:    put 5 (w 11) ── refused: a signal ── put 5 (w 12) ── commit: head names w 12
//	network:                     put 5 (w 11), again ────────────────> stored beside it
//
// A segment that no head ever named stays and is skipped; see [Store.Segments].
func (s *Store) putSegment(ctx context.Context, tenant, thread string, seg core.Segment) error {
	it := key{threadPK(tenant, thread), segmentSK(seg.Seq, seg.W)}.attributes()
	it[attrW], it[attrPrev] = number(int64(seg.W)), number(int64(seg.Prev))
	s.putInFeed(it, tenant, thread, seg)
	seg.Seq, seg.W, seg.Prev = 0, 0, 0
	form, packed := bodyform.PackSegment(seg.Stored(), thread)
	return s.putPacked(ctx, "storing a segment", it, form, packed)
}

// Segments implements [engine.Store] and frontend.Store.
func (s *Store) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	return s.segments(ctx, tenant, thread, from, to, true)
}

// EarlierSegments implements [engine.Earlier]: an eventually consistent read costs half.
func (s *Store) EarlierSegments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	return s.segments(ctx, tenant, thread, from, to, false)
}

func (s *Store) segments(ctx context.Context, tenant, thread string, from, to int64, consistent bool) (segments []core.Segment, err error) {
	stored, err := s.storedSegments(ctx, threadPK(tenant, thread), from, to, consistent)
	if err != nil {
		return nil, err
	}
	for i, it := range stored {
		if i > 0 && segmentSeq(stored[i-1]) == segmentSeq(it) {
			continue
		}
		same := alike(stored[i:])
		if len(same) > 1 {
			if it, err = s.named(ctx, tenant, thread, same, stored[i+len(same):]); err != nil {
				return nil, err
			}
		}
		segment, err := readSegment(it)
		if err != nil {
			return nil, err
		}
		segments = append(segments, segment)
	}
	return segments, nil
}

// alike returns the leading segments with the same number.
func alike(stored []item) []item {
	n := 1
	for n < len(stored) && segmentSeq(stored[n]) == segmentSeq(stored[0]) {
		n++
	}
	return stored[:n]
}

// named returns, of several segments with one number, the one that belongs to the journal. The
// writer of the next segment had read a head that names it, and a head never names another one for
// the same number, so any next segment identifies it, whether or not that one is in the journal.
// Without a next segment, the head does.
func (s *Store) named(ctx context.Context, tenant, thread string, same, after []item) (item, error) {
	newest := same[len(same)-1]
	seq := segmentSeq(newest)
	if len(after) > 0 && segmentSeq(after[0]) == seq+1 {
		return withStamp(same, numberAt(after[0], attrPrev)), nil
	}
	h, err := s.head(ctx, headKey(tenant, thread))
	switch {
	case err != nil || h.Seq < seq: // no head has named one yet
		return newest, err
	case h.Seq == seq:
		return withStamp(same, int64(h.Seg)), nil
	}
	after, err = s.storedSegments(ctx, threadPK(tenant, thread), seq+1, seq+1, true)
	if err != nil || len(after) == 0 {
		return newest, err
	}
	return withStamp(same, numberAt(after[0], attrPrev)), nil
}

func withStamp(same []item, w int64) item {
	for _, it := range same {
		if numberAt(it, attrW) == w {
			return it
		}
	}
	return same[len(same)-1]
}

// storedSegments returns the items from..to, by number and stamp, each with its complete body.
func (s *Store) storedSegments(ctx context.Context, pk string, from, to int64, consistent bool) (stored []item, err error) {
	if to < from {
		return nil, nil
	}
	var e expression
	condition := e.in("{pk} = :pk AND {sk} BETWEEN :from AND :to")
	e.value("pk", text(pk))
	e.value("from", text(segmentPrefix(max(from, 0))))
	e.value("to", text(segmentPrefix(to)+"~")) // after every stamp and every piece
	pieces := map[string][]byte{}
	err = s.query(ctx, "reading the journal", &dynamodb.QueryInput{KeyConditionExpression: &condition, ConsistentRead: &consistent,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values}, func(it item) (bool, error) {
		if piece := bytesAt(it, attrPiece); piece != nil {
			pieces[textAt(it, attrSK)] = piece
		} else {
			stored = append(stored, it)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return stored, assemble(stored, pieces)
}

// assemble joins the bodies of segments whose pieces were read with them.
func assemble(stored []item, pieces map[string][]byte) error {
	for _, it := range stored {
		body, err := bodyOf(it, func(sk string) ([]byte, error) {
			piece, ok := pieces[sk]
			if !ok {
				return nil, unreadable("item "+keyOf(it).String(), fmt.Errorf("its piece %s is missing", sk))
			}
			return piece, nil
		})
		if err != nil {
			return err
		}
		it[bodyform.Plain] = bytesOf(body)
	}
	return nil
}

func segmentSeq(it item) int64 {
	digits, _, _ := strings.Cut(strings.TrimPrefix(textAt(it, attrSK), prefixSegment), "#")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func readSegment(it item) (core.Segment, error) {
	var segment core.Segment
	if err := segment.UnmarshalJSON(bytesAt(it, bodyform.Plain)); err != nil {
		return core.Segment{}, unreadable(fmt.Sprintf("segment %d", segmentSeq(it)), err)
	}
	segment.Seq, segment.W, segment.Prev = segmentSeq(it), core.Stamp(numberAt(it, attrW)), core.Stamp(numberAt(it, attrPrev))
	return segment, nil
}

// PutPayload implements frontend.Store. It does not check that digest belongs to body.
func (s *Store) PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error {
	return s.putOnce(ctx, "storing a payload", payloadKey(tenant, thread, digest).attributes(), body)
}

// Payload implements [engine.Store] and frontend.Store.
func (s *Store) Payload(ctx context.Context, tenant, thread, digest string) ([]byte, error) {
	it, err := s.stored(ctx, "reading a payload", payloadKey(tenant, thread, digest))
	if err != nil {
		return nil, err
	}
	return s.body(ctx, "reading a payload", it)
}
