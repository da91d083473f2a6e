package hookfile

import (
	"bytes"
	"net/url"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// ReadBody reads the raw body of a verified request: a JSON object, or a form. A form with the one
// field payload, as Slack and GitHub send it, is the object in that field. The body alone says
// which of them it is, because no signature covers the header Content-Type. The error is a
// [*strictjson.Error].
func ReadBody(raw []byte) (agent.Values, error) {
	if bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) {
		return readJSON(raw)
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil || !bytes.Contains(raw, []byte("=")) || !utf8.Valid(raw) {
		return agent.Values{}, malformed("the body is neither a JSON object nor a form")
	}
	fields := map[string]string{}
	for name, values := range form {
		if len(values) > 1 {
			return agent.Values{}, malformed("a field of the form is repeated")
		}
		if !utf8.ValidString(name) || !utf8.ValidString(values[0]) {
			return agent.Values{}, malformed("the form is not UTF-8")
		}
		fields[name] = values[0]
	}
	if payload, there := fields["payload"]; there && len(fields) == 1 {
		return readJSON([]byte(payload))
	}
	return agent.TextValues(fields), nil
}

func readJSON(raw []byte) (agent.Values, error) {
	if err := strictjson.Check(raw); err != nil {
		return agent.Values{}, err
	}
	values, err := agent.ReadValues(raw)
	if err != nil {
		return values, malformed("the body is not a JSON object")
	}
	return values, nil
}

func malformed(detail string) error {
	return &strictjson.Error{Code: strictjson.CodeMalformed, Detail: detail}
}

// Challenge is the answer to a request by which a sender checks that the address is ours: Slack's
// url_verification and Discord's ping. ok is false for any other request.
func (v Verify) Challenge(body agent.Values) (answer wire.HookAnswer, ok bool) {
	kind, _ := body.Text("type")
	switch {
	case v.Scheme == signature.Slack && kind == "url_verification":
		challenge, _ := body.Text("challenge")
		return wire.HookAnswer{Challenge: challenge}, true
	case v.Scheme == signature.Ed25519 && kind == "1":
		return wire.HookAnswer{Type: 1}, true
	}
	return answer, false
}
