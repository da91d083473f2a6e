package dynamo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

const listNotices = "n"

func noticeRecordKey(k notice.Key, event int64) key {
	return key{threadPK(k.Tenant, k.Thread), fmt.Sprintf("%s%s#%015d", prefixNotice, escape(k.Endpoint), event)}
}

// Partitions of the index that list the records of a tenant: those of dead notices apart.
func noticesPartition(tenant string, s notice.State) string {
	if s == notice.StateDead {
		return prefixDeadNotice + escape(tenant)
	}
	return prefixNotice + escape(tenant)
}

// noticePosition is the position of a record among those of its tenant: ordered by time, then by
// its key.
//
//	000001700000000000#thr_a#ops#000000000000007
func noticePosition(r notice.Record) string {
	return fmt.Sprintf("%015d#%s#%s#%015d", r.At, escape(r.Thread), escape(r.Endpoint), r.Event)
}

// putRecord stores the record of a notice. That of a dead one never takes the place of one that is
// there: a copy of the request that arrives late would call dead what was delivered.
func (s *Store) putRecord(ctx context.Context, r notice.Record) error {
	it := noticeRecordKey(r.Key, r.Event).attributes()
	it[attrBody] = text(encoded(r))
	it[attrListPK], it[attrListSK] = text(noticesPartition(r.Tenant, r.State)), text(noticePosition(r))
	const doing = "storing the record of a notice"
	if r.State == notice.StateDead {
		return s.putNew(ctx, doing, it)
	}
	it[attrTTL] = number(time.UnixMilli(r.At+notice.Kept).Unix() + 1)
	return s.putItem(ctx, doing, it)
}

func readNoticeRecord(it item) (r notice.Record, err error) {
	if it == nil {
		return r, nil
	}
	at, err := threadOf(textAt(it, attrPK))
	rest := strings.TrimPrefix(textAt(it, attrSK), prefixNotice)
	name, digits, _ := strings.Cut(rest, "#")
	endpoint, err1 := unescape(name)
	event, err2 := strconv.ParseInt(digits, 10, 64)
	err3 := json.Unmarshal([]byte(textAt(it, attrBody)), &r)
	if err := cmp.Or(err, err1, err2, err3); err != nil {
		return r, unreadable("record "+keyOf(it).String(), err)
	}
	r.Key, r.Event = notice.Key{Tenant: at.Tenant, Thread: at.Thread, Endpoint: endpoint}, event
	return r, nil
}

// listedNotice is the record of an item for a list. One that cannot be read must not hide the
// others: it is listed with what its keys say.
func listedNotice(it item) notice.Record {
	r, err := readNoticeRecord(it)
	if err == nil {
		return r
	}
	at, _ := threadOf(textAt(it, attrPK))
	name, digits, _ := strings.Cut(strings.TrimPrefix(textAt(it, attrSK), prefixNotice), "#")
	event, _ := strconv.ParseInt(digits, 10, 64)
	endpoint, _ := unescape(name)
	born := bornAt(textAt(it, attrListSK))
	r = notice.Unread(notice.Key{Tenant: at.Tenant, Thread: at.Thread, Endpoint: endpoint}, event, born)
	if strings.HasPrefix(textAt(it, attrListPK), prefixDeadNotice) {
		r.State = notice.StateDead
	}
	return r
}

// Record implements delivery.Lines.
func (s *Store) Record(ctx context.Context, k notice.Key, event int64) (notice.Record, error) {
	it, err := s.stored(ctx, "reading the record of a notice", noticeRecordKey(k, event))
	if err != nil {
		return notice.Record{}, err
	}
	return readNoticeRecord(it)
}

// ForgetNotice implements delivery.Lines.
func (s *Store) ForgetNotice(ctx context.Context, k notice.Key, event int64) error {
	r, err := s.Record(ctx, k, event)
	if err == nil && r.State != notice.StateDead {
		err = engine.ErrNotFound
	}
	if err != nil {
		return err
	}
	return s.remove(ctx, "forgetting a notice", s.deleteRecord(r))
}

