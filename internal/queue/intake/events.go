package intake

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// CodeNoAgent: an event of another service came, and the queue has no agent that such events start.
const CodeNoAgent frontend.Code = "intake_agent_missing"

// Order is one run that a message asks for.
type Order struct {
	// what is put elsewhere if it cannot be started now: in the form it came in, with nothing
	// of the other orders
	Origin  []byte
	Message []byte // as [Read] reads it
	Refused *Fate  // set: it cannot be started as it is
}

func refusedOrder(origin []byte, code frontend.Code, detail string) Order {
	return Order{Origin: origin, Refused: &Fate{Outcome: Dead, Code: code, Detail: detail}}
}

// event is what is looked at to tell forms apart. EventBridge and S3 notifications are told by
// members that no message of ours may have.
type event struct {
	ID         string            `json:"id"`
	Source     string            `json:"source"`
	DetailType string            `json:"detail-type"`
	Records    []json.RawMessage `json:"Records"`
	Event      string            `json:"Event"`
	Service    string            `json:"Service"`
}

// testEvent is what S3 sends once, when a notification is set up.
const testEvent = "s3:TestEvent"

// Orders finds the runs that a message asks for: one in the form of this package, an event of
// EventBridge, or a notification of S3, which may ask for several or for none. Anything else is
// taken for the form of this package, so that its error names that form. agent is the one that
// events of other services start; "" refuses them.
func Orders(body []byte, agent string) []Order {
	ours := []Order{{Origin: body, Message: body}}
	var e event
	if strictjson.Check(body) != nil || json.Unmarshal(body, &e) != nil {
		return ours
	}
	switch {
	case e.Event == testEvent && e.Service == "Amazon S3":
		return nil
	case e.DetailType != "" && e.Source != "" && e.ID != "":
		return []Order{orderOf(body, body, agent, e.ID, map[string]string{"source": e.Source, "detail-type": e.DetailType})}
	case len(e.Records) > 0:
		return fromS3(e.Records, agent)
	}
	return ours
}

func fromS3(records []json.RawMessage, agent string) (orders []Order) {
	for _, r := range records {
		origin := core.Encode(map[string]any{"Records": []json.RawMessage{r}})
		key, metadata, err := object(r)
		if err != nil {
			orders = append(orders, refusedOrder(origin, frontend.CodeInvalid, err.Error()))
			continue
		}
		orders = append(orders, orderOf(origin, r, agent, key, metadata))
	}
	return orders
}

// orderOf makes a message of an event: it starts the agent of the queue, once per key, and the
// event is its input.
func orderOf(origin, event []byte, agent, key string, metadata map[string]string) Order {
	if agent == "" {
		return refusedOrder(origin, CodeNoAgent, "the message is an event of another service, and DORMOUSE_INTAKE_AGENT does not say which agent "+
			"such events start; set it, or send messages with an agent of their own")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, event); err != nil {
		return refusedOrder(origin, frontend.CodeInvalid, "the event is not JSON")
	}
	return Order{Origin: origin, Message: core.Encode(Message{IdempotencyKey: key, StartRequest: wire.StartRequest{
		Agent: agent, Input: core.Encode(core.TextParts(compact.String())), Metadata: core.Encode(metadata)}})}
}

// record is what is read of a record of S3.
type record struct {
	Source string `json:"eventSource"`
	S3     struct {
		Bucket struct {
			Name string `json:"name"`
		} `json:"bucket"`
		Object struct {
			Key       string `json:"key"`
			Sequencer string `json:"sequencer"`
			Version   string `json:"versionId"`
		} `json:"object"`
	} `json:"s3"`
}

var errNoObject = errors.New("the message has records, and one of them is no notification of S3 about an object; send the other service's events " +
	"through EventBridge, or messages of the form of POST /v1/runs")

// object is the idempotency key of a record, and the metadata of its run. S3 may send a record
// twice; what happens to an object next has another sequencer.
func object(raw json.RawMessage) (key string, metadata map[string]string, err error) {
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", nil, errNoObject
	}
	bucket, object := r.S3.Bucket.Name, r.S3.Object
	if r.Source != "aws:s3" || bucket == "" || object.Key == "" || object.Sequencer+object.Version == "" {
		return "", nil, errNoObject
	}
	mark := object.Sequencer
	if mark == "" {
		mark = object.Version
	}
	return keyOf(bucket, object.Key, mark), map[string]string{"bucket": bucket, "key": plain(object.Key)}, nil
}

// maxKey is the longest an idempotency key may be.
const maxKey = 255

// keyOf is bucket/key/mark, and shorter where the object's key is long.
func keyOf(bucket, object, mark string) string {
	key := bucket + "/" + object + "/" + mark
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "s3:sha256:" + hex.EncodeToString(sum[:])
}

// maxShown bounds what is shown of an object's key, as JSON: the metadata of a run are small, and
// the whole key is in its input.
const maxShown = 1000

// plain is an object's key as people write it: S3 has it as in the query of a URL.
func plain(key string) string {
	if read, err := url.QueryUnescape(key); err == nil {
		key = read
	}
	shown := strings.ToValidUTF8(key, "\ufffd")
	for len(core.Encode(shown)) > maxShown {
		shown = strings.ToValidUTF8(shown[:len(shown)*3/4], "") + "..."
	}
	return shown
}
