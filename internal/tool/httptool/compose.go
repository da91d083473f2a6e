package httptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// message is a request, exactly as each attempt sends it.
type message struct {
	method  string
	url     *url.URL
	headers http.Header // from the file
	own     http.Header // from this program
	body    []byte      // nil without a body
}

// maxURL is the length that servers are known to accept.
const maxURL = 8 << 10

// errAbsent reports that an argument of a text is missing, so that the text is omitted.
var errAbsent = errors.New("an argument is missing")

// compose builds the request from the arguments.
func (r *request) compose(args map[string]json.RawMessage, s secret.Values, key string) (message, error) {
	m := message{method: r.http.RequestMethod(), headers: http.Header{}, own: http.Header{}}
	var err error
	if m.url, err = r.composeURL(args, s); err != nil {
		return m, err
	}
	m.own.Set("Accept", "application/json, text/*;q=0.9, */*;q=0.1")
	m.own.Set("User-Agent", "dormouse")
	if !r.http.Safe() {
		m.own.Set("Idempotency-Key", key)
	}
	if err := r.composeBody(&m, args); err != nil {
		return m, err
	}
	return m, r.composeHeaders(&m, args, s)
}

func (r *request) composeHeaders(m *message, args map[string]json.RawMessage, s secret.Values) error {
	for _, f := range r.headers {
		value, err := fill(f.Value, args, s, func(text string) (string, error) {
			if !plain(text) {
				return "", errors.New("contains a line break or a character outside ASCII, which a header cannot contain")
			}
			return text, nil
		})
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return err
		}
		m.own.Del(f.Name)
		m.headers.Set(f.Name, value)
	}
	return nil
}

// composeURL builds the URL and checks the result once more: whatever the arguments are, it must
// point to the place that the file names.
func (r *request) composeURL(args map[string]json.RawMessage, s secret.Values) (*url.URL, error) {
	text := r.target.Scheme + "://" + r.target.Host
	for _, segment := range r.target.Path {
		filled, err := fillSegment(segment, args)
		if err != nil {
			return nil, err
		}
		text += "/" + filled
	}
	query, err := r.composeQuery(args, s)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != r.target.Scheme, u.Host != r.target.Host, u.User != nil, u.Fragment != "",
		strings.Count(u.EscapedPath(), "/") != len(r.target.Path):
		return nil, errors.New("its arguments do not form a valid URL")
	case len(text)+len(query) > maxURL:
		return nil, fmt.Errorf("its arguments form a URL longer than %d bytes", maxURL)
	}
	u.RawQuery = query
	return u, nil
}

// escapedOctet matches what a server along the way may decode.
var escapedOctet = lazyregexp.New(`%[0-9A-Fa-f]{2}`)