// deleteRecord deletes the record of a notice on condition that it is still the same.
func (s *Store) deleteRecord(r notice.Record) types.TransactWriteItem {
	gone := &update{key: noticeRecordKey(r.Key, r.Event)}
	gone.require("{body} = :body")
	gone.value("body", text(encoded(r)))
	return types.TransactWriteItem{Delete: &types.Delete{TableName: &s.o.Table, Key: gone.key.attributes(), ConditionExpression: gone.condition(),
		ExpressionAttributeNames: gone.names, ExpressionAttributeValues: gone.values}}
}

// Records implements delivery.Lines. Those of a thread are read from the table, those of a tenant
// from the index, which lags slightly behind.
func (s *Store) Records(ctx context.Context, tenant string, q engine.RecordQuery) ([]notice.Record, string, error) {
	after, err := parseCursor(listNotices, q.Cursor)
	if err != nil {
		return nil, "", err
	}
	limit := max(q.Limit, 1)
	var found []listed[notice.Record]
	if q.Thread != "" {
		found, err = s.recordsOfThread(ctx, tenant, q, after)
	} else {
		found, err = s.recordsOfTenant(ctx, tenant, q, after, limit+1)
	}
	if err != nil {
		return nil, "", err
	}
	page, next := cutPage(listNotices, found, limit)
	return page, next, nil
}

func (s *Store) recordsOfThread(ctx context.Context, tenant string, q engine.RecordQuery, after string) (found []listed[notice.Record], err error) {
	err = s.ofThread(ctx, "listing the notices of a thread", tenant, q.Thread, prefixNotice, func(it item) error {
		r, at := listedNotice(it), textAt(it, attrListSK)
		if fits(q, r.Endpoint, r.State) && (after == "" || at < after) {
			found = append(found, listed[notice.Record]{at, r})
		}
		return nil
	})
	slices.SortFunc(found, func(a, b listed[notice.Record]) int { return cmp.Compare(b.at, a.at) })
	return found, err
}

func fits(q engine.RecordQuery, endpoint string, state notice.State) bool {
	return (q.Endpoint == "" || q.Endpoint == endpoint) && (!q.Dead || state == notice.StateDead)
}

// recordsOfTenant merges the two partitions of the index, newest first.
func (s *Store) recordsOfTenant(ctx context.Context, tenant string, q engine.RecordQuery, after string, limit int) (found []listed[notice.Record], err error) {
	states := []notice.State{notice.StateDead, notice.StateDelivered}
	if q.Dead {
		states = states[:1]
	}
	for _, state := range states {
		part, err := s.recordsOfState(ctx, tenant, state, q.Endpoint, after, limit)
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
	}
	slices.SortFunc(found, func(a, b listed[notice.Record]) int { return cmp.Compare(b.at, a.at) })
	return found[:min(len(found), limit)], nil
}

func (s *Store) recordsOfState(ctx context.Context, tenant string, state notice.State, endpoint, after string, limit int) (found []listed[notice.Record], err error) {
	in := indexQuery(indexList, attrListPK, noticesPartition(tenant, state), attrListSK, after, false, limit)
	err = s.pages(ctx, in, func(hits []item) (bool, error) {
		var keys []key
		for _, hit := range hits {
			if endpoint == "" || strings.Contains(textAt(hit, attrListSK), "#"+escape(endpoint)+"#") {
				keys = append(keys, keyOf(hit))
			}
		}
		const doing = "listing notices"
		items, hot, err := s.partly(ctx, doing, keys)
		if err = cmp.Or(err, s.none(doing, items, hot)); err != nil {
			return false, err
		}
		for _, k := range keys {
			if items[k] == nil {
				continue
			}
			r := listedNotice(items[k])
			// the index lags: a record may be gone, or say something else by now
			if r.State == state && (endpoint == "" || r.Endpoint == endpoint) {
				found = append(found, listed[notice.Record]{textAt(items[k], attrListSK), r})
			}
		}
		return len(found) < limit, nil
	})
	return found[:min(len(found), limit)], err
}
