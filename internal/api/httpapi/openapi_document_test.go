package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkform"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// The parts of an OpenAPI document that this one has, in the order in which they are written.
type (
	openDoc struct {
		OpenAPI    string                          `json:"openapi"`
		Info       openInfo                        `json:"info"`
		Servers    []map[string]string             `json:"servers"`
		Tags       []map[string]string             `json:"tags"`
		Paths      map[string]map[string]operation `json:"paths"`
		Components components                      `json:"components"`
	}
	openInfo struct {
		Title       string            `json:"title"`
		Version     string            `json:"version"`
		Description string            `json:"description"`
		License     map[string]string `json:"license"`
	}
	operation struct {
		OperationID string                `json:"operationId"`
		Tags        []string              `json:"tags"`
		Summary     string                `json:"summary"`
		Description string                `json:"description,omitempty"`
		Roles       []string              `json:"x-roles,omitempty"`
		Security    []map[string][]string `json:"security"`
		Parameters  []parameter           `json:"parameters,omitempty"`
		RequestBody *requestBody          `json:"requestBody,omitempty"`
		Responses   map[string]response   `json:"responses"`
		CodeSamples []codeSample          `json:"x-codeSamples,omitempty"`
	}
	codeSample struct {
		Lang   string `json:"lang"`
		Label  string `json:"label"`
		Source string `json:"source"`
	}
	parameter struct {
		In          string `json:"in"`
		Name        string `json:"name"`
		Required    bool   `json:"required,omitempty"`
		Description string `json:"description"`
		Empty       bool   `json:"allowEmptyValue,omitempty"`
		Schema      any    `json:"schema"`
	}
	requestBody struct {
		Required bool               `json:"required"`
		Content  map[string]content `json:"content"`
	}
	content struct {
		Schema   *jsonschema.Schema     `json:"schema,omitempty"`
		Examples map[string]openExample `json:"examples,omitempty"`
	}
	openExample struct {
		Summary string          `json:"summary"`
		Value   json.RawMessage `json:"value"`
	}
	response struct {
		Ref         string             `json:"$ref,omitempty"`
		Description string             `json:"description,omitempty"`
		Codes       []refusal.Code     `json:"x-codes,omitempty"`
		Headers     map[string]header  `json:"headers,omitempty"`
		Content     map[string]content `json:"content,omitempty"`
	}
	header struct {
		Description string             `json:"description"`
		Required    bool               `json:"required,omitempty"`
		Schema      *jsonschema.Schema `json:"schema"`
		Example     string             `json:"example,omitempty"`
	}
	components struct {
		SecuritySchemes map[string]map[string]string  `json:"securitySchemes"`
		Responses       map[string]response           `json:"responses"`
		Schemas         map[string]*jsonschema.Schema `json:"schemas"`
	}
)

const mediaProblem = "application/problem+json"

var headers = map[string]header{
	"Location":           {"The path of the run, the ask or the webhook, or its full URL if the server has a public one. With 307: the address of the stream.", true, &schema{Type: "string", Pattern: `^((https?://.+)?/v1/((runs|asks)/run_|webhooks/wh_).+|https?://[^/]+/v1/streams/.+)$`}, ""},
	"Preference-Applied": {"`wait`, if the server honors the preference.", false, enumOf("wait"), ""},
	"Retry-After":        {"Seconds to wait before repeating the request.", true, &schema{Type: "integer", Minimum: jsonschema.Ptr(1.0)}, ""},
	"Set-Cookie":         {"What the browser keeps of the sign-in, for ten minutes.", true, &schema{Type: "string", Pattern: "^dormouse_sign"}, ""},
	"WWW-Authenticate":   {"How to authenticate.", true, enumOf("Bearer", "Signature"), ""},
	"X-Accel-Buffering":  {"Streams: tells proxies not to buffer.", false, enumOf("no"), ""},
}

