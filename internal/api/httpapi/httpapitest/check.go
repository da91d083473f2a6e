package httpapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	mediaStream  = "text/event-stream"
	mediaProblem = "application/problem+json"
	mediaPage    = "text/html"
	mediaForm    = "application/x-www-form-urlencoded"
)

// exchange is a request and its answer.
type exchange struct {
	request  *http.Request
	sent     *tape
	response *http.Response
}

func (x exchange) streamed() bool { return x.media() == mediaStream }

func (x exchange) media() string {
	media, _, _ := mime.ParseMediaType(x.response.Header.Get("Content-Type"))
	return media
}

// check holds an exchange against the document. whole says that all of the answer was read.
func (c *Contract) check(x exchange, got []byte, whole bool) error {
	op, allowed, known := c.find(x.request)
	switch {
	case isPreflight(x.request), x.response.StatusCode == http.StatusRequestHeaderFieldsTooLarge:
		return nil // answered before the API; the document doesn't list them
	case op == nil:
		return c.outside(x, got, allowed, known)
	}
	r := op.Responses[strconv.Itoa(x.response.StatusCode)]
	if r == nil {
		return errors.New("the status is not documented")
	}
	if err := c.checkHeaders(r, x.response.Header); err != nil {
		return err
	}
	what, err := c.checkBody(r, x, got, whole)
	if err != nil {
		return err
	}
	c.note(Answer{op.OperationID, x.response.StatusCode, what})
	if x.response.StatusCode < 300 {
		return c.checkRequest(op, x)
	}
	return nil
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// outside checks the answer to a request that the document doesn't define: the API refuses it, and
// lists the allowed methods if it knows the path.
func (c *Contract) outside(x exchange, got []byte, allowed []string, known bool) error {
	codes := []string{"unauthorized", "forbidden", "not_found", "method_not_allowed"}
	want := http.StatusNotFound
	if known {
		want = http.StatusMethodNotAllowed
		for _, method := range allowed {
			if x.response.StatusCode == want && !strings.Contains(x.response.Header.Get("Allow"), method) {
				return fmt.Errorf("the header Allow is %q and lacks %s", x.response.Header.Get("Allow"), method)
			}
		}
	}
	if status := x.response.StatusCode; status != want && status != http.StatusUnauthorized && status != http.StatusForbidden && status != http.StatusNotFound {
		return fmt.Errorf("the document has no such call, so %d is expected", want)
	}
	if x.request.Method == http.MethodHead {
		return nil
	}
	return c.checkProblem(x.response.StatusCode, codes, got)
}

// checkProblem holds a body against the schema Problem, and its status and code against what they
// must be.
func (c *Contract) checkProblem(status int, codes []string, got []byte) error {
	if err := c.validate(c.doc.Components.Schemas["Problem"], got); err != nil {
		return err
	}
	var p struct {
		Status int    `json:"status"`
		Code   string `json:"code"`
	}
	if err := json.Unmarshal(got, &p); err != nil {
		return err
	}
	if p.Status != status || !slices.Contains(codes, p.Code) {
		return fmt.Errorf("the problem has status %d and code %q; want %d and one of %q", p.Status, p.Code, status, codes)
	}
	return nil
}

func (c *Contract) checkHeaders(r *response, got http.Header) error {
	for name, h := range r.Headers {
		value := got.Get(name)
		switch {
		case value == "" && h.Required:
			return fmt.Errorf("the header %s is missing", name)
		case value == "":
		default:
			if err := c.validateText(h.Schema, value); err != nil {
				return fmt.Errorf("the header %s: %w", name, err)
			}
		}
	}
	return nil
}

// validateText holds the text of a header or a parameter against its schema.
func (c *Contract) validateText(schema *jsonschema.Schema, text string) error {
	if schema.Type == "integer" {
		return c.validate(schema, []byte(text))
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return c.validate(schema, raw)
}

// checkBody returns what the answer is noted as: its code, or else its media type.
func (c *Contract) checkBody(r *response, x exchange, got []byte, whole bool) (what string, err error) {
	media := x.media()
	if len(r.Content) == 0 {
		if len(got) > 0 {
			return "", errors.New("a body where there is none")
		}
		return "", nil
	}
	of, ok := r.Content[media]
	switch {
	case !ok:
		return "", fmt.Errorf("the media type %q is not documented", media)
	case x.request.Method == http.MethodHead || !whole || media == mediaPage:
		return media, nil
	case media == mediaStream:
		return media, c.checkStream(got)
	}
	if err := c.validate(of.Schema, got); err != nil {
		return "", err
	}
	if media != mediaProblem {
		return media, nil
	}
	var p struct {
		Code string `json:"code"`
	}
	err = json.Unmarshal(got, &p)
	return p.Code, err
}

// checkStream holds each whole event of a stream against the document.
func (c *Contract) checkStream(got []byte) error {
	blocks := bytes.Split(got, []byte("\n\n"))
	for _, block := range blocks[:len(blocks)-1] {
		data, found := bytes.CutPrefix(block[bytes.LastIndexByte(block, '\n')+1:], []byte("data: "))
		if !found {
			continue
		}
		of := "Event"
		if bytes.Contains(block, []byte("event: counts\n")) {
			of = "Counts"
		}
		if err := c.validate(c.doc.Components.Schemas[of], data); err != nil {
			return fmt.Errorf("an event of the stream: %w", err)
		}
	}
	return nil
}

// checkRequest is for a request that was taken: the document must allow it too.
func (c *Contract) checkRequest(op *operation, x exchange) error {
	if err := c.checkQuery(op, x.request.URL.Query()); err != nil {
		return err
	}
	sent := x.sent.text()
	switch {
	case op.RequestBody == nil && len(sent) > 0 && x.request.Method != http.MethodGet:
		return errors.New("the request was taken with a body, and the document has none")
	case op.RequestBody == nil:
		return nil
	case len(sent) == 0 && op.RequestBody.Required:
		return errors.New("the request was taken without its body")
	case len(sent) == 0:
		return nil
	}
	media, _, _ := mime.ParseMediaType(x.request.Header.Get("Content-Type"))
	if media == mediaForm {
		sent = fields(sent)
	}
	of, ok := op.RequestBody.Content[media]
	if !ok {
		// any application/...+json is read as that
		of = op.RequestBody.Content["application/json"]
	}
	if err := c.validate(of.Schema, sent); err != nil {
		return fmt.Errorf("the request was taken, and the document refuses its body: %w", err)
	}
	return nil
}

// Takes holds a body in JSON against what the document says of a call.
func (c *Contract) Takes(call string, raw []byte) error {
	for _, p := range c.paths {
		for _, op := range p.calls {
			if op.OperationID == call && op.RequestBody != nil {
				return c.validate(op.RequestBody.Content["application/json"].Schema, raw)
			}
		}
	}
	return fmt.Errorf("the document has no call %s that takes a body", call)
}

// fields turns a form into a JSON object with the same members.
func fields(form []byte) []byte {
	values, _ := url.ParseQuery(string(form))
	members := map[string]string{}
	for name := range values {
		members[name] = values.Get(name)
	}
	raw, _ := json.Marshal(members)
	return raw
}

// covers says whether a documented name is that of a parameter. Of a name that ends in {key},
// callers choose the end.
func covers(documented, name string) bool {
	if family, ok := strings.CutSuffix(documented, "{key}"); ok {
		return strings.HasPrefix(name, family)
	}
	return name == documented
}

func (c *Contract) checkQuery(op *operation, values url.Values) error {
	for name, value := range values {
		i := slices.IndexFunc(op.Parameters, func(p parameter) bool { return p.In == "query" && covers(p.Name, name) })
		if i < 0 && strings.HasSuffix(op.OperationID, "Link") {
			continue // mail programs and chats add their own to links
		}
		if i < 0 {
			return fmt.Errorf("the request was taken with the parameter %s, which is not documented", name)
		}
		if p := op.Parameters[i]; value[0] == "" && p.Empty {
			continue
		} else if err := c.validateText(p.Schema, value[0]); err != nil {
			return fmt.Errorf("the request was taken, and the document refuses its parameter %s: %w", name, err)
		}
	}
	return nil
}
