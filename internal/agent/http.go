package agent

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// Mistake says what is wrong with a text and what to do.
func Mistake(format string, args ...any) error { return fmt.Errorf(format, args...) }

// HTTP is a tool that is a request to a service. The texts of URL, Query, Headers and Body hold
// placeholders: {name} is an argument, {secret:NAME} a secret of the process that serves. What is
// not said in a file is zero; see the methods for what counts then.
type HTTP struct {
	Method  string            `json:"method,omitempty"`
	URL     string            `json:"url"`
	Query   map[string]string `json:"query,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// one of the bodies by name, or a mapping or list: a template
	Body         json.RawMessage `json:"body,omitempty"`
	Timeout      int64           `json:"timeout,omitempty"` // ms
	MaxBytes     int64           `json:"max_bytes,omitempty"`
	Retries      *int            `json:"retries,omitempty"`
	AllowPrivate bool            `json:"allow_private,omitempty"`
}

// The bodies that have a name.
const (
	BodyJSON = "json" // the arguments used nowhere else, as an object
	BodyForm = "form" // the same, as a form
	BodyNone = "none"
)

// RequestMethod returns the request method, GET by default.
func (h HTTP) RequestMethod() string {
	if h.Method == "" {
		return "GET"
	}
	return h.Method
}

// Safe says whether the method only reads.
func (h HTTP) Safe() bool { return h.RequestMethod() == "GET" || h.RequestMethod() == "HEAD" }

// Payload is the body by name, or else the template.
func (h HTTP) Payload() (named string, template json.RawMessage) {
	switch {
	case h.Body == nil && slices.Contains([]string{"POST", "PUT", "PATCH"}, h.RequestMethod()):
		return BodyJSON, nil
	case h.Body == nil:
		return BodyNone, nil
	case json.Unmarshal(h.Body, &named) == nil:
		return named, nil
	}
	return "", h.Body
}

// Limit is how long a call may take, its retries included: 10 s if nothing was said.
func (h HTTP) Limit() time.Duration {
	if h.Timeout == 0 {
		return 10 * time.Second
	}
	return time.Duration(h.Timeout) * time.Millisecond
}

// Most is how many bytes of an answer are read: 64 KiB if nothing was said.
func (h HTTP) Most() int64 {
	if h.MaxBytes == 0 {
		return 64 << 10
	}
	return h.MaxBytes
}

// Again is how often a call is tried again: twice if nothing was said.
func (h HTTP) Again() int {
	if h.Retries == nil {
		return 2
	}
	return *h.Retries
}

// Target is the URL of an [HTTP], split into its parts before placeholders are filled in. An
// argument's value can't move the boundary between two parts.
type Target struct {
	Scheme, Host string
	// its segments, the text in them escaped as it was written
	Path  []placeholder.Template
	Query []Field
}

// Field is a query parameter or a header.
type Field struct {
	Name  string
	Value placeholder.Template
}

// Target reads the URL and the query, those in the URL first.
func (h HTTP) Target() (Target, error) {
	t, err := ReadTarget(h.URL)
	if err != nil {
		return Target{}, err
	}
	query, err := fields(h.Query)
	t.Query = append(t.Query, query...)
	return t, err
}

// HeaderFields are the headers, by name.
func (h HTTP) HeaderFields() ([]Field, error) { return fields(h.Headers) }

func fields(texts map[string]string) ([]Field, error) {
	var out []Field
	for name, text := range texts {
		value, err := placeholder.Read(text)
		if err != nil {
			return nil, err
		}
		out = append(out, Field{name, value})
	}
	slices.SortFunc(out, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Secrets are the names of the secrets that the request needs. A stored text that cannot be read
// needs none: its calls fail.
func (h HTTP) Secrets() []string {
	target, _ := h.Target()
	headers, _ := h.HeaderFields()
	var names []string
	for _, f := range append(target.Query, headers...) {
		for _, p := range f.Value {
			names = AddName(names, p.Secret)
		}
	}
	return names
}

// Authority is the part of a URL that says where the request goes.
var Authority = lazyregexp.New(`^([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(/[^?#]*)?(\?[^#]*)?(#.*)?$`)

// ReadTarget reads a URL with placeholders in its path and its query.
func ReadTarget(text string) (Target, error) {
	parts := Authority.FindStringSubmatch(text)
	if parts == nil {
		return Target{}, Mistake("url must be absolute, as in https://api.example.com/v1/orders/{order}")
	}
	t := Target{Scheme: strings.ToLower(parts[1]), Host: parts[2]}
	switch {
	case t.Scheme != "http" && t.Scheme != "https":
		return t, Mistake("url begins with %q; it must be http or https", parts[1])
	case strings.ContainsAny(t.Host, "{}"):
		return t, Mistake("a placeholder can't choose the host; write the host out, and put arguments into the path or the query")
	case strings.Contains(t.Host, "@"):
		return t, Mistake("url holds a user name or password; remove them, and send a header with a secret: {Authorization: \"Bearer {secret:NAME}\"}")
	case parts[5] != "":
		return t, Mistake("a service never receives what follows # in a url; remove it")
	}
	if err := CheckHost(t); err != nil {
		return t, err
	}
	var err error
	if t.Path, err = readPath(parts[3]); err != nil {
		return t, err
	}
	t.Query, err = readQuery(strings.TrimPrefix(parts[4], "?"))
	return t, err
}

// CheckHost refuses a host that readers could understand differently.
func CheckHost(t Target) error {
	if !aimASCII(t.Host) {
		return Mistake("%q in url is not plain ASCII; write the name as it is looked up, as xn--bcher-kva.example", t.Host)
	}
	u, err := url.Parse(t.Scheme + "://" + t.Host)
	if err != nil || u.Hostname() == "" || u.Host != t.Host || strings.ContainsAny(u.Hostname(), " \t%\\") || strings.HasSuffix(t.Host, ":") {
		return Mistake("%q in url is not a host; write a name or an address and, if needed, a port", t.Host)
	}
	return nil
}

// readPath splits a path into segments. They stay separate from here on, so no argument can add or
// remove a segment.
func readPath(path string) ([]placeholder.Template, error) {
	var segments []placeholder.Template
	for i, text := range strings.Split(path, "/") {
		if i == 0 {
			continue // the text before the first slash is empty
		}
		segment, err := placeholder.Read(text)
		if err != nil {
			return nil, err
		}
		plain, err := url.PathUnescape(segment.Fixed())
		switch {
		case err != nil:
			return nil, Mistake("%q in the path of url is not escaped correctly; write %% as %%25", text)
		case plain == "." || plain == "..":
			return nil, Mistake("url has a %q in its path; write the path that is meant", plain)
		case len(segment.Secrets()) > 0:
			return nil, Mistake("a secret in the path of url would end up in logs; put it into a header")
		}
		segments = append(segments, segment)
	}
	return segments, nil
}

func readQuery(raw string) ([]Field, error) {
	var out []Field
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		key, text, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(key)
		if err != nil || strings.ContainsAny(key, "{}") {
			return nil, Mistake("%q in url is not the name of a query parameter; a placeholder can only be its value", key)
		}
		value, err := placeholder.Read(text)
		if err != nil {
			return nil, err
		}
		for i, p := range value {
			if value[i].Text, err = url.QueryUnescape(p.Text); err != nil {
				return nil, Mistake("%q in url is not escaped correctly; write %% as %%25", p.Text)
			}
		}
		out = append(out, Field{name, value})
	}
	return out, nil
}

// Methods are the methods of HTTP that a tool may use.
var Methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// Loopback reports whether the target is this machine, by its address or by the reserved name
// localhost.
func (t Target) Loopback() bool {
	u, err := url.Parse(t.Scheme + "://" + t.Host)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || err == nil && ip.Unmap().IsLoopback()
}
