package httpapi_test

import (
	"encoding/json"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// formSchema has every kind of field that a page shows.
const formSchema = `{"type":"object","required":["name","size","ok","address"],"properties":{
	"name":{"type":"string","minLength":2,"title":"Your <b>name</b>","description":"as in\u202e the <script>passport</script>"},
	"size":{"type":"integer","minimum":1,"maximum":9},
	"ok":{"type":"boolean"},
	"color":{"enum":["red","<i>blue</i>","P\u0430ypal",7]},
	"tags":{"type":"array","items":{"type":"string"}},
	"days":{"type":"array","minItems":2,"items":{"enum":["mon","tue","wed"]}},
	"address":{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"deep":{"type":"object"}}},
	"billing":{"type":"object","required":["iban"],"properties":{"iban":{"type":"string"}}},
	"free":{"anyOf":[{"type":"string"},{"type":"number"}]}},"additionalProperties":false}`

// questions is a server with a call that waits for an answer, and the link for it.
func questions(t *testing.T, kind core.Kind, schema string) (s *server, run wire.Run, link string) {
	t.Helper()
	s = newServer(t, settings{token: "secret", options: withLinks})
	run = s.start()
	s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "ask", Kind: kind, Message: "which <b>size</b>?", Schema: json.RawMessage(schema)})
	return s, run, s.makeLink(run.ID, "c1", "anna").Link
}

var (
	asPage = header("Accept", "text/html")
	asForm = header("Content-Type", "application/x-www-form-urlencoded")
)