// buildDocument is the document of all routes. What the tables lack is named in missing.
func buildDocument() (doc openDoc, missing []string) {
	s := newShapes()
	doc = openDoc{OpenAPI: "3.1.0", Info: openInfo{Title: "Dormouse", Version: "1", License: map[string]string{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		Description: description},
		Servers: []map[string]string{{"url": "/", "description": "The server that returned this document."}},
		Paths:   map[string]map[string]operation{}}
	for _, t := range tags {
		doc.Tags = append(doc.Tags, map[string]string{"name": t.name, "description": t.about})
	}
	for _, rt := range (&api{}).table() {
		if doc.Paths[rt.path] == nil {
			doc.Paths[rt.path] = map[string]operation{}
		}
		op := describe(s, rt)
		s.missing = append(s.missing, op.show(rt.name)...)
		doc.Paths[rt.path][strings.ToLower(rt.method)] = op
	}
	s.of(reflect.TypeFor[wire.Problem]())
	s.of(reflect.TypeFor[wire.Event]())
	s.schemas["Input"], s.schemas["InputPart"], s.schemas["Permissions"], s.schemas["Rule"] = input, inputPart, narrowing, rule
	addEvents(s)
	s.of(reflect.TypeFor[wire.StepUsage]())
	s.of(reflect.TypeFor[wire.BulkQuestion]())
	s.schemas["StreamEvent"] = streamEvent()
	s.schemas["DecisionOfSeveral"] = loosely(s.schemas["Decision"])
	doc.Components = components{Schemas: s.schemas, Responses: sharedResponses(),
		SecuritySchemes: map[string]map[string]string{"bearer": {"type": "http", "scheme": "bearer",
			"description": "A token belongs to one tenant and has roles. A server without tokens listens only on a loopback address and requires none."}}}
	for name := range members {
		if !s.used[name] {
			missing = append(missing, name+" (it is described but not in any type)")
		}
	}
	return doc, append(missing, s.missing...)
}

var tags = []struct{ name, about string }{
	{"runs", "Start, read, stream, interrupt, retry and cancel runs."},
	{"decisions", "List suspended calls and answer them, directly or through approval links."},
	{"asks", "Approvals without an agent, for scripts and other programs."},
	{"events", "Events and decisions of all runs of the tenant. A reader may miss an event if workers' clocks differ by several seconds and the store's index is delayed, by 10 seconds in total. An event whose commit may have failed is delivered once the server knows that it succeeded. The server checks for up to 15 minutes, at most 8 commits at a time."},
	{"threads", "Conversations with their messages and runs."},
	{"webhooks", "Notify addresses of what happens in runs, and see what was delivered."},
	{"agents", "The deployed agents."},
	{"hooks", "Incoming webhooks."},
	{"server", "The server itself."},
}

func describe(s *shapes, rt route) operation {
	op := operation{OperationID: rt.name, Tags: []string{rt.tag}, Summary: rt.title, Description: strings.TrimSpace(rt.about + " " + rolesSaid(rt)),
		Security: []map[string][]string{}, Parameters: parametersOf(rt), Responses: map[string]response{}}
	if len(rt.roles) > 0 {
		op.Security = append(op.Security, map[string][]string{"bearer": {}}, map[string][]string{})
		for _, r := range rt.roles {
			op.Roles = append(op.Roles, string(r))
		}
	}
	if rt.body != nil {
		op.RequestBody = &requestBody{Required: !rt.body.optional,
			Content: map[string]content{mediaJSON: {Schema: s.alternatives(rt.body.of), Examples: examplesOf(rt.name)}}}
		if rt.body.form != nil {
			op.RequestBody.Content[linkform.Media] = content{Schema: s.alternatives(rt.body.form)}
		}
	}
	for _, a := range rt.answers {
		op.answer(s, a)
	}
	for status, codes := range codesByStatus(rt) {
		op.Responses[fmt.Sprint(status)] = refusals(rt, status, codes)
	}
	return op
}

// rolesSaid is a sentence on who may call.
func rolesSaid(rt route) string {
	if len(rt.roles) == 0 {
		return "Requires no token."
	}
	names := make([]string, len(rt.roles))
	for i, r := range rt.roles {
		names[i] = "`" + string(r) + "`"
	}
	return "Requires the role " + strings.Join(names, " or ") + ", or `admin`."
}

func (s *shapes) alternatives(of any) *jsonschema.Schema {
	several, ok := of.(either)
	if !ok {
		return s.of(reflect.TypeOf(of))
	}
	any := &jsonschema.Schema{}
	for _, one := range several {
		any.AnyOf = append(any.AnyOf, s.of(reflect.TypeOf(one)))
	}
	return any
}

// answer adds one way to succeed; those of one status differ by their media type.
func (op operation) answer(s *shapes, a answered) {
	key := fmt.Sprint(a.status)
	r := op.Responses[key]
	r.Description = strings.TrimSpace(r.Description + " " + a.about)
	for _, name := range a.headers {
		if r.Headers == nil {
			r.Headers = map[string]header{}
		}
		r.Headers[name] = headers[name]
	}
	if a.of != nil && r.Content == nil {
		r.Content = map[string]content{}
	}
	switch {
	case a.of == nil:
	case a.media == linkpage.Media:
		r.Content[linkpage.Media] = content{Schema: &schema{Type: "string"}}
	case a.media != "":
		r.Content[a.media] = content{Schema: refTo("StreamEvent")}
	case reflect.TypeOf(a.of).Kind() == reflect.Map:
		r.Content[mediaJSON] = content{Schema: anObject}
	default:
		r.Content[mediaJSON] = content{Schema: s.alternatives(a.of)}
	}
	op.Responses[key] = r
}

var pathName = regexp.MustCompile(`\{(\w+)\}`)

// idSchemas are of the ids in paths, by what stands before them.
var idSchemas = map[string]parameter{
	"runs":        {Description: "The run's id.", Schema: &schema{Type: "string"}},
	"asks":        {Description: "The ask's id.", Schema: &schema{Type: "string"}},
	"threads":     {Description: "The thread's id.", Schema: &schema{Type: "string"}},
	"streams":     {Description: "The ticket from the redirect of `readEvents`.", Schema: &schema{Type: "string"}},
	"approvals":   {Description: "The token in the link that `makeLink` returned.", Schema: &schema{Type: "string"}},
	"suspensions": {Description: "The suspension's id.", Schema: &schema{Type: "string"}},
	"hooks":       {Description: "The hook's name, which is that of its file.", Schema: &schema{Type: "string", MinLength: jsonschema.Ptr(1)}},
	"push":        {Description: "The token in the address that the agent got with the task.", Schema: &schema{Type: "string", MinLength: jsonschema.Ptr(1)}},
	"webhooks":    {Description: "The webhook's id.", Schema: &schema{Type: "string"}},
	"deliveries":  {Description: "The delivery's id.", Schema: &schema{Type: "string"}},
	"agents":      {Description: "The agent's name.", Schema: &schema{Type: "string", MinLength: jsonschema.Ptr(1)}},
}

func parametersOf(rt route) []parameter {
	var list []parameter
	for _, m := range pathName.FindAllStringSubmatch(rt.path, -1) {
		of := strings.Split(rt.path, "/")
		p := idSchemas[of[2]]
		if of[3] == "deliveries" {
			p = idSchemas[of[3]]
		}
		switch m[1] {
		case "link":
			p = parameter{Description: "The link's id.", Schema: &schema{Type: "string"}}
		case "call":
			p = parameter{Description: "The call's id.", Schema: &schema{Type: "string"}}
		}
		if p.Schema == nil {
			panic("no schema for " + m[0] + " in " + rt.path)
		}
		p.In, p.Name, p.Required = "path", m[1], true
		list = append(list, p)
	}
	for _, p := range rt.params {
		about := p.about
		if p.most > 0 {
			about += fmt.Sprintf(" Values above %d count as %d.", p.most, p.most)
		}
		list = append(list, parameter{In: p.in, Name: p.name, Description: about, Empty: p.in == "query", Schema: p.schema()})
	}
	return list
}

// wholeNumber is as much as is read; float64, which package jsonschema keeps bounds in, cannot hold
// its end.
var wholeNumber = struct {
	Type    string `json:"type"`
	Format  string `json:"format"`
	Minimum int64  `json:"minimum"`
	Maximum int64  `json:"maximum"`
}{"integer", "int64", 0, 1<<63 - 1}

func (p param) schema() any {
	switch {
	case p.number:
		return wholeNumber
	case p.one != nil:
		return enumOf(append(slices.Clone(p.one), "")...)
	case p.moment:
		return &schema{Type: "string", Format: "date-time"}
	case p.longest > 0:
		return &schema{Type: "string", MaxLength: jsonschema.Ptr(p.longest)}
	}
	return &schema{Type: "string"}
}

// codesByStatus are all codes that a call may answer with: its own, and those of what every such
// call goes through.
func codesByStatus(rt route) map[int][]refusal.Code {
	codes := slices.Clone(rt.codes)
	codes = append(codes, problems.CodeForbidden, problems.CodeInternal)
	if !rt.link {
		codes = append(codes, refusal.CodeInvalid)
	}
	if !rt.link || rt.body != nil {
		codes = append(codes, problems.CodeUnknownField)
	}
	if len(rt.roles) > 0 {
		codes = append(codes, problems.CodeUnauthorized, problems.CodeRoleRequired, problems.CodeNotAdmitted)
	}
	if rt.tag != "server" {
		codes = append(codes, storageCodes...)
	}
	if rt.method != http.MethodGet && rt.tag != "server" {
		codes = append(codes, refusal.CodeDiskFull)
	}
	if rt.body != nil {
		codes = append(codes, problems.CodeMalformed, problems.CodeTooLarge)
	}
	if rt.body != nil && !rt.raw {
		codes = append(codes, problems.CodeMediaType)
	}
	if strings.Contains(rt.path, "{") {
		codes = append(codes, problems.CodeNotFound)
	}
	by := map[int][]refusal.Code{}
	for _, p := range problems.Table { // in the order of the table
		if slices.Contains(codes, p.Code) {
			by[p.Status] = append(by[p.Status], p.Code)
		}
	}
	return by
}

// storageCodes are what any call may be answered with while the store fails.
var storageCodes = []refusal.Code{refusal.CodeStorageFailing, refusal.CodeStorageDamaged, refusal.CodeStorageGone, refusal.CodeStorageDenied,
	refusal.CodeUnreadable, refusal.CodeUnavailable}

// shared are answers that are the same wherever they occur.
var shared = map[string][]refusal.Code{
	"Unauthorized": {problems.CodeUnauthorized}, "Forbidden": {problems.CodeForbidden, problems.CodeRoleRequired, problems.CodeNotAdmitted}, "TooLarge": {problems.CodeTooLarge},
	"UnsupportedMediaType": {problems.CodeMediaType}, "InternalError": {problems.CodeInternal}, "Unavailable": storageCodes, "DiskFull": {refusal.CodeDiskFull},
}

func sharedResponses() map[string]response {
	all := map[string]response{}
	for name, codes := range shared {
		all[name] = refusalOf(problems.Of(codes[0]).Status, codes)
	}
	return all
}

func refusals(rt route, status int, codes []refusal.Code) response {
	if rt.link {
		r := refusalOf(status, codes)
		r.Content[linkpage.Media] = content{Schema: &schema{Type: "string"}}
		return r
	}
	for name, of := range shared {
		if slices.Equal(of, codes) {
			return response{Ref: "#/components/responses/" + name}
		}
	}
	return refusalOf(status, codes)
}

func refusalOf(status int, codes []refusal.Code) response {
	words, said := make([]string, len(codes)), make([]string, len(codes))
	for i, c := range codes {
		words[i], said[i] = string(c), fmt.Sprintf("`%s` (%s): %s", c, problems.Of(c).Title, problems.Of(c).Meaning)
	}
	number := any(status)
	r := response{Description: strings.Join(said, "\n"), Codes: codes, Content: map[string]content{mediaProblem: {Schema: &schema{
		Ref: "#/components/schemas/Problem", PropertyOrder: []string{"status", "code"},
		Properties: map[string]*schema{"status": {Const: &number}, "code": enumOf(words...)}}}}}
	switch status {
	case http.StatusUnauthorized:
		r.Headers = map[string]header{"WWW-Authenticate": headers["WWW-Authenticate"]}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		again := headers["Retry-After"]
		if status == http.StatusServiceUnavailable {
			again.Description, again.Required = "Seconds to wait before repeating the request. Omitted if a repeat can't help.", false
		}
		r.Headers = map[string]header{"Retry-After": again}
	}
	return r
}

// examplesOf are bodies to show with a call.
func examplesOf(name string) map[string]openExample {
	var shown map[string]openExample
	for _, b := range sampleBodies {
		if b.call == name {
			if shown == nil {
				shown = map[string]openExample{}
			}
			shown[b.name] = openExample{Summary: b.about, Value: json.RawMessage(b.body)}
		}
	}
	return shown
}
