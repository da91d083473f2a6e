package awsdouble

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// queue is one standard queue. It is seen and changed under the double's lock only.
type queue struct {
	name       string
	attributes map[string]string
	since      time.Time
	messages   []*message
}

// message is one copy of a message in a queue.
type message struct {
	id         string
	body       string
	group      string
	trace      string
	attributes map[string]messageAttribute
	sent       time.Time
	visible    time.Time
	receives   int
	first      time.Time
	receipt    string // of the last hand-over
	source     string // ARN of the queue it was a dead letter of
}

// rangeOf says which numbers a queue's attribute takes, and what it is if nobody sets it.
type rangeOf struct{ low, high, standard int }

var queueAttributes = map[string]rangeOf{
	"VisibilityTimeout":             {0, 43200, 30},
	"DelaySeconds":                  {0, 900, 0},
	"MessageRetentionPeriod":        {60, 1209600, 345600},
	"MaximumMessageSize":            {1024, 1 << 20, 1 << 20},
	"ReceiveMessageWaitTimeSeconds": {0, 20, 0},
	"KmsDataKeyReusePeriodSeconds":  {60, 86400, 300},
}

// acceptedAttributes are taken and given back, and change nothing here.
var acceptedAttributes = []string{"Policy", "KmsMasterKeyId", "SqsManagedSseEnabled", "RedriveAllowPolicy"}

func (q *queue) arn() string { return "arn:aws:sqs:" + region + ":" + account + ":" + q.name }

func (q *queue) number(attribute string) int {
	if n, err := strconv.Atoi(q.attributes[attribute]); err == nil {
		return n
	}
	return queueAttributes[attribute].standard
}

func (q *queue) duration(attribute string) time.Duration {
	return time.Duration(q.number(attribute)) * time.Second
}

// redrive is a RedrivePolicy. The console writes the count as text, so both forms are taken.
type redrive struct {
	DeadLetterTargetArn string      `json:"deadLetterTargetArn"`
	MaxReceiveCount     json.Number `json:"maxReceiveCount"`
}

const maxReceives = 1000

func (d *Double) checkAttributes(given map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		v := given[name]
		r, numeric := queueAttributes[name]
		n, err := strconv.Atoi(v)
		switch {
		case numeric && (err != nil || n < r.low || n > r.high):
			return sqsError("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
		case numeric, slices.Contains(acceptedAttributes, name):
		case name == "RedrivePolicy":
			if err := d.checkRedrive(v); err != nil {
				return err
			}
		default:
			return unknown("queue attribute %s", name)
		}
	}
	return nil
}

func (d *Double) checkRedrive(text string) error {
	p, n, err := parseRedrive(text)
	if err != nil || n < 1 || n > maxReceives {
		return sqsError("InvalidParameterValue", "Value %s for parameter RedrivePolicy is invalid. Reason: Invalid value for maxReceiveCount: "+
			"%s, valid values are from 1 to %d both inclusive.", text, p.MaxReceiveCount, maxReceives)
	}
	if d.queueOf(p.DeadLetterTargetArn) == nil {
		return sqsError("InvalidParameterValue", "Value %s for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.", text)
	}
	return nil
}

func parseRedrive(text string) (p redrive, n int, err error) {
	if err = json.Unmarshal([]byte(text), &p); err == nil {
		n, err = strconv.Atoi(p.MaxReceiveCount.String())
	}
	return p, n, err
}

func (d *Double) queueOf(arn string) *queue {
	q := d.queues[arn[strings.LastIndexByte(arn, ':')+1:]]
	if q == nil || q.arn() != arn {
		return nil
	}
	return q
}

type createQueue struct {
	QueueName  string
	Attributes map[string]string
	Tags       map[string]string `json:"tags"`
}

const maxQueueName = 80

