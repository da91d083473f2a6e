package awsdouble

import (
	"errors"
	"time"
)

type receiptRequest struct {
	ReceiptHandle     string
	VisibilityTimeout *int
}

type deleteMessage struct {
	QueueUrl      string
	ReceiptHandle string
}

type changeVisibility struct {
	QueueUrl string
	receiptRequest
}

// byReceipt finds the message that was last handed out under the handle. The handle of an earlier
// hand-over finds none, nor does one of a message that is gone.
func (q *queue) byReceipt(handle string) (*message, error) {
	if !isReceipt(handle) {
		return nil, sqsError("ReceiptHandleIsInvalid", "The input receipt handle \"%s\" is not a valid receipt handle.", handle)
	}
	for _, m := range q.messages {
		if m.receipt == handle {
			return m, nil
		}
	}
	return nil, nil
}

// deleteMessage succeeds with an old handle and does nothing, which is what the real service may do
// at any time. With the last one it deletes, even if the message has become visible again.
func (d *Double) deleteMessage(c *call, in *deleteMessage) (any, error) {
	q, err := d.queue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return struct{}{}, q.delete(in.ReceiptHandle)
}

func (q *queue) delete(handle string) error {
	m, err := q.byReceipt(handle)
	if m != nil {
		q.remove(m)
	}
	return err
}

func (d *Double) changeVisibility(c *call, in *changeVisibility) (any, error) {
	q, err := d.queue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return struct{}{}, d.change(q, in.receiptRequest)
}

// change moves the time when a message in flight becomes visible. One that is visible already,
// gone, or in somebody else's hands is refused.
func (d *Double) change(q *queue, in receiptRequest) error {
	if in.VisibilityTimeout == nil || *in.VisibilityTimeout < 0 || *in.VisibilityTimeout > maxVisibility {
		return sqsError("InvalidParameterValue", "VisibilityTimeout must be between 0 and %d", maxVisibility)
	}
	m, err := q.byReceipt(in.ReceiptHandle)
	if err != nil {
		return err
	}
	now := d.clock()
	if m == nil || !m.visible.After(now) {
		return sqsError("InvalidParameterValue", "Value %s for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available "+
			"for visibility timeout change.", in.ReceiptHandle)
	}
	m.visible = now.Add(time.Duration(*in.VisibilityTimeout) * time.Second)
	d.arrived()
	return nil
}

type (
	sendBatch struct {
		QueueUrl string
		Entries  []struct {
			Id string
			outgoing
		}
	}
	deleteBatch struct {
		QueueUrl string
		Entries  []struct{ Id, ReceiptHandle string }
	}
	changeBatch struct {
		QueueUrl string
		Entries  []struct {
			Id string
			receiptRequest
		}
	}
)

// batch does its entries one by one; each succeeds or fails on its own, and none is tried if the
// batch itself is wrong.
func (d *Double) batch(c *call, url string, ids []string, one func(q *queue, i int) (map[string]any, error)) (any, error) {
	q, err := d.queue(url)
	if err != nil {
		return nil, err
	}
	if err := checkIDs(ids); err != nil {
		return nil, err
	}
	done, failed := []map[string]any{}, []map[string]any{}
	for i, id := range ids {
		if c.fault.kind == unprocessed && i >= c.fault.n {
			failed = append(failed, map[string]any{"Id": id, "Code": "InternalError", "Message": "We encountered an internal error.", "SenderFault": false})
			continue
		}
		result, err := one(q, i)
		if err != nil {
			var e *apiError
			errors.As(err, &e) // every error of an entry is one
			failed = append(failed, map[string]any{"Id": id, "Code": e.code, "Message": e.message, "SenderFault": true})
			continue
		}
		if result == nil {
			result = map[string]any{}
		}
		result["Id"] = id
		done = append(done, result)
	}
	return map[string]any{"Successful": done, "Failed": failed}, nil
}

const maxEntries = 10

func checkIDs(ids []string) error {
	seen := map[string]bool{}
	for _, id := range ids {
		valid := id != "" && len(id) <= 80
		for _, b := range []byte(id) {
			valid = valid && (isLetter(b) || isDigit(b) || b == '_' || b == '-')
		}
		switch {
		case !valid:
			return sqsBatchError("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "+
				"It can be at most 80 letters long.")
		case seen[id]:
			return sqsBatchError("BatchEntryIdsNotDistinct", "Id "+id+" repeated.")
		}
		seen[id] = true
	}
	switch {
	case len(ids) == 0:
		return sqsBatchError("EmptyBatchRequest", "There should be at least one entry in the request.")
	case len(ids) > maxEntries:
		return sqsBatchError("TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10.")
	}
	return nil
}

func sqsBatchError(code, message string) *apiError {
	e := sqsError(code, "%s", message)
	e.sqs = "AWS.SimpleQueueService." + code
	return e
}

func (d *Double) sendBatch(c *call, in *sendBatch) (any, error) {
	var ids []string
	size := 0
	for _, e := range in.Entries {
		ids = append(ids, e.Id)
		if e.MessageBody != nil {
			size += e.size()
		}
	}
	if limit := queueAttributes["MaximumMessageSize"].high; size > limit {
		return nil, sqsBatchError("BatchRequestTooLong", "Batch requests cannot be longer than 1048576 bytes.")
	}
	return d.batch(c, in.QueueUrl, ids, func(q *queue, i int) (map[string]any, error) {
		if err := q.check(in.Entries[i].outgoing); err != nil {
			return nil, err
		}
		return d.send(c, q, in.Entries[i].outgoing), nil
	})
}

func (d *Double) deleteBatch(c *call, in *deleteBatch) (any, error) {
	var ids []string
	for _, e := range in.Entries {
		ids = append(ids, e.Id)
	}
	return d.batch(c, in.QueueUrl, ids, func(q *queue, i int) (map[string]any, error) { return nil, q.delete(in.Entries[i].ReceiptHandle) })
}

func (d *Double) changeBatch(c *call, in *changeBatch) (any, error) {
	var ids []string
	for _, e := range in.Entries {
		ids = append(ids, e.Id)
	}
	return d.batch(c, in.QueueUrl, ids, func(q *queue, i int) (map[string]any, error) { return nil, d.change(q, in.Entries[i].receiptRequest) })
}
