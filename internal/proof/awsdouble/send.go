package awsdouble

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

type messageAttribute struct {
	DataType    string
	StringValue *string `json:",omitempty"`
	BinaryValue *[]byte `json:",omitempty"`
}

// outgoing is a message that somebody sends, alone or in a batch.
type outgoing struct {
	MessageBody             *string
	DelaySeconds            *int
	MessageGroupId          *string
	MessageDeduplicationId  *string
	MessageAttributes       map[string]messageAttribute
	MessageSystemAttributes map[string]messageAttribute
}

type sendMessage struct {
	QueueUrl string
	outgoing
}

const (
	maxDelay      = 900
	maxAttributes = 10
	maxGroup      = 128
)

func (d *Double) sendMessage(c *call, in *sendMessage) (any, error) {
	q, err := d.queue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if err := q.check(in.outgoing); err != nil {
		return nil, err
	}
	return d.send(c, q, in.outgoing), nil
}

func (q *queue) check(m outgoing) error {
	switch {
	case m.MessageBody == nil || *m.MessageBody == "":
		return sqsError("MissingParameter", "The request must contain the parameter MessageBody.")
	case m.MessageDeduplicationId != nil:
		return sqsError("InvalidParameterValue", "Value %s for parameter MessageDeduplicationId is invalid. Reason: The request includes a parameter "+
			"that is not valid for this queue type", *m.MessageDeduplicationId)
	case m.DelaySeconds != nil && (*m.DelaySeconds < 0 || *m.DelaySeconds > maxDelay):
		return sqsError("InvalidParameterValue", "Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.",
			*m.DelaySeconds)
	case m.MessageGroupId != nil && !validGroup(*m.MessageGroupId):
		return sqsError("InvalidParameterValue", "Value %s for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include alphanumeric "+
			"and punctuation characters. 1 to 128 in length.", *m.MessageGroupId)
	case !validText(*m.MessageBody):
		return sqsError("InvalidMessageContents", "Invalid binary character was found in the message body, the set of allowed characters is "+
			"#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF")
	case m.size() > q.number("MaximumMessageSize"):
		return sqsError("InvalidParameterValue", "One or more parameters are invalid. Reason: Message must be shorter than %d bytes.",
			q.number("MaximumMessageSize"))
	}
	return m.checkAttributes()
}

func validGroup(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return s != "" && len(s) <= maxGroup
}

func validText(s string) bool {
	for _, r := range s {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return false
		}
	}
	return utf8.ValidString(s)
}

// size is of the body and of the attributes, their names and types included.
func (m outgoing) size() int {
	size := len(*m.MessageBody)
	for name, a := range m.MessageAttributes {
		size += len(name) + len(a.DataType) + len(a.bytes())
	}
	return size
}

func (a messageAttribute) bytes() []byte {
	if a.StringValue != nil {
		return []byte(*a.StringValue)
	}
	if a.BinaryValue != nil {
		return *a.BinaryValue
	}
	return nil
}

func (m outgoing) checkAttributes() error {
	if len(m.MessageAttributes) > maxAttributes {
		return sqsError("InvalidParameterValue", "Number of message attributes [%d] exceeds the allowed maximum [%d].",
			len(m.MessageAttributes), maxAttributes)
	}
	for name, a := range m.MessageAttributes {
		kind, _, _ := strings.Cut(a.DataType, ".")
		if !slices.Contains([]string{"String", "Number", "Binary"}, kind) {
			return sqsError("InvalidParameterValue", "The type of message (user) attribute '%s' is invalid. You must use only the following supported "+
				"type prefixes: Binary, Number, String.", name)
		}
		if len(a.bytes()) == 0 || (kind == "Binary") != (a.BinaryValue != nil) {
			return sqsError("InvalidParameterValue", "Message (user) attribute '%s' must contain a non-empty value of type '%s'.", name, a.DataType)
		}
	}
	for name := range m.MessageSystemAttributes {
		if name != "AWSTraceHeader" {
			return sqsError("InvalidParameterValue", "Message system attribute name '%s' is invalid.", name)
		}
	}
	return nil
}

// send puts the message into the queue, as often and as late as the fault says.
func (d *Double) send(c *call, q *queue, in outgoing) map[string]any {
	now := d.clock()
	delay := seconds64(in.DelaySeconds, q.number("DelaySeconds"))
	m := message{id: d.id(), body: *in.MessageBody, attributes: in.MessageAttributes, sent: now, visible: now.Add(delay)}
	if in.MessageGroupId != nil {
		m.group = *in.MessageGroupId
	}
	if a, ok := in.MessageSystemAttributes["AWSTraceHeader"]; ok {
		m.trace = string(a.bytes())
	}
	if c.fault.kind == delayMessage {
		m.visible = m.visible.Add(c.fault.delay)
	}
	copies := 1
	if c.fault.kind == doubleMessage {
		copies = 2
	}
	for range copies {
		one := m
		q.messages = append(q.messages, &one)
	}
	d.arrived()
	out := map[string]any{"MessageId": m.id, "MD5OfMessageBody": digestOf([]byte(m.body))}
	addDigest(out, "MD5OfMessageAttributes", in.MessageAttributes)
	addDigest(out, "MD5OfMessageSystemAttributes", in.MessageSystemAttributes)
	return out
}

func addDigest(out map[string]any, name string, attributes map[string]messageAttribute) {
	if len(attributes) > 0 {
		out[name] = attributesDigest(attributes)
	}
}

func digestOf(b []byte) string {
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

// attributesDigest is as the developer guide lays it down: names in order, each with its type and
// value, all with their lengths.
func attributesDigest(attributes map[string]messageAttribute) string {
	h := md5.New()
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		sized(h, []byte(name))
		sized(h, []byte(a.DataType))
		transport := byte(1)
		if a.StringValue == nil {
			transport = 2
		}
		h.Write([]byte{transport})
		sized(h, a.bytes())
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sized(h hash.Hash, b []byte) {
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
	h.Write(b)
}

func (d *Double) arrived() {
	close(d.arrival)
	d.arrival = make(chan struct{})
}

// receiptFor makes a handle that says which hand-over of which message it is, to the double alone.
func (d *Double) receiptFor(m *message) string {
	return base64.StdEncoding.EncodeToString([]byte(receiptMark + m.id + "." + d.id()))
}

const receiptMark = "receipt."

func isReceipt(handle string) bool {
	b, err := base64.StdEncoding.DecodeString(handle)
	return err == nil && strings.HasPrefix(string(b), receiptMark)
}