func (d *Double) createQueue(c *call, in *createQueue) (any, error) {
	ok := in.QueueName != "" && len(in.QueueName) <= maxQueueName
	for _, b := range []byte(in.QueueName) {
		ok = ok && (isLetter(b) || isDigit(b) || b == '_' || b == '-')
	}
	switch {
	case strings.HasSuffix(in.QueueName, ".fifo"), in.Attributes["FifoQueue"] == "true":
		return nil, unknown("FIFO queues")
	case !ok:
		return nil, sqsError("InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	if err := d.checkAttributes(in.Attributes); err != nil {
		return nil, err
	}
	if q := d.queues[in.QueueName]; q != nil {
		for name, v := range in.Attributes {
			if q.attributes[name] != v {
				e := sqsError("QueueNameExists", "A queue already exists with the same name and a different value for attribute %s", name)
				e.sqs = "QueueAlreadyExists"
				return nil, e
			}
		}
		return map[string]any{"QueueUrl": c.url(q)}, nil
	}
	q := &queue{name: in.QueueName, attributes: map[string]string{}, since: d.clock()}
	maps.Copy(q.attributes, in.Attributes)
	d.queues[q.name] = q
	return map[string]any{"QueueUrl": c.url(q)}, nil
}

// url names the host that the caller used, so that it works from where the caller is.
func (c *call) url(q *queue) string { return "http://" + c.host + "/" + account + "/" + q.name }

func queueName(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

type queueURL struct{ QueueUrl string }

func (d *Double) queue(url string) (*queue, error) {
	if q := d.queues[queueName(url)]; q != nil {
		return q, nil
	}
	if url == "" {
		return nil, sqsError("MissingParameter", "The request must contain the parameter QueueUrl.")
	}
	return nil, noQueue()
}

func noQueue() *apiError {
	e := sqsError("QueueDoesNotExist", "The specified queue does not exist.")
	e.sqs = "AWS.SimpleQueueService.NonExistentQueue"
	return e
}

func sqsError(code, format string, args ...any) *apiError {
	e := refuse(code, format, args...)
	e.sqs = code
	return e
}

type getQueueURL struct{ QueueName, QueueOwnerAWSAccountId string }

func (d *Double) getQueueURL(c *call, in *getQueueURL) (any, error) {
	q := d.queues[in.QueueName]
	if q == nil {
		return nil, noQueue()
	}
	return map[string]any{"QueueUrl": c.url(q)}, nil
}

func (d *Double) deleteQueue(c *call, in *queueURL) (any, error) {
	q, err := d.queue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	delete(d.queues, q.name)
	return struct{}{}, nil
}

func (d *Double) purgeQueue(c *call, in *queueURL) (any, error) {
	q, err := d.queue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	q.messages = nil
	return struct{}{}, nil
}

type listQueues struct {
	QueueNamePrefix string
}

func (d *Double) listQueues(c *call, in *listQueues) (any, error) {
	urls := []string{}
	for _, name := range slices.Sorted(maps.Keys(d.queues)) {
		if strings.HasPrefix(name, in.QueueNamePrefix) {
			urls = append(urls, c.url(d.queues[name]))
		}
	}
	return map[string]any{"QueueUrls": urls}, nil
}

type setAttributes struct {
	QueueUrl   string
	Attributes map[string]string
}

func (d *Double) setAttributes(c *call, in *setAttributes) (any, error) {
	q, err := d.queue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if err := d.checkAttributes(in.Attributes); err != nil {
		return nil, err
	}
	maps.Copy(q.attributes, in.Attributes)
	return struct{}{}, nil
}

type getAttributes struct {
	QueueUrl       string
	AttributeNames []string
}

func (d *Double) getAttributes(c *call, in *getAttributes) (any, error) {
	q, err := d.queue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	all := q.described(d.clock())
	out := map[string]string{}
	for _, name := range in.AttributeNames {
		if name == "All" {
			return map[string]any{"Attributes": all}, nil
		}
		if v, ok := all[name]; ok {
			out[name] = v
		} else if name != "RedrivePolicy" && !slices.Contains(acceptedAttributes, name) {
			return nil, sqsError("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	return map[string]any{"Attributes": out}, nil
}

func (q *queue) described(now time.Time) map[string]string {
	q.forget(now)
	made := strconv.FormatInt(q.since.Unix(), 10)
	all := map[string]string{"QueueArn": q.arn(), "CreatedTimestamp": made, "LastModifiedTimestamp": made}
	for name, r := range queueAttributes {
		all[name] = strconv.Itoa(r.standard)
	}
	maps.Copy(all, q.attributes)
	visible, hidden, delayed := q.counts(now)
	all["ApproximateNumberOfMessages"] = strconv.Itoa(visible)
	all["ApproximateNumberOfMessagesNotVisible"] = strconv.Itoa(hidden)
	all["ApproximateNumberOfMessagesDelayed"] = strconv.Itoa(delayed)
	return all
}

func (q *queue) counts(now time.Time) (visible, hidden, delayed int) {
	for _, m := range q.messages {
		switch {
		case !m.visible.After(now):
			visible++
		case m.receives == 0:
			delayed++
		default:
			hidden++
		}
	}
	return visible, hidden, delayed
}

// forget drops what is older than the queue keeps.
func (q *queue) forget(now time.Time) {
	kept := q.duration("MessageRetentionPeriod")
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool { return now.Sub(m.sent) > kept })
}

func seconds64(n *int, otherwise int) time.Duration {
	if n != nil {
		otherwise = *n
	}
	return time.Duration(otherwise) * time.Second
}
