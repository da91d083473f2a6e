package mcpserver

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// message is what is read of a message here; the rest is for the SDK.
type message struct {
	id     json.RawMessage
	method string
	call   call
}

// call is what a tools/call says beyond its arguments. The SDK reads numbers as floats, which would
// change an answer.
type call struct {
	state     string
	responses map[string]response
}

// readMessage matches the members exactly, case included, as the SDK does. What can't be read is
// for the SDK to refuse.
func readMessage(body []byte) (m message) {
	var members, params map[string]json.RawMessage
	_ = json.Unmarshal(body, &members)
	_ = json.Unmarshal(members["method"], &m.method)
	_ = json.Unmarshal(members["params"], &params)
	_ = json.Unmarshal(params["requestState"], &m.call.state)
	_ = json.Unmarshal(params["inputResponses"], &m.call.responses)
	m.id = members["id"]
	return m
}

// greatestID is the greatest number that every reader of JSON takes for the same one.
const greatestID = 1 << 53

// checkID refuses numbers that the SDK would change: the answer would belong to another request.
func (m message) checkID() error {
	if len(m.id) == 0 || m.id[0] != '-' && (m.id[0] < '0' || m.id[0] > '9') {
		return nil
	}
	if n, err := strconv.ParseInt(string(m.id), 10, 64); err != nil || n < -greatestID || n > greatestID {
		return bodies.Malformed("the id must be a text, or a whole number of at most 2^53")
	}
	return nil
}

// unread is what the SDK says in plain text of what it can't read as a message.
func unread(status int, text string) error {
	e := bodies.Malformed("the body can't be read as a message: %s", bodies.Clipped(strings.TrimSpace(text)))
	if status == http.StatusUnsupportedMediaType {
		e.Code = problems.CodeMediaType
	}
	return e
}

// mostResponses is how many responses one request has: as many as the API takes decisions in one.
const mostResponses = 100

func checkResponses(responses map[string]response) error {
	if n := len(responses); n > mostResponses {
		return refusal.New(refusal.CodeInvalid, "the request has %d responses, and the limit is %d; send several requests", n, mostResponses)
	}
	return nil
}

// response is what a client's user did with a form.
type response struct {
	Action  string // accept, decline or cancel
	Content map[string]json.RawMessage
}

// UnmarshalJSON matches the members exactly, case included: no two readers may take one response
// for a yes and for a no.
func (r *response) UnmarshalJSON(raw []byte) error {
	var members map[string]json.RawMessage
	err := json.Unmarshal(raw, &members)
	for name, to := range map[string]any{"action": &r.Action, "content": &r.Content} {
		if said, is := members[name]; is {
			err = errors.Join(err, json.Unmarshal(said, to))
		}
	}
	return err
}