// fillSegment fills one segment of a path. Services and the proxies in front of them disagree on
// the meaning of "..", "\" and "%2f" in a path, so no argument may contain them.
func fillSegment(t placeholder.Template, args map[string]json.RawMessage) (string, error) {
	if len(t.Arguments()) == 0 {
		return literal(t), nil
	}
	segment, err := fill(t, args, nil, func(text string) (string, error) {
		switch {
		case text == "":
			return "", errors.New("is empty")
		case strings.ContainsAny(text, `/\`) || escapedOctet.MatchString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return "", errors.New(`contains a slash, a backslash, an escape such as %2f or a control character, which a path must not contain`)
		}
		return url.PathEscape(text), nil
	})
	if errors.Is(err, errAbsent) {
		return "", errors.New("an argument of the URL's path is missing")
	}
	if plain, _ := url.PathUnescape(segment); err == nil && strings.Trim(plain, ".") == "" {
		return "", errors.New("an argument consists of dots only, which would change the URL's path; use the name of the resource")
	}
	return segment, err
}

func literal(t placeholder.Template) string {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.Text)
	}
	return b.String()
}

func (r *request) composeQuery(args map[string]json.RawMessage, s secret.Values) (string, error) {
	var pairs []string
	for _, f := range r.target.Query {
		values, err := queryValues(f.Value, args, s)
		if err != nil {
			return "", err
		}
		for _, value := range values {
			pairs = append(pairs, url.QueryEscape(f.Name)+"="+url.QueryEscape(value))
		}
	}
	return strings.Join(pairs, "&"), nil
}

// queryValues returns the values of a query parameter. A value that consists of one list is
// repeated once per item, and a missing argument is omitted.
func queryValues(t placeholder.Template, args map[string]json.RawMessage, s secret.Values) ([]string, error) {
	if name, whole := t.Whole(); whole {
		return scalars(name, args[name])
	}
	value, err := fill(t, args, s, func(text string) (string, error) { return text, nil })
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	return []string{value}, err
}

// fill replaces the placeholders of a template by secrets and by arguments, each checked by fit.
func fill(t placeholder.Template, args map[string]json.RawMessage, s secret.Values, fit func(string) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.Text)
		b.WriteString(s[p.Secret])
		if p.Argument == "" {
			continue
		}
		if core.IsNull(args[p.Argument]) {
			return "", errAbsent
		}
		text, ok := scalar(args[p.Argument])
		if !ok {
			return "", fmt.Errorf("the argument %q must be text, a number, true or false", p.Argument)
		}
		text, err := fit(text)
		if err != nil {
			return "", fmt.Errorf("the argument %q %w", p.Argument, err)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// scalar returns a value as text, with every digit of a number. It returns false for objects, lists
// and null.
func scalar(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	var text string
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null":
		return "", false
	case raw[0] == '"':
		err := json.Unmarshal(raw, &text)
		return text, err == nil
	}
	return string(raw), true
}

// scalars returns the items of a list, or the single value; nothing if there is none.
func scalars(name string, raw json.RawMessage) ([]string, error) {
	var items []json.RawMessage
	if core.IsNull(raw) {
		return nil, nil
	}
	if json.Unmarshal(raw, &items) != nil {
		items = []json.RawMessage{raw}
	}
	var out []string
	for _, item := range items {
		text, ok := scalar(item)
		if !ok {
			return nil, fmt.Errorf("the argument %q must be text, a number, true or false, or a list of them", name)
		}
		out = append(out, text)
	}
	return out, nil
}

func (r *request) composeBody(m *message, args map[string]json.RawMessage) error {
	named, template := r.http.Payload()
	rest := map[string]json.RawMessage{}
	for name, value := range args {
		if !r.used[name] {
			rest[name] = value
		}
	}
	var err error
	switch {
	case template != nil:
		m.own.Set("Content-Type", "application/json")
		m.body, err = fillBody(template, args)
	case named == agent.BodyJSON:
		m.own.Set("Content-Type", "application/json")
		m.body = core.Encode(rest)
	case named == agent.BodyForm:
		m.own.Set("Content-Type", "application/x-www-form-urlencoded")
		m.body, err = form(rest)
	}
	return err
}

func form(args map[string]json.RawMessage) ([]byte, error) {
	values := url.Values{}
	for name, raw := range args {
		texts, err := scalars(name, raw)
		if err != nil {
			return nil, err
		}
		values[name] = texts
	}
	return []byte(values.Encode()), nil
}

// fillBody fills the texts of a JSON value. A text that consists of one placeholder becomes the
// argument's value, of any type; a member or item whose argument is missing is omitted.
func fillBody(template json.RawMessage, args map[string]json.RawMessage) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(template))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("its body cannot be read")
	}
	filled, err := fillValue(v, args)
	if err != nil {
		return nil, err
	}
	return core.Encode(filled), nil
}

func fillValue(v any, args map[string]json.RawMessage) (any, error) {
	switch v := v.(type) {
	case string:
		return fillText(v, args)
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			filled, err := fillValue(item, args)
			if err == nil {
				out[key] = filled
			} else if !errors.Is(err, errAbsent) {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := []any{}
		for _, item := range v {
			filled, err := fillValue(item, args)
			if err == nil {
				out = append(out, filled)
			} else if !errors.Is(err, errAbsent) {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func fillText(text string, args map[string]json.RawMessage) (any, error) {
	t, err := placeholder.Read(text)
	if err != nil {
		return nil, err
	}
	if name, whole := t.Whole(); whole {
		raw, there := args[name]
		if !there {
			return nil, errAbsent
		}
		return slices.Clone(raw), nil
	}
	return fill(t, args, nil, func(text string) (string, error) { return text, nil })
}
