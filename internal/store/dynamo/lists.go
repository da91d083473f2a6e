package dynamo

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

var errUnread = errors.New("the server repeatedly left items of a batch unread")

// Archived implements frontend.Store. The id of a run contains its thread.
func (s *Store) Archived(ctx context.Context, tenant, run string) (core.Record, error) {
	thread, ok := core.ThreadOf(run)
	if !ok {
		return core.Record{}, engine.ErrNotFound
	}
	it, err := s.stored(ctx, "reading the record of a run", recordKey(tenant, thread, run))
	if err != nil {
		return core.Record{}, err
	}
	return readRecord(it)
}

func readRecord(it item) (r core.Record, err error) {
	if err := json.Unmarshal([]byte(textAt(it, attrBody)), &r); err != nil {
		return r, unreadable("record "+keyOf(it).String(), err)
	}
	return r, nil
}

// listed is an entry of a list: its position and its content.
type listed[T any] struct {
	at string
	of T
}

// Runs implements frontend.Store. A run that cannot be read, because a newer program wrote it or
// because it is damaged, is listed with what its keys contain; reading that run by its id returns
// the reason.
func (s *Store) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	after, err := parseCursor(listRuns, cursor)
	if err != nil {
		return nil, "", err
	}
	limit = max(limit, 1)
	read := s.runsOfTenant
	if thread != "" {
		read = func(ctx context.Context, tenant, after string, limit int) ([]listed[core.Record], error) {
			return s.runsOfThread(ctx, tenant, thread, after)
		}
	}
	found, err := read(ctx, tenant, after, limit+1)
	if err != nil {
		return nil, "", err
	}
	page, next := cutPage(listRuns, found, limit)
	return page, next, nil
}

// RunsBehind implements frontend.Store. Without a run, it returns the position before the first run
// of that time: a key sorts before the keys that it is a prefix of.
func (s *Store) RunsBehind(born int64, run string) string {
	return cursor{listRuns, runPosition(born, run)}.text()
}

// runsOfTenant reads the index, newest first, until it has limit runs.
func (s *Store) runsOfTenant(ctx context.Context, tenant, after string, limit int) (found []listed[core.Record], err error) {
	err = s.pages(ctx, indexQuery(indexList, attrListPK, runsPartition(tenant), attrListSK, after, false, limit), func(hits []item) (bool, error) {
		page, err := s.runsAt(ctx, hits)
		for _, r := range page {
			// the index may list a run at two positions while it moves
			if len(found) == 0 || found[len(found)-1].at != r.at {
				found = append(found, r)
			}
		}
		return len(found) < limit, err
	})
	return found, err
}

// runsAt reads the items that the index lists. If a head has moved on to the next run, the record
// of the listed run exists.
func (s *Store) runsAt(ctx context.Context, hits []item) (found []listed[core.Record], err error) {
	const doing = "listing runs"
	keys := make([]key, len(hits))
	for i, hit := range hits {
		keys[i] = keyOf(hit)
	}
	items, hot, err := s.partly(ctx, doing, keys)
	if err = cmp.Or(err, s.none(doing, items, hot)); err != nil {
		return nil, err
	}
	var moved []key
	for i, hit := range hits {
		if at := textAt(hit, attrListSK); textAt(items[keys[i]], attrListSK) != at && !hot[keys[i]] {
			keys[i].sk = recordSK(runAt(at))
			moved = append(moved, keys[i])
		}
	}
	records, late, err := s.partly(ctx, doing, moved)
	if err != nil {
		return nil, err
	}
	for i, hit := range hits {
		if at := textAt(hit, attrListSK); hot[keys[i]] || late[keys[i]] {
			found = append(found, listed[core.Record]{at, placed(hit, at)})
			continue
		}
		it, there := records[keys[i]]
		if !there {
			it, there = items[keys[i]]
		}
		if !there || textAt(it, attrListSK) != textAt(hit, attrListSK) {
			continue
		}
		found = append(found, listedRun(it))
	}
	return found, nil
}

// listedRun returns the run of a head or of a record for a list. A run that cannot be read must not
// hide the others.
func listedRun(it item) listed[core.Record] {
	at := textAt(it, attrListSK)
	if textAt(it, attrSK) != skHead {
		r, err := readRecord(it)
		if err != nil {
			r = placed(it, at)
			r.Status = core.RunDone
		}
		return listed[core.Record]{at, r}
	}
	h, err := readHead(it)
	if err != nil {
		return listed[core.Record]{at, placed(it, at)}
	}
	return listed[core.Record]{at, h.Record()}
}

// placed returns what is known of a run that cannot be read.
func placed(it item, position string) core.Record {
	r := core.Record{Run: runAt(position), Agent: textAt(it, attrAgent), Born: bornAt(position), At: bornAt(position)}
	r.Thread, _ = core.ThreadOf(r.Run)
	return r
}