// fill is the page's form with some fields filled in.
func fill(t *testing.T, page answer, fields ...string) url.Values {
	t.Helper()
	form := url.Values{"action": {"resume"}, "shown": {shownOn(t, page)}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

// hidden is what a page keeps for itself in its form.
func hidden(page answer, name string) string {
	_, rest, _ := strings.Cut(page.text, `<input type="hidden" name="`+name+`" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	return html.UnescapeString(value)
}

// filled are the fields of an answer that fits formSchema.
var filled = []string{"f0", "Ann <b>", "f1", "3", "f2", "0", "f3", "1", "f4", "a\r\n\r\n b ", "f5.0", "on", "f5.2", "on", "f6", "Bonn", "f9", `{"x":[1]}`}

func TestAQuestionIsAnsweredByTheFormOfItsSchema(t *testing.T) {
	for _, kind := range []core.Kind{core.KindInput, core.KindClient} {
		s, run, link := questions(t, kind, formSchema)
		page := s.send("GET", link, "", asPage)
		if page.StatusCode != 200 || strings.Contains(page.text, "<script") || strings.Contains(page.text, "<b>name") || strings.Contains(page.text, "<i>") || strings.Contains(page.text, "\u202e") {
			t.Fatalf("%v: %d %s", kind, page.StatusCode, page.text)
		}
		for _, want := range []string{`<label for="f0">`, `id="f2-0" type="radio" name="f2"`, `type="checkbox" name="f5.1"`, `<legend>`, "Send this answer", "Decline to answer", `inputmode="decimal"`, "U+0430"} {
			if !strings.Contains(page.text, want) {
				t.Errorf("%v: the page lacks %s", kind, want)
			}
		}
		form := fill(t, page, filled...)
		form.Set("f9", "")
		for _, want := range []int{202, 200} {
			if got := s.send("POST", link, form.Encode(), asPage, asForm); got.StatusCode != want {
				t.Fatalf("%v: %d instead of %d: %s", kind, got.StatusCode, want, got.text)
			}
		}
		form.Set("f0", "Bob")
		if got := s.send("POST", link, form.Encode(), asPage, asForm); got.StatusCode != 409 || !strings.Contains(got.text, "Your answer was not used.") {
			t.Errorf("%v: another answer: %d %s", kind, got.StatusCode, got.text)
		}
		s.worker.Drain(run.ID)
		events := s.send("GET", "/v1/runs/"+run.ID+"/events?limit=100", "", header("Accept", "application/json"), bearer("secret")).text
		want := `"result":{"address":{"city":"Bonn"},"color":"<i>blue</i>","days":["mon","wed"],"name":"Ann <b>","ok":true,"size":3,"tags":["a","b"]}`
		if !strings.Contains(events, want) || !strings.Contains(events, `"by":"link:anna"`) {
			t.Errorf("%v: the answer is not %s: %s", kind, want, events)
		}
	}
}

func TestAnAnswerThatDoesNotFitIsShownAgainWithWhatWasTyped(t *testing.T) {
	s, run, link := questions(t, core.KindInput, formSchema)
	page := s.send("GET", link, "", asPage)
	long := strings.Repeat("x", 70_000)
	for name, tt := range map[string]struct {
		field, value string
		status       int
		says         string
	}{
		"a short text":               {"f0", "<", 422, `id="f0-bad"`},
		"a required text":            {"f0", " ", 422, "An answer is needed here."},
		"no number":                  {"f1", `12<`, 422, "Write a number"},
		"a text in quotes":           {"f1", `"3"`, 422, "Write a number"},
		"a number out of bounds":     {"f1", "10", 422, `id="f1-bad"`},
		"half a number":              {"f1", "1.5", 422, `id="f1-bad"`},
		"no yes or no":               {"f2", "", 422, `id="f2-bad"`},
		"an option that isn't there": {"f3", "4", 422, "Choose one of the options."},
		"an option before the first": {"f3", "-1", 422, "Choose one of the options."},
		"one day of two":             {"f5.2", "", 422, `id="f5-bad"`},
		"no city":                    {"f6", "", 422, `id="f6-bad"`},
		"no JSON":                    {"f7", "{", 422, "Write JSON"},
		"JSON of another type":       {"f7", "[]", 422, `id="f7-bad"`},
		"JSON that fits no option":   {"f9", "{}", 422, `id="f9-bad"`},
		"a field without a schema":   {"f10", "1", 400, "unknown field"},
		"a member by its name":       {"name", "Ann", 400, "unknown field"},
		"a box that isn't there":     {"f5.3", "on", 400, "unknown field"},
		"arguments":                  {"arguments", "{}", 400, "this link can&#39;t edit arguments"},
		"an oversized answer":        {"f0", long, 413, "64 KiB"},
	} {
		form := fill(t, page, filled...)
		form.Set("f9", "1")
		form.Set(tt.field, tt.value)
		got := s.send("POST", link, form.Encode(), asPage, asForm)
		if got.StatusCode != tt.status || !strings.Contains(got.text, tt.says) {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
		if tt.status == 422 && (!strings.Contains(got.text, `value="Bonn"`) && !strings.Contains(got.text, ">\nBonn</textarea>") && tt.field != "f6" || strings.Count(got.text, `class="bad"`) != 1 ||
			!strings.Contains(got.text, `name="f5.0" value="on" checked`)) {
			t.Errorf("%s: what was typed is lost, or another field is called wrong: %s", name, got.text)
		}
	}
	form := fill(t, page, filled...)
	form.Set("action", "look")
	if got := s.send("POST", link, form.Encode(), asPage, asForm); got.StatusCode != 400 || !strings.Contains(got.text, ">\nAnn &lt;b&gt;</textarea>") {
		t.Errorf("a look loses what was typed: %d %s", got.StatusCode, got.text)
	}
	if now, err := s.client.Run(t.Context(), run.ID); err != nil || len(now.Pending) != 1 {
		t.Errorf("something was stored: %+v, %v", now, err)
	}
	form = url.Values{"action": {"cancel"}, "shown": {shownOn(t, page)}, "reason": {"I don't know"}}
	if got := s.send("POST", link, form.Encode(), asPage, asForm); got.StatusCode != 202 {
		t.Errorf("declining needs no fields: %d %s", got.StatusCode, got.text)
	}
}

func TestAnswersOfOneField(t *testing.T) {
	for name, tt := range map[string]struct{ schema, field, value, want string }{
		"no schema":       {``, "result", "a\r\nb", `"a\nb"`},
		"a text":          {`{"type":"string"}`, "result", "17", `"17"`},
		"one of texts":    {`{"type":"string","enum":["a","b"]}`, "f0", "1", `"b"`},
		"yes or no":       {`{"type":"boolean"}`, "f0", "1", `false`},
		"a number":        {`{"type":"number"}`, "f0", " 0.10 ", `0.10`},
		"some":            {`{"type":"array","items":{"enum":[1,2]}}`, "f0.1", "on", `[2]`},
		"lines":           {`{"type":"array","items":{"type":"string"}}`, "f0", "a\nb", `["a","b"]`},
		"a composed one":  {`{"oneOf":[{"type":"number"},{"type":"string"}]}`, "result", "17", `17`},
		"a fixed value":   {`{"const":"yes"}`, "f0", "0", `"yes"`},
		"an open object":  {`{"type":"object"}`, "result", `{"a":1}`, `{"a":1}`},
		"an unknown name": {`{"type":"object","properties":{"a":{"type":["number","null"]}},"required":["b","a"]}`, "f1", `{"c":2}`, `{"a":null,"b":{"c":2}}`},
	} {
		s, run, link := questions(t, core.KindInput, tt.schema)
		page := s.send("GET", link, "", asPage)
		if !strings.Contains(page.text, `name="`+tt.field+`"`) {
			t.Fatalf("%s: the page has no field %s: %s", name, tt.field, page.text)
		}
		if got := s.send("POST", link, fill(t, page).Encode(), asPage, asForm); got.StatusCode != 422 && !strings.Contains(name, "some lines") {
			if !(strings.Contains(tt.schema, "array") && got.StatusCode == 202) {
				t.Errorf("%s: an empty answer: %d %s", name, got.StatusCode, got.text)
			}
			continue
		}
		if got := s.send("POST", link, fill(t, page, tt.field, tt.value).Encode(), asPage, asForm); got.StatusCode != 202 {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
		s.worker.Drain(run.ID)
		events := s.send("GET", "/v1/runs/"+run.ID+"/events?limit=100", "", header("Accept", "application/json"), bearer("secret")).text
		if !strings.Contains(events, `"result":`+tt.want) {
			t.Errorf("%s: the answer is not %s: %s", name, tt.want, events)
		}
	}
}

// A schema of others can't make a page that is too large, or names that are the page's own.
func TestAHostileSchemaGetsATextArea(t *testing.T) {
	var many []string
	for i := range 61 {
		many = append(many, `"p`+strconv.Itoa(i)+`":{"type":"string"}`)
	}
	for name, schema := range map[string]string{
		"many fields":  `{"type":"object","properties":{` + strings.Join(many, ",") + `}}`,
		"a reference":  `{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"a":{}}}}}`,
		"no schema":    `[1]`,
		"wrong values": `{"type":7,"properties":[],"required":"a"}`,
	} {
		s, _, link := questions(t, core.KindInput, schema)
		if page := s.send("GET", link, "", asPage); page.StatusCode != 200 || !strings.Contains(page.text, `name="result"`) {
			t.Errorf("%s: %d %s", name, page.StatusCode, page.text)
		}
	}
	s, _, link := questions(t, core.KindInput, `{"type":"object","properties":{"action":{"type":"string"},"shown\" autofocus onfocus=\"x":{"enum":["\"><script>x</script>"]}}}`)
	if page := s.send("GET", link, "", asPage); strings.Contains(page.text, "<script") || strings.Contains(page.text, `" autofocus`) || !strings.Contains(page.text, `name="f1"`) {
		t.Errorf("%s", page.text)
	}
}
