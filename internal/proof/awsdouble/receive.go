package awsdouble

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

type receiveMessage struct {
	QueueUrl                    string
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	AttributeNames              []string
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
}

const (
	maxReceive    = 10
	maxWait       = 20
	maxVisibility = 43200
)

func (in *receiveMessage) check() error {
	for _, p := range []struct {
		name      string
		given     *int
		low, high int
	}{{"MaxNumberOfMessages", in.MaxNumberOfMessages, 1, maxReceive}, {"WaitTimeSeconds", in.WaitTimeSeconds, 0, maxWait},
		{"VisibilityTimeout", in.VisibilityTimeout, 0, maxVisibility}} {
		if p.given != nil && (*p.given < p.low || *p.given > p.high) {
			return sqsError("InvalidParameterValue", "Value %d for parameter %s is invalid. Reason: Must be between %d and %d, if provided.",
				*p.given, p.name, p.low, p.high)
		}
	}
	return nil
}

// receiveMessage answers nil while it may go on waiting.
func (d *Double) receiveMessage(c *call, in *receiveMessage) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	q, err := d.queue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	most := 1
	if in.MaxNumberOfMessages != nil {
		most = *in.MaxNumberOfMessages
	}
	now := d.clock()
	hide := seconds64(in.VisibilityTimeout, q.number("VisibilityTimeout"))
	if c.fault.kind == handOutTwice {
		hide = 0
	}
	out := []map[string]any{}
	for _, m := range d.take(q, now, most) {
		m.receives++
		m.receipt, m.visible = d.receiptFor(m), now.Add(hide)
		if m.receives == 1 {
			m.first = now
		}
		out = append(out, m.shown(append(in.AttributeNames, in.MessageSystemAttributeNames...), in.MessageAttributeNames))
	}
	if len(out) > 0 {
		return map[string]any{"Messages": out}, nil
	}
	if c.until.IsZero() {
		c.until = time.Now().Add(seconds64(in.WaitTimeSeconds, q.number("ReceiveMessageWaitTimeSeconds")))
	}
	return nil, nil
}

// take picks visible messages in no order. What was handed out as often as the queue allows goes to
// its dead letters instead.
func (d *Double) take(q *queue, now time.Time, most int) []*message {
	q.forget(now)
	target, limit := d.deadLetters(q)
	var visible []*message
	for _, m := range slices.Clone(q.messages) {
		switch {
		case m.visible.After(now):
		case target != nil && m.receives >= limit:
			q.remove(m)
			m.source, m.visible, m.receipt = q.arn(), now, ""
			target.messages = append(target.messages, m)
			d.arrived()
		default:
			visible = append(visible, m)
		}
	}
	d.random.Shuffle(len(visible), func(i, j int) { visible[i], visible[j] = visible[j], visible[i] })
	return visible[:min(most, len(visible))]
}

func (q *queue) remove(m *message) {
	q.messages = slices.DeleteFunc(q.messages, func(o *message) bool { return o == m })
}

func (d *Double) deadLetters(q *queue) (target *queue, limit int) {
	text := q.attributes["RedrivePolicy"]
	if text == "" {
		return nil, 0
	}
	p, n, err := parseRedrive(text)
	if err != nil {
		return nil, 0
	}
	return d.queueOf(p.DeadLetterTargetArn), n
}

func (m *message) shown(system, user []string) map[string]any {
	out := map[string]any{"MessageId": m.id, "ReceiptHandle": m.receipt, "Body": m.body, "MD5OfBody": digestOf([]byte(m.body))}
	all := map[string]string{
		"ApproximateReceiveCount": strconv.Itoa(m.receives), "SentTimestamp": strconv.FormatInt(m.sent.UnixMilli(), 10),
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.first.UnixMilli(), 10), "SenderId": account,
	}
	for name, v := range map[string]string{"MessageGroupId": m.group, "AWSTraceHeader": m.trace, "DeadLetterQueueSourceArn": m.source} {
		if v != "" {
			all[name] = v
		}
	}
	if !slices.Contains(system, "All") {
		maps.DeleteFunc(all, func(name, _ string) bool { return !slices.Contains(system, name) })
	}
	if len(all) > 0 {
		out["Attributes"] = all
	}
	if chosen := m.chosen(user); len(chosen) > 0 {
		out["MessageAttributes"] = chosen
		addDigest(out, "MD5OfMessageAttributes", chosen)
	}
	return out
}

// chosen are the attributes whose names are asked for: All or .* for every one, and prefix.* for
// those that begin so.
func (m *message) chosen(names []string) map[string]messageAttribute {
	chosen := map[string]messageAttribute{}
	for name, a := range m.attributes {
		for _, want := range names {
			prefix, wild := strings.CutSuffix(want, ".*")
			if want == "All" || want == name || wild && strings.HasPrefix(name, prefix) {
				chosen[name] = a
			}
		}
	}
	return chosen
}

// wait lets go of the lock until a receive should look again: a message came, or the caller's time
// is over, which is the machine's time, as the caller is. The double's clock may be moved by a test
// and tells nobody, so a look every few milliseconds stands behind it.
func (d *Double) wait(ctx context.Context, c *call) (again bool) {
	left := time.Until(c.until)
	if c.Operation != "ReceiveMessage" || left <= 0 {
		return false
	}
	arrival := d.arrival
	d.mu.Unlock()
	defer d.mu.Lock()
	timer := time.NewTimer(min(left, lookAgain))
	defer timer.Stop()
	select {
	case <-arrival:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

const lookAgain = 20 * time.Millisecond
