package toolimport

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// request is the HTTP tool of an operation while it is being built.
type request struct {
	operation
	x          *expander
	http       *agent.HTTP
	properties map[string]any // the arguments
	required   []string
	// additionalProperties of the arguments; nil if the document does not say
	more  any
	whole map[string]any // the schema of a body that cannot be split into members
}

// schema is the schema of the arguments.
func (r *request) schema() json.RawMessage {
	out := map[string]any{"type": "object", "properties": r.properties}
	if len(r.required) > 0 {
		slices.Sort(r.required)
		out["required"] = r.required
	}
	if r.more != nil {
		out["additionalProperties"] = r.more
	}
	if r.whole != nil {
		out["allOf"] = []any{r.whole}
	}
	return core.Encode(out)
}

var argument = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// add adds an argument for a part of the request, with a name that is free.
func (r *request) add(name, in string, schema any, required bool) string {
	free := argument.ReplaceAllString(name, "_")
	for suffix := "_in_" + in; r.properties[free] != nil; {
		free += suffix
	}
	r.properties[free] = schema
	if required {
		r.required = append(r.required, free)
	}
	return free
}

// parameters adds the parameters outside the body.
func (r *request) parameters() error {
	type key struct{ name, in string }
	found := map[key]map[string]any{}
	var order []key
	for _, list := range [][]any{listOf(r.shared["parameters"]), listOf(r.own["parameters"])} {
		for _, v := range list {
			p, err := r.object(v)
			if err != nil {
				return err
			}
			k := key{textOf(p["name"]), textOf(p["in"])}
			if found[k] == nil {
				order = append(order, k)
			}
			found[k] = p
		}
	}
	for _, k := range order {
		if err := r.parameter(k.name, k.in, found[k]); err != nil {
			return fmt.Errorf("the parameter %q in %s: %w", k.name, k.in, err)
		}
	}
	return r.pathFilled()
}

// errUnsaid reports a form that an agent file cannot express.
var errUnsaid = errors.New("HTTP tools cannot send a value in that form")

func (r *request) parameter(name, in string, p map[string]any) error {
	if in == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(name)) {
		return nil // OpenAPI requires that these headers are ignored
	}
	if strings.EqualFold(name, "Idempotency-Key") && in == "header" {
		r.x.note("Dormouse sends the header Idempotency-Key itself")
		return nil
	}
	schema, err := r.x.schema(p["schema"], nil)
	required := is(p["required"]) || in == "path"
	if p["schema"] == nil || err == nil && !sendable(in, p, objectOf(schema)) {
		err = errUnsaid
	}
	if err != nil && !required {
		r.x.note("the parameter %s in %s is left out: %v", name, in, err)
		return nil
	}
	if err != nil {
		return err
	}
	if s := objectOf(schema); s["description"] == nil && textOf(p["description"]) != "" {
		s["description"] = p["description"]
	}
	r.place(in, name, r.add(name, in, schema, required))
	return nil
}

func (r *request) place(in, name, arg string) {
	switch in {
	case "path":
		r.path = strings.ReplaceAll(r.path, "{"+name+"}", "\x00"+arg+"\x01")
	case "query":
		r.http.Query[name] = "{" + arg + "}"
	case "header":
		r.http.Headers[name] = "{" + arg + "}"
	}
}

// pathFilled checks that every placeholder of the path has a parameter.
func (r *request) pathFilled() error {
	if open := variable.FindStringSubmatch(r.path); open != nil {
		return fmt.Errorf("its path contains {%s}, which no parameter describes", begin(open[1], 60))
	}
	r.path = strings.NewReplacer("\x00", "{", "\x01", "}").Replace(r.path)
	return nil
}

// sendable reports whether a parameter is a plain value, or a list that is repeated for each item.
func sendable(in string, p, schema map[string]any) bool {
	if schema == nil || typed(schema, "object") || in == "cookie" || !slices.Contains([]string{"path", "query", "header"}, in) {
		return false
	}
	style := textOf(p["style"])
	if typed(schema, "array") {
		explode, said := p["explode"].(bool)
		return in == "query" && (style == "" || style == "form") && (explode || !said)
	}
	return style == "" || style == "form" && in == "query" || style == "simple" && in != "query"
}

// body adds the parts of the body.
func (r *request) body() error {
	r.http.Body = bodyNamed(agent.BodyNone)
	body, err := r.object(r.own["requestBody"])
	if err != nil {
		return err
	}
	if r.http.Safe() || r.own["requestBody"] == nil {
		r.more = false
		if r.http.Safe() {
			r.http.Body = nil
		}
		return nil
	}
	media, kind := chosen(objectOf(body["content"]))
	if kind == "" {
		if is(body["required"]) {
			return fmt.Errorf("its body must be JSON or a form, and is %s", strings.Join(slices.Sorted(maps.Keys(objectOf(body["content"]))), ", "))
		}
		r.x.note("its body is left out: it is neither JSON nor a form")
		r.more = false
		return nil
	}
	r.http.Body = bodyNamed(kind)
	if kind == agent.BodyJSON && media != "application/json" {
		r.http.Headers["Content-Type"] = media
	}
	return r.members(objectOf(objectOf(body["content"])[media])["schema"])
}

func bodyNamed(name string) json.RawMessage { return core.Encode(name) }

// chosen returns the media type of a body that HTTP tools can send, and its key in an agent file.
func chosen(content map[string]any) (media, kind string) {
	for _, name := range slices.Sorted(maps.Keys(content)) {
		bare := strings.ToLower(strings.TrimSpace(strings.SplitN(name, ";", 2)[0]))
		switch {
		case bare == "application/json":
			return name, agent.BodyJSON
		case kind == "" && (strings.HasSuffix(bare, "+json") || bare == "*/*" || bare == "application/*"):
			media, kind = name, agent.BodyJSON
		case kind == "" && bare == "application/x-www-form-urlencoded":
			media, kind = name, agent.BodyForm
		}
	}
	return media, kind
}

// members makes arguments of the members of the body.
func (r *request) members(v any) error {
	if v == nil {
		return nil
	}
	value, err := r.x.schema(v, nil)
	if err != nil {
		return fmt.Errorf("its body: %w", err)
	}
	schema := objectOf(value)
	one, ok := flat(schema)
	if !ok && !ofObjects(schema) {
		return errors.New("its body must be an object, because HTTP tools send their arguments as one")
	}
	if !ok {
		delete(schema, "additionalProperties") // the other arguments are its siblings
		r.whole = schema
		return nil
	}
	r.properties = objectOf(one["properties"])
	for _, name := range listOf(one["required"]) {
		if text := textOf(name); r.properties[text] != nil {
			r.required = append(r.required, text)
		}
	}
	r.more = one["additionalProperties"]
	return nil
}

// ofObjects reports whether every value of a schema is an object.
func ofObjects(schema map[string]any) bool {
	if schema["type"] == "object" {
		return true
	}
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		parts := listOf(schema[word])
		if len(parts) > 0 && !slices.ContainsFunc(parts, func(v any) bool { return !ofObjects(objectOf(v)) }) {
			return true
		}
	}
	return schema["properties"] != nil && schema["type"] == nil
}