// runsOfThread reads all runs, because their keys are not ordered by time. It reads the head before
// the records: a run that moves from the head to a record in between is found twice and listed
// once. In the other order it would be missed.
func (s *Store) runsOfThread(ctx context.Context, tenant, thread, after string) (found []listed[core.Record], err error) {
	const doing = "listing the runs of a thread"
	head, err := s.get(ctx, doing, headKey(tenant, thread))
	if err != nil || head == nil {
		return nil, err
	}
	found = append(found, listedRun(head))
	var e expression
	condition := e.in("{pk} = :pk AND begins_with({sk}, :record)")
	e.value("pk", text(threadPK(tenant, thread)))
	e.value("record", text(prefixRecord))
	err = s.query(ctx, doing, &dynamodb.QueryInput{KeyConditionExpression: &condition, ConsistentRead: aws.Bool(true),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values}, func(it item) (bool, error) {
		found = append(found, listedRun(it))
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b listed[core.Record]) int { return cmp.Compare(b.at, a.at) })
	found = slices.CompactFunc(found, func(a, b listed[core.Record]) bool { return a.at == b.at })
	return slices.DeleteFunc(found, func(r listed[core.Record]) bool { return after != "" && r.at >= after }), nil
}

// Approvals implements frontend.Store. A head that cannot be read is listed without calls, as by
// Runs. An entry whose head no longer has a suspension is skipped. An entry whose head now has
// another suspension is listed at the old position.
func (s *Store) Approvals(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	after, err := parseCursor(listApprovals, cursor)
	if err != nil {
		return nil, "", err
	}
	limit = max(limit, 1)
	var found []listed[core.Head]
	in := indexQuery(indexApprovals, attrApprovalsPK, approvalsPartition(tenant), attrApprovalsSK, after, true, limit+1)
	err = s.pages(ctx, in, func(hits []item) (bool, error) {
		page, err := s.waitingAt(ctx, hits)
		for _, h := range page {
			if !slices.ContainsFunc(found, func(f listed[core.Head]) bool { return f.of.Thread == h.of.Thread }) {
				found = append(found, h)
			}
		}
		return len(found) <= limit, err
	})
	if err != nil {
		return nil, "", err
	}
	page, next := cutPage(listApprovals, found, limit)
	return page, next, nil
}

func (s *Store) waitingAt(ctx context.Context, hits []item) (found []listed[core.Head], err error) {
	var keys []key
	for _, hit := range hits {
		keys = append(keys, keyOf(hit))
	}
	const doing = "listing approvals"
	items, hot, err := s.partly(ctx, doing, keys)
	if err = cmp.Or(err, s.none(doing, items, hot)); err != nil {
		return nil, err
	}
	for i, hit := range hits {
		if at := textAt(hit, attrApprovalsSK); hot[keys[i]] {
			found = append(found, listed[core.Head]{at, unread(hit, at)})
			continue
		}
		it := items[keys[i]]
		if it == nil || textAt(it, attrApprovalsSK) == "" {
			continue
		}
		h, err := readHead(it)
		if err != nil {
			h = unread(it, textAt(hit, attrApprovalsSK))
		}
		found = append(found, listed[core.Head]{textAt(hit, attrApprovalsSK), h})
	}
	return found, nil
}

// unread returns what is known of a head that cannot be read.
func unread(it item, position string) core.Head {
	at, _ := threadOf(textAt(it, attrPK))
	return core.Head{Identity: core.Identity{Tenant: at.Tenant, Thread: at.Thread, Run: cmp.Or(textAt(it, attrRun), runAt(position)), Agent: textAt(it, attrAgent)},
		Waits:  core.Waits{Oldest: position},
		Origin: core.Origin{Born: bornAt(position), At: bornAt(position)}}
}

// pages calls each for every page of an index until it returns false.
func (s *Store) pages(ctx context.Context, in *dynamodb.QueryInput, each func([]item) (more bool, err error)) error {
	in.TableName = &s.o.Table
	for {
		out, err := s.api.Query(ctx, in)
		if err != nil {
			return s.unavailable("reading the index "+*in.IndexName, err)
		}
		if more, err := each(out.Items); err != nil || !more || len(out.LastEvaluatedKey) == 0 {
			return err
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// longestSortKey is DynamoDB's limit in bytes: nothing sorts after a longer key.
const longestSortKey = 1024

const (
	listRuns      = "r"
	listApprovals = "a"
)

// cursor is where a page ended.
type cursor struct {
	List string `json:"l"`
	At   string `json:"s"`
}

func (c cursor) text() string { return base64.RawURLEncoding.EncodeToString(core.Encode(c)) }

func cutPage[T any](list string, found []listed[T], limit int) (page []T, next string) {
	for i, one := range found {
		if i == limit {
			return page, cursor{list, found[i-1].at}.text()
		}
		page = append(page, one.of)
	}
	return page, ""
}

func parseCursor(list, given string) (at string, err error) {
	if given == "" {
		return "", nil
	}
	var c cursor
	raw, err := base64.RawURLEncoding.DecodeString(given)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil || c.List != list || c.At == "" || len(c.At) > longestSortKey {
		return "", fmt.Errorf("%w: %q is not a valid cursor for this list", engine.ErrRefused, given)
	}
	return c.At, nil
}
