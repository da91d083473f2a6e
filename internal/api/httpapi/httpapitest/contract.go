// Package httpapitest checks the exchange between a client and a server of the HTTP API against the
// OpenAPI document: everything that passes a [Contract]'s transport must be documented. It is for
// tests, and doesn't check whether a response is the right one.
package httpapitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Contract is an OpenAPI document, ready to hold requests and answers against. It is safe for
// concurrent use.
type Contract struct {
	doc   document
	paths []path

	mu     sync.Mutex
	seen   map[Answer]int
	checks map[*jsonschema.Schema]*jsonschema.Resolved
}

// Answer is one that the document has: of a call, with a status, and, of a refusal, a code; of what
// succeeded, the media type.
type Answer struct {
	Call   string
	Status int
	What   string
}

func (a Answer) String() string { return fmt.Sprintf("%s %d %s", a.Call, a.Status, a.What) }

type (
	document struct {
		Paths      map[string]map[string]*operation `json:"paths"`
		Components struct {
			Responses map[string]*response          `json:"responses"`
			Schemas   map[string]*jsonschema.Schema `json:"schemas"`
		} `json:"components"`
	}
	operation struct {
		OperationID string               `json:"operationId"`
		Parameters  []parameter          `json:"parameters"`
		RequestBody *body                `json:"requestBody"`
		Responses   map[string]*response `json:"responses"`
	}
	parameter struct {
		In     string             `json:"in"`
		Name   string             `json:"name"`
		Empty  bool               `json:"allowEmptyValue"`
		Schema *jsonschema.Schema `json:"schema"`
	}
	body struct {
		Required bool               `json:"required"`
		Content  map[string]content `json:"content"`
	}
	response struct {
		Ref     string             `json:"$ref"`
		Codes   []string           `json:"x-codes"`
		Headers map[string]header  `json:"headers"`
		Content map[string]content `json:"content"`
	}
	header struct {
		Required bool               `json:"required"`
		Schema   *jsonschema.Schema `json:"schema"`
	}
	content struct {
		Schema *jsonschema.Schema `json:"schema"`
	}
	path struct {
		pattern *regexp.Regexp
		calls   map[string]*operation // by method, in capitals
		holes   int                   // a path with fewer goes before another that matches
	}
)

var (
	placeholder = regexp.MustCompile(`\\\{\w+\\\}`)
	reference   = regexp.MustCompile(`"\$ref":"#/\$defs/([^"]+)"`)
)

// Read reads a document.
func Read(raw []byte) (*Contract, error) {
	c := &Contract{seen: map[Answer]int{}, checks: map[*jsonschema.Schema]*jsonschema.Resolved{}}
	// Package jsonschema follows references within one schema, so each gets the shared ones
	// under $defs.
	text := strings.ReplaceAll(string(raw), `"#/components/schemas/`, `"#/$defs/`)
	if err := json.Unmarshal([]byte(text), &c.doc); err != nil {
		return nil, fmt.Errorf("httpapitest: %w", err)
	}
	for template, methods := range c.doc.Paths {
		p := path{calls: map[string]*operation{}, holes: strings.Count(template, "{")}
		p.pattern = regexp.MustCompile("^" + placeholder.ReplaceAllString(regexp.QuoteMeta(template), "[^/]*") + "$")
		for method, op := range methods {
			p.calls[strings.ToUpper(method)] = op
			for status, r := range op.Responses {
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
					op.Responses[status] = c.doc.Components.Responses[name]
				}
			}
		}
		c.paths = append(c.paths, p)
	}
	slices.SortFunc(c.paths, func(a, b path) int { return cmp.Compare(a.holes, b.holes) })
	return c, nil
}

// find is the call that a request is; known says whether its path is there at all, allowed are the
// methods that are.
func (c *Contract) find(r *http.Request) (op *operation, allowed []string, known bool) {
	for _, p := range c.paths {
		if !p.pattern.MatchString(r.URL.EscapedPath()) {
			continue
		}
		known = true
		for method := range p.calls {
			allowed = append(allowed, method)
		}
		if op == nil {
			op = p.calls[r.Method]
		}
		if op == nil && r.Method == http.MethodHead {
			op = p.calls[http.MethodGet]
		}
		if p.holes == 0 {
			break // it is no id of a path with placeholders
		}
	}
	return op, allowed, known
}

// validate holds a JSON text against a schema.
func (c *Contract) validate(schema *jsonschema.Schema, raw []byte) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	resolved, err := c.resolved(schema)
	if err != nil {
		return err
	}
	return resolved.Validate(value)
}

func (c *Contract) resolved(schema *jsonschema.Schema) (*jsonschema.Resolved, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.checks[schema]; r != nil {
		return r, nil
	}
	whole := schema.CloneSchemas()
	whole.Defs = map[string]*jsonschema.Schema{}
	if err := c.define(whole.Defs, schema); err != nil {
		return nil, err
	}
	r, err := whole.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("a schema of the document is none: %w", err)
	}
	c.checks[schema] = r
	return r, nil
}

// define adds a copy of each shared schema that this one refers to, directly or through others.
// Most refer to few of the hundred, and to resolve one takes a hundred times as long with all of
// them.
func (c *Contract) define(defs map[string]*jsonschema.Schema, schema *jsonschema.Schema) error {
	text, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	for _, found := range reference.FindAllSubmatch(text, -1) {
		name := string(found[1])
		shared := c.doc.Components.Schemas[name]
		if shared == nil || defs[name] != nil {
			continue
		}
		defs[name] = shared.CloneSchemas()
		if err := c.define(defs, shared); err != nil {
			return err
		}
	}
	return nil
}

func (c *Contract) note(a Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[a]++
}

// Seen says whether such an answer has passed.
func (c *Contract) Seen(a Answer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[a] > 0
}

// Answers are all that the document has, in order.
func (c *Contract) Answers() []Answer {
	var all []Answer
	for _, p := range c.paths {
		for _, op := range p.calls {
			for status, r := range op.Responses {
				all = append(all, r.answers(op.OperationID, status)...)
			}
		}
	}
	slices.SortFunc(all, func(a, b Answer) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func (r *response) answers(call, status string) (all []Answer) {
	a := Answer{Call: call}
	_, _ = fmt.Sscan(status, &a.Status)
	for _, a.What = range r.Codes {
		all = append(all, a)
	}
	if r.Codes != nil {
		return all
	}
	for a.What = range r.Content {
		all = append(all, a)
	}
	if len(r.Content) == 0 {
		all = append(all, a)
	}
	return all
}
