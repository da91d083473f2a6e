package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Attributes of a line, beside those that it shares with a head. Each entry is an attribute of its
// own, named by its event: owners of the run add entries while the worker changes others, and
// DynamoDB refuses a path into the map of an item that does not exist yet.
const (
	attrLast  = "last"
	attrAdds  = "adds"
	entryName = "p" // and the number of the event
)

func entryAttribute(event int64) string { return entryName + strconv.FormatInt(event, 10) }

func lineKey(k notice.Key) key {
	return key{threadPK(k.Tenant, k.Thread), prefixLine + escape(k.Endpoint)}
}

// HandOver implements [engine.Lines]. It is one conditional write, and more if the line is full.
func (s *Store) HandOver(ctx context.Context, req engine.HandOver) (woken bool, err error) {
	u := &update{key: lineKey(req.Key)}
	u.set(entryAttribute(req.Event), text(encoded(notice.Entry{Kind: req.Kind, Seq: req.Seq, Since: req.Now})))
	u.set(attrLast, number(req.Event))
	u.add(attrAdds, 1)
	u.set(attrAt, number(req.Now))
	s.setDue(u, req.Now)
	u.require("attribute_not_exists({last}) OR {last} < :last")
	l, _, err := s.changeLine(ctx, "handing a notice over", u)
	if err != nil {
		return false, err
	}
	return false, s.trim(ctx, req.Key, l, req.Now)
}

// mostTrimmed is how many entries one update removes: an expression has at most 4 KB.
const mostTrimmed = 50

// trim gives up what is too much for a line. Records are stored first, so that a notice is in its
// line or has a record at any time. The update demands that no entry was added: an operator who
// finds a record may have redriven its notice before the line is without it.
func (s *Store) trim(ctx context.Context, k notice.Key, l notice.Line, now int64) error {
	const doing = "giving up notices of a line that is full"
	for conflicts := 0; ; {
		_, dead := l.Trim(k, s.o.Bound, now)
		if len(dead) == 0 {
			return nil
		}
		u := &update{key: lineKey(k)}
		for _, r := range dead[:min(len(dead), mostTrimmed)] {
			if err := s.putRecord(ctx, r); err != nil {
				return err
			}
			u.remove(entryAttribute(r.Event))
		}
		u.require("{adds} = :adds")
		u.value("adds", number(l.Adds))
		left, won, err := s.changeLine(ctx, doing, u)
		if err != nil {
			return err
		}
		if l = left; won {
			continue
		}
		if conflicts++; conflicts == mostConflicts {
			return s.unavailable(doing, fmt.Errorf("the line of %s changes all the time", k.Endpoint))
		}
	}
}

// ClaimLine implements delivery.Lines. It expresses [notice.Line.Claimable]; as for a run, a claim
// whose answer was lost finds itself in the line.
func (s *Store) ClaimLine(ctx context.Context, req engine.LineClaim) (notice.Line, error) {
	u := &update{key: lineKey(req.Key)}
	u.set(attrLease, number(req.LeaseEnd))
	u.set(attrClaim, text(req.Claim))
	s.setDue(u, req.Due)
	u.add(attrEpoch, 1)
	u.require("attribute_exists({due}) AND {at} <= :early AND (attribute_not_exists({lease}) OR {lease} < :now)")
	u.require("attribute_not_exists({claim}) OR {claim} <> :claim")
	u.value("early", number(req.Now+notice.Early))
	u.value("now", number(req.Now))
	l, won, err := s.changeLine(ctx, "claiming a line", u)
	switch {
	case err != nil || won:
		return l, err
	case l.Claim == req.Claim && l.Lease != 0:
		return l, nil
	}
	return l, engine.ErrRefused
}

// WriteLine implements delivery.Lines. The record is stored first, so that a notice is in its line
// or has a record at any time.
func (s *Store) WriteLine(ctx context.Context, req engine.LineWrite) (notice.Line, error) {
	if req.Record != nil {
		if err := s.putRecord(ctx, *req.Record); err != nil {
			return notice.Line{}, err
		}
	}
	u := &update{key: lineKey(req.Key)}
	switch {
	case req.Entry != nil:
		u.set(entryAttribute(req.Event), text(encoded(*req.Entry)))
		u.require("attribute_exists({" + entryAttribute(req.Event) + "})")
	case req.Event != 0:
		u.remove(entryAttribute(req.Event))
	}
	u.require("{epoch} = :epoch")
	u.value("epoch", number(req.Epoch))
	if req.Release {
		u.remove(attrLease)
		u.put(attrAt, unlessZero(req.Due))
		s.setDue(u, req.Due)
	}
	if req.Adds != 0 {
		u.require("{adds} = :adds")
		u.value("adds", number(req.Adds))
	}
	l, won, err := s.changeLine(ctx, "writing a line", u)
	switch {
	case err != nil || won:
		return l, err
	case l.Epoch == req.Epoch:
		return l, engine.ErrRefused
	}
	return notice.Line{}, engine.ErrFenced
}

