package faultproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// call is a request as far as the proxy understands it.
type call struct {
	service   string // dynamodb or sqs; "" for anything else
	operation string
	body      []byte
}

func read(target string, body []byte) call {
	prefix, operation, _ := strings.Cut(target, ".")
	switch prefix {
	case "DynamoDB_20120810":
		return call{"dynamodb", operation, body}
	case "AmazonSQS":
		return call{"sqs", operation, body}
	}
	return call{}
}

func (c call) known() bool { return c.service != "" }

// refusal is an answer without the server.
type refusal struct {
	code, message string
	prefix        string
	reasons       []reason
	sqs           string // the older name of the error, in a header that SQS sends
}

type reason struct {
	Code    string
	Message string `json:",omitempty"`
}

const (
	tooMuch = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."
	tooFast = "Rate exceeded"
)

// throttle refuses the call, or a part of a batch.
func (c call) throttle(pick func(int) int) (*handedBack, *refusal) {
	if back := c.part(pick); back != nil {
		return back, nil
	}
	if c.service == "sqs" {
		return nil, &refusal{prefix: "com.amazonaws.sqs#", code: "RequestThrottled", message: "The request was denied due to request throttling.", sqs: "RequestThrottled;Sender"}
	}
	if c.operation == "TransactWriteItems" || c.operation == "TransactGetItems" {
		if r := c.cancelled(pick); r != nil {
			return nil, r
		}
	}
	if pick(2) == 0 {
		return nil, &refusal{prefix: "com.amazonaws.dynamodb.v20120810#", code: "ProvisionedThroughputExceededException", message: tooMuch}
	}
	return nil, &refusal{prefix: "com.amazon.coral.availability#", code: "ThrottlingException", message: tooFast}
}

// cancelled blames one item of a transaction.
func (c call) cancelled(pick func(int) int) *refusal {
	var in struct{ TransactItems []json.RawMessage }
	if json.Unmarshal(c.body, &in) != nil || len(in.TransactItems) == 0 {
		return nil
	}
	reasons := make([]reason, len(in.TransactItems))
	codes := make([]string, len(reasons))
	blamed := pick(len(reasons))
	for i := range reasons {
		reasons[i].Code = "None"
		if i == blamed {
			reasons[i] = []reason{{"ThrottlingError", "Throughput exceeds the current capacity for one or more global secondary indexes."},
				{"ProvisionedThroughputExceeded", tooMuch}}[pick(2)]
		}
		codes[i] = reasons[i].Code
	}
	return &refusal{prefix: "com.amazonaws.dynamodb.v20120810#", code: "TransactionCanceledException", reasons: reasons,
		message: fmt.Sprintf("Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))}
}

func (r *refusal) write(w http.ResponseWriter) {
	body := map[string]any{"__type": r.prefix + r.code, "message": r.message}
	if r.reasons != nil { // DynamoDB writes the message of this error with a capital letter
		delete(body, "message")
		body["Message"], body["CancellationReasons"] = r.message, r.reasons
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // it is all text
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if r.sqs != "" {
		w.Header().Set("X-Amzn-Query-Error", r.sqs)
	}
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(text) // the caller may be gone
}

// handedBack is the part of a batch that the server does not get.
type handedBack struct {
	rest  []byte // the request without it
	field string // of the answer that has it
	part  any
}

// part takes a part out of a batch. It returns nil for a call that is no batch of at least two.
func (c call) part(pick func(int) int) *handedBack {
	switch c.service + "." + c.operation {
	case "dynamodb.BatchWriteItem":
		return c.writes(pick)
	case "dynamodb.BatchGetItem":
		return c.reads(pick)
	case "sqs.SendMessageBatch":
		return c.messages(pick)
	}
	return nil
}

// split cuts a list of at least two behind a place that leaves something on both sides.
func split[T any](all []T, pick func(int) int) (keep, back []T) {
	at := 1 + pick(len(all)-1)
	return all[:at], all[at:]
}

// writes splits the writes of the one table that the batch names.
func (c call) writes(pick func(int) int) *handedBack {
	var tables map[string][]json.RawMessage
	return c.replaced("RequestItems", &tables, func() (field string, part any) {
		for name, all := range tables {
			if len(tables) > 1 || len(all) < 2 {
				break
			}
			keep, back := split(all, pick)
			tables[name] = keep
			return "UnprocessedItems", map[string][]json.RawMessage{name: back}
		}
		return "", nil
	})
}

// reads splits the keys of the one table that the batch names.
func (c call) reads(pick func(int) int) *handedBack {
	var tables map[string]map[string]json.RawMessage
	return c.replaced("RequestItems", &tables, func() (field string, part any) {
		for name, of := range tables {
			var keys []json.RawMessage
			if len(tables) > 1 || json.Unmarshal(of["Keys"], &keys) != nil || len(keys) < 2 {
				break
			}
			keep, back := split(keys, pick)
			other := map[string]json.RawMessage{}
			for k, v := range of {
				other[k] = v
			}
			of["Keys"], other["Keys"] = encoded(keep), encoded(back)
			return "UnprocessedKeys", map[string]any{name: other}
		}
		return "", nil
	})
}

// messages splits the messages of a batch.
func (c call) messages(pick func(int) int) *handedBack {
	var entries []json.RawMessage
	return c.replaced("Entries", &entries, func() (field string, part any) {
		if len(entries) < 2 {
			return "", nil
		}
		keep, back := split(entries, pick)
		entries = keep
		var failed []map[string]any
		for _, e := range back {
			var of struct{ Id string }
			if json.Unmarshal(e, &of) != nil {
				return "", nil
			}
			failed = append(failed, map[string]any{"Id": of.Id, "Code": "RequestThrottled", "Message": tooFast, "SenderFault": true})
		}
		return "Failed", failed
	})
}

// replaced reads a field of the request into v, lets change take a part out of it, and writes the
// request with the rest.
func (c call) replaced(name string, v any, change func() (field string, part any)) *handedBack {
	var request map[string]json.RawMessage
	if json.Unmarshal(c.body, &request) != nil || json.Unmarshal(request[name], v) != nil {
		return nil
	}
	field, part := change()
	if field == "" {
		return nil
	}
	request[name] = encoded(v)
	return &handedBack{rest: encoded(request), field: field, part: part}
}

// encoded is for what was JSON before.
func encoded(v any) json.RawMessage {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(out.Bytes())
}

// addTo adds the part to the server's answer. What the server itself handed back stays in it.
func (b *handedBack) addTo(answer []byte) ([]byte, error) {
	var said map[string]json.RawMessage
	if err := json.Unmarshal(answer, &said); err != nil {
		return nil, err
	}
	if own := said[b.field]; len(own) > 0 && !bytes.Equal(own, []byte("{}")) && !bytes.Equal(own, []byte("[]")) && !bytes.Equal(own, []byte("null")) {
		return nil, fmt.Errorf("the server itself refused a part: %s", own)
	}
	said[b.field] = encoded(b.part)
	return encoded(said), nil
}
