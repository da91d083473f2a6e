package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/frontend"
)

const maxBody = 1 << 20

// readBody reads one JSON object into to, strictly: what is ambiguous or not understood is refused, never guessed.
func readBody(w http.ResponseWriter, r *http.Request, to any) error {
	raw, err := rawBody(w, r)
	if err != nil {
		return err
	}
	return decodeStrict(raw, to)
}

// readOptionalBody is readBody for a request that may come without one.
func readOptionalBody(w http.ResponseWriter, r *http.Request, to any) error {
	if r.ContentLength == 0 {
		_, err := query(r)
		return err
	}
	return readBody(w, r, to)
}

func rawBody(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	if _, err := query(r); err != nil { // what takes a body takes no parameters
		return nil, err
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" && !(strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")) {
		return nil, &frontend.Error{Code: codeMediaType, Detail: "send the body as application/json"}
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if errors.As(err, new(*http.MaxBytesError)) {
		return nil, &frontend.Error{Code: codeTooLarge, Detail: fmt.Sprintf("the body is larger than %d bytes", maxBody)}
	}
	if err != nil {
		return nil, malformed("the body ends too early")
	}
	return raw, checkJSON(raw)
}

func malformed(format string, args ...any) *frontend.Error {
	return &frontend.Error{Code: codeMalformed, Detail: fmt.Sprintf(format, args...)}
}

// clipped is a caller's text, short enough to be shown in an answer.
func clipped(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// checkJSON demands one JSON object in UTF-8 in which no object, however deep, has a member twice: two readers of such a
// body could see two different things.
func checkJSON(raw []byte) error {
	if !utf8.Valid(raw) {
		return malformed("the body is not UTF-8")
	}
	if !json.Valid(raw) {
		return malformed("the body is not one JSON value")
	}
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); trimmed[0] != '{' {
		return malformed("the body must be an object")
	}
	return checkMembers(json.NewDecoder(bytes.NewReader(raw)))
}

// level is an open object, or, with no members, an open list.
type level struct {
	members map[string]bool
	value   bool // the next token is a member's value
}

func checkMembers(dec *json.Decoder) error {
	dec.UseNumber()
	var open []level
	for {
		token, err := dec.Token()
		if err != nil {
			return nil // the end: the text is valid
		}
		if name, ok := token.(string); ok && len(open) > 0 {
			if top := &open[len(open)-1]; top.members != nil && !top.value {
				if top.members[name] {
					return malformed("the member %q is there twice", clipped(name))
				}
				top.members[name], top.value = true, true
				continue
			}
		}
		open = follow(open, token)
	}
}

// follow notes that a value began or ended.
func follow(open []level, token json.Token) []level {
	switch token {
	case json.Delim('{'):
		return append(open, level{members: map[string]bool{}})
	case json.Delim('['):
		return append(open, level{})
	case json.Delim('}'), json.Delim(']'):
		open = open[:len(open)-1]
	}
	if len(open) > 0 {
		open[len(open)-1].value = false
	}
	return open
}

// decodeStrict reads an object into the struct behind to. Members are matched exactly, case included.
func decodeStrict(raw json.RawMessage, to any) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return malformed("an object is expected")
	}
	known := membersOf(reflect.TypeOf(to).Elem())
	for _, name := range slices.Sorted(maps.Keys(members)) { // the same body, the same answer
		if !known[name] {
			return &frontend.Error{Code: codeUnknownField, Detail: fmt.Sprintf("the field %q is not known here", clipped(name))}
		}
	}
	var mistyped *json.UnmarshalTypeError
	err := json.Unmarshal(raw, to)
	if errors.As(err, &mistyped) {
		return malformed("the field %q must not be a %s", clipped(mistyped.Field), clipped(mistyped.Value))
	}
	if err != nil {
		return malformed("the body cannot be read")
	}
	return nil
}

func membersOf(t reflect.Type) map[string]bool {
	known := map[string]bool{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	return known
}
