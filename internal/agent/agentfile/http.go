package agentfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Bounds of the values of an HTTP tool. A step has two minutes in all.
const (
	longestCall   = 90 * time.Second
	longestAnswer = 1 << 20
	mostRetries   = 10
)

// http reads the request of a tool; nil if there is none. finishHTTP checks what depends on the
// rest of the tool.
func (s *source) http(n *yaml.Node) *agent.HTTP {
	if n == nil {
		return nil
	}
	o, ok := s.Object(n, "http")
	if !ok {
		return nil
	}
	defer o.Close()
	h := &agent.HTTP{
		Method:       o.One("method", agent.Methods...),
		URL:          o.Text("url"),
		Query:        s.texts(o.Take("query"), "query"),
		Headers:      s.texts(o.Take("headers"), "headers"),
		Body:         s.body(o.Take("body")),
		Timeout:      s.callTime(o.Take("timeout"), "http"),
		MaxBytes:     s.bytes(o.Take("max_bytes"), "max_bytes"),
		Retries:      s.retries(o.Take("retries")),
		AllowPrivate: o.Flag("allow_private"),
	}
	if o.Member("url") == nil {
		s.Refuse(n, "http needs a url, as in https://api.example.com/v1/orders/{order}")
	}
	return h
}

// texts reads a mapping from names to texts with placeholders.
func (s *source) texts(n *yaml.Node, what string) map[string]string {
	if n == nil {
		return nil
	}
	o, ok := s.Object(n, what)
	if !ok {
		return nil
	}
	out := map[string]string{}
	for _, key := range o.Keys {
		value := o.Take(key.Value)
		if value.Kind == yaml.MappingNode {
			s.Refuse(value, "%s: the value of %q is a mapping; put a placeholder in quotes: \"{name}\"", what, key.Value)
			continue
		}
		out[key.Value] = s.plainText(value, key.Value)
	}
	return out
}

// body reads json, form, none, or a template.
func (s *source) body(n *yaml.Node) json.RawMessage {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.MappingNode, n.Kind == yaml.SequenceNode:
		return s.value(n)
	case n.Kind == yaml.ScalarNode && slices.Contains([]string{agent.BodyJSON, agent.BodyForm, agent.BodyNone}, n.Value):
		return core.Encode(n.Value)
	}
	s.Refuse(n, "body must be %s, %s, %s, or a mapping or list with placeholders", agent.BodyJSON, agent.BodyForm, agent.BodyNone)
	return nil
}

func (s *source) callTime(n *yaml.Node, of string) int64 {
	if n == nil {
		return 0
	}
	limit := s.within(n, "timeout of "+of)
	if limit > longestCall.Milliseconds() {
		s.Refuse(n, "timeout may be at most %s: a step has no more time", longestCall)
	}
	return limit
}

// bytes reads a size: a number of bytes, or one with KiB or MiB behind it.
func (s *source) bytes(n *yaml.Node, name string) int64 {
	if n == nil {
		return 0
	}
	parts := form.Size.FindStringSubmatch(n.Value)
	if n.Kind != yaml.ScalarNode || parts == nil {
		s.Refuse(n, "%s must be a size such as 500, 64KiB or 1MiB", name)
		return 0
	}
	size, _ := strconv.ParseInt(parts[1], 10, 64) // ten digits
	size *= map[string]int64{"": 1, "KiB": 1 << 10, "MiB": 1 << 20}[parts[2]]
	if size > longestAnswer {
		s.Refuse(n, "%s may be at most 1MiB", name)
	}
	return size
}

func (s *source) retries(n *yaml.Node) *int {
	if n == nil {
		return nil
	}
	retries := s.count(n, "retries")
	if retries > mostRetries {
		s.Refuse(n, "retries may be at most %d", mostRetries)
	}
	return &retries
}

// result reads the schema of a client tool's result, which may have any type.
func (s *source) result(n *yaml.Node) json.RawMessage {
	if n == nil {
		return nil
	}
	raw := s.value(n)
	if err := checkResult(raw); err != nil {
		s.Refuse(n, "result: %v", err)
	}
	return raw
}

func checkResult(raw json.RawMessage) error {
	if bytes.HasPrefix(raw, []byte(`"`)) || bytes.HasPrefix(raw, []byte(`[`)) || core.IsNull(raw) {
		return fmt.Errorf("not a JSON Schema; write it as a mapping")
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return fmt.Errorf("not a JSON Schema: %w", err)
	}
	if err := agent.CheckSchema(agent.DecodeValue(raw)); err != nil {
		return err
	}
	if _, err := schema.Resolve(nil); err != nil {
		return fmt.Errorf("not a JSON Schema: %w", err)
	}
	return nil
}

// finishHTTP checks the request against the parameters of its tool, and sets the delivery that the
// file omits: tools that only read may be repeated, others may not.
func (s *source) finishHTTP(tool *object, t *agent.Tool) {
	c := &httpCheck{source: s, tool: tool, t: *t, at: tool.Member("http"), used: map[string]bool{}}
	c.check()
	if t.HTTP.Safe() {
		t.Idempotent = t.Idempotent || t.Delivery == core.DeliveryDefault && tool.Member("idempotent") == nil
		t.ReadOnly = t.ReadOnly || tool.Member("read_only") == nil
	} else if t.Delivery == core.DeliveryDefault && !t.Idempotent {
		t.Delivery = core.AtMostOnce
	}
}
