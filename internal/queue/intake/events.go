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
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// CodeNoAgent says that an event of another service arrived, and the queue has no agent for such
// events.
const CodeNoAgent refusal.Code = "intake_agent_missing"

// Request is one run that a message requests.
type Request struct {
	// Origin is what goes back to the queue or to the dead letters if the run cannot start: the
	// request in its original form, without the other requests of the message.
	Origin  []byte
	Message []byte  // in the form that [Read] accepts
	Refused *Result // set if the request can never be started
}

func refusedRequest(origin []byte, code refusal.Code, detail string) Request {
	return Request{Origin: origin, Refused: &Result{Outcome: Dead, Code: code, Detail: detail}}
}

// event holds the members that tell forms apart. EventBridge and S3 notifications have members that
// our own messages must not have.
type event struct {
	ID         string            `json:"id"`
	Source     string            `json:"source"`
	DetailType string            `json:"detail-type"`
	Records    []json.RawMessage `json:"Records"`
	Event      string            `json:"Event"`
	Service    string            `json:"Service"`
}

// testEvent is the event that S3 sends once when a notification is configured.
const testEvent = "s3:TestEvent"

// Requests returns the runs that a message requests: a message in the form of this package, an
// event of EventBridge, or a notification of S3, which may request several runs or none. Anything
// else is parsed as the form of this package, so that its error names that form. agent is the agent
// that events of other services start; if it is empty, they are refused.
func Requests(body []byte, agent string) []Request {
	ours := []Request{{Origin: body, Message: body}}
	var e event
	if strictjson.Check(body) != nil || json.Unmarshal(body, &e) != nil {
		return ours
	}
	switch {
	case e.Event == testEvent && e.Service == "Amazon S3":
		return nil
	case e.DetailType != "" && e.Source != "" && e.ID != "":
		return []Request{requestOf(body, body, agent, e.ID, map[string]string{"source": e.Source, "detail-type": e.DetailType})}
	case len(e.Records) > 0:
		return fromS3(e.Records, agent)
	}
	return ours
}

func fromS3(records []json.RawMessage, agent string) (requests []Request) {
	for _, r := range records {
		origin := core.Encode(map[string]any{"Records": []json.RawMessage{r}})
		key, metadata, err := object(r)
		if err != nil {
			requests = append(requests, refusedRequest(origin, refusal.CodeInvalid, err.Error()))
			continue
		}
		requests = append(requests, requestOf(origin, r, agent, key, metadata))
	}
	return requests
}

// requestOf converts an event to a message: it starts the agent of the queue, once per key, with
// the event as its input.
func requestOf(origin, event []byte, agent, key string, metadata map[string]string) Request {
	if agent == "" {
		return refusedRequest(origin, CodeNoAgent, "the message is an event of another service, but DORMOUSE_INTAKE_AGENT does not name an agent "+
			"for such events; set it, or send messages that name their agent")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, event); err != nil {
		return refusedRequest(origin, refusal.CodeInvalid, "the event is not JSON")
	}
	return Request{Origin: origin, Message: core.Encode(Message{IdempotencyKey: key, StartRequest: wire.StartRequest{
		Agent: agent, Input: core.Encode(core.TextParts(compact.String())), Metadata: core.Encode(metadata)}})}
}

// record holds the members that are read from a record of S3.
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

var errNoObject = errors.New("a record of the message is not an S3 notification about an object; send events of other services " +
	"through EventBridge, or as messages in the form of POST /v1/runs")

// object returns the idempotency key of a record and the metadata of its run. S3 may send a record
// twice; the next change of the object has another sequencer.
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

// maxKey is the maximum length of an idempotency key.
const maxKey = 255

// keyOf returns bucket/object/mark, shortened if the object's key is long.
func keyOf(bucket, object, mark string) string {
	key := bucket + "/" + object + "/" + mark
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "s3:sha256:" + hex.EncodeToString(sum[:])
}

// maxShown limits how much of an object's key appears in the metadata, as JSON: metadata are small,
// and the input of the run has the complete key.
const maxShown = 1000

// plain decodes an object's key, which S3 writes as in the query of a URL.
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