// changeLine sends an update of a line. It returns the line as it is then, or the one that refused
// the update; a zero line if there is none.
func (s *Store) changeLine(ctx context.Context, doing string, u *update) (l notice.Line, won bool, err error) {
	out, err := s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &s.o.Table, Key: u.key.attributes(),
		UpdateExpression: u.changes(), ConditionExpression: u.condition(),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values, ReturnValues: types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	if err == nil {
		l, err = readLine(out.Attributes)
		return l, true, err
	}
	old, refused := refusal(err)
	if !refused {
		return notice.Line{}, false, s.unavailable(doing, err)
	}
	if len(old) == 0 {
		if old, err = s.get(ctx, doing, u.key); err != nil {
			return notice.Line{}, false, err
		}
	}
	l, err = readLine(old)
	return l, false, err
}

func readLine(it item) (notice.Line, error) {
	l := notice.Line{Epoch: numberAt(it, attrEpoch), Lease: numberAt(it, attrLease), Claim: textAt(it, attrClaim), Last: numberAt(it, attrLast),
		Adds: numberAt(it, attrAdds), At: numberAt(it, attrAt), Due: numberAt(it, attrDue), Entries: map[int64]notice.Entry{}}
	for name := range it {
		digits, ours := strings.CutPrefix(name, entryName)
		event, err := strconv.ParseInt(digits, 10, 64)
		if !ours || err != nil {
			continue
		}
		var e notice.Entry
		if err := json.Unmarshal([]byte(textAt(it, name)), &e); err != nil {
			return l, unreadable("line "+keyOf(it).String(), err)
		}
		l.Entries[event] = e
	}
	return l, nil
}

// Line implements delivery.Lines.
func (s *Store) Line(ctx context.Context, k notice.Key) (notice.Line, error) {
	it, err := s.stored(ctx, "reading a line", lineKey(k))
	if err != nil {
		return notice.Line{}, err
	}
	return readLine(it)
}

// ThreadLines implements delivery.Lines.
func (s *Store) ThreadLines(ctx context.Context, tenant, thread string) (map[string]notice.Line, error) {
	lines := map[string]notice.Line{}
	err := s.ofThread(ctx, "reading the lines of a thread", tenant, thread, prefixLine, func(it item) error {
		endpoint, err := unescape(strings.TrimPrefix(textAt(it, attrSK), prefixLine))
		if err != nil {
			return unreadable("line "+keyOf(it).String(), err)
		}
		lines[endpoint], err = readLine(it)
		return err
	})
	return lines, err
}

// ofThread calls each for the items of a thread whose sort keys begin with a prefix, in their
// order.
func (s *Store) ofThread(ctx context.Context, doing, tenant, thread, prefix string, each func(item) error) error {
	var e expression
	condition := e.in("{pk} = :pk AND begins_with({sk}, :prefix)")
	e.value("pk", text(threadPK(tenant, thread)))
	e.value("prefix", text(prefix))
	return s.query(ctx, doing, &dynamodb.QueryInput{KeyConditionExpression: &condition, ConsistentRead: aws.Bool(true),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values}, func(it item) (bool, error) { return true, each(it) })
}

// RedriveNotice implements delivery.Lines. The record goes and the entry comes in one transaction,
// so that a copy of the request that arrives late finds no record, and adds nothing.
func (s *Store) RedriveNotice(ctx context.Context, k notice.Key, event, now int64) error {
	const doing = "redriving a notice"
	for n := range mostConflicts {
		it, err := s.get(ctx, doing, noticeRecordKey(k, event))
		if err != nil {
			return err
		}
		r, err := readNoticeRecord(it)
		if err != nil {
			return err
		}
		if it == nil || r.State != notice.StateDead {
			return engine.ErrNotFound
		}
		moved, err := s.tryRedrive(ctx, r, now)
		if err == nil && !moved {
			var l notice.Line
			if l, err = s.Line(ctx, k); err == nil {
				err = s.trim(ctx, k, l, now)
			}
		}
		if !moved {
			return err
		}
		if waitErr := s.pause(ctx, firstPause<<n); waitErr != nil {
			return s.unavailable(doing, waitErr)
		}
	}
	return s.unavailable(doing, fmt.Errorf("the line of %s changes all the time", k.Endpoint))
}

// tryRedrive sends the transaction once; moved says that it conflicted with another write.
func (s *Store) tryRedrive(ctx context.Context, r notice.Record, now int64) (moved bool, err error) {
	entry := notice.Line{}.Redrive(r, now).Entries[r.Event]
	u := &update{key: lineKey(r.Key)}
	u.set(entryAttribute(r.Event), text(encoded(entry)))
	u.add(attrAdds, 1)
	u.set(attrAt, number(now))
	s.setDue(u, now)
	_, err = s.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		s.deleteRecord(r),
		{Update: &types.Update{TableName: &s.o.Table, Key: u.key.attributes(), UpdateExpression: u.changes(),
			ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values}},
	}})
	if err == nil {
		return false, nil
	}
	switch _, reason := firstReason(err); aws.ToString(reason.Code) {
	case reasonConflict, reasonThrottled, reasonCapacity, reasonRefused: // look again
		return true, nil
	}
	return false, s.unavailable("redriving a notice", err)
}
