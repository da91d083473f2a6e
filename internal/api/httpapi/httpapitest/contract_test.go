package httpapitest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/httpapitest"
)

const document = `{"paths":{
  "/things/{id}":{
    "get":{"operationId":"read","parameters":[{"in":"query","name":"limit","schema":{"type":"integer"}}],"responses":{
      "200":{"headers":{"Location":{"required":true,"schema":{"type":"string","pattern":"^/things/"}}},
             "content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}},"text/event-stream":{"schema":{}}}},
      "404":{"$ref":"#/components/responses/Missing"}}},
    "post":{"operationId":"write","requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}},
      "responses":{"204":{}}}}},
 "components":{
  "responses":{"Missing":{"x-codes":["no_thing"],"content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem","properties":{"code":{"enum":["no_thing"]}}}}}}},
  "schemas":{"Thing":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}},"additionalProperties":false},
    "Event":{"type":"object","required":["seq"]},
    "Problem":{"type":"object","required":["code"]}}}}`

// complaints are what a contract reports.
type complaints []string

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}

func TestWhatIsNotInTheDocumentIsReported(t *testing.T) {
	ok := `{"name":"a"}`
	for _, tt := range []struct {
		name, method, path, sent string
		status                   int
		media, answer            string
		header                   string
		says                     string // of the complaint; empty: none
	}{
		{"a good answer", "GET", "/things/1?limit=3", "", 200, "application/json", ok, "Location: /things/1", ""},
		{"another status", "GET", "/things/1", "", 201, "application/json", ok, "Location: /things/1", "status is not documented"},
		{"another media type", "GET", "/things/1", "", 200, "text/plain", ok, "Location: /things/1", "media type"},
		{"a header that is missing", "GET", "/things/1", "", 200, "application/json", ok, "", "Location is missing"},
		{"a header that does not fit", "GET", "/things/1", "", 200, "application/json", ok, "Location: elsewhere", "the header Location"},
		{"a member that is missing", "GET", "/things/1", "", 200, "application/json", `{}`, "Location: /things/1", "name"},
		{"no JSON", "GET", "/things/1", "", 200, "application/json", `{`, "Location: /things/1", "no JSON"},
		{"a parameter that nobody knows", "GET", "/things/1?colour=1", "", 200, "application/json", ok, "Location: /things/1", "colour"},
		{"a parameter that does not fit", "GET", "/things/1?limit=x", "", 200, "application/json", ok, "Location: /things/1", "limit"},
		{"a problem", "GET", "/things/1", "", 404, "application/problem+json", `{"code":"no_thing"}`, "", ""},
		{"a problem of another code", "GET", "/things/1", "", 404, "application/problem+json", `{"code":"gone"}`, "", "enum"},
		{"a stream", "GET", "/things/1", "", 200, "text/event-stream", "id: 1\ndata: {\"seq\":1}\n\n: nothing\n\n", "Location: /things/1", ""},
		{"a stream with a wrong event", "GET", "/things/1", "", 200, "text/event-stream", "id: 1\ndata: {}\n\n", "Location: /things/1", "an event of the stream"},
		{"a body that fits", "POST", "/things/1", ok, 204, "", "", "", ""},
		{"a body that does not fit, and is taken", "POST", "/things/1", `{"name":"a","b":1}`, 204, "", "", "", "the document refuses its body"},
		{"no body, and it is taken", "POST", "/things/1", "", 204, "", "", "", "without its body"},
		{"another path that is refused", "GET", "/nothing", "", 404, "application/problem+json", `{"status":404,"code":"not_found"}`, "", ""},
		{"another path whose problem is of another status", "GET", "/nothing", "", 404, "application/problem+json", `{"status":400,"code":"not_found"}`, "", "has status 400"},
		{"another path that is refused for another reason", "GET", "/nothing", "", 404, "application/problem+json", `{"status":404,"code":"gone"}`, "", "code \"gone\""},
		{"another path that is served", "GET", "/nothing", "", 200, "application/json", ok, "", "no such call"},
		{"another method that is refused", "PUT", "/things/1", "", 405, "application/problem+json", `{"status":405,"code":"method_not_allowed"}`, "Allow: GET, POST", ""},
		{"another method that is refused without saying which there are", "PUT", "/things/1", "", 405, "application/problem+json", `{"status":405,"code":"method_not_allowed"}`, "Allow: GET", "lacks POST"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if tt.media != "" {
					w.Header().Set("Content-Type", tt.media)
				}
				if name, value, found := strings.Cut(tt.header, ": "); found {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.answer)
			}))
			defer server.Close()
			got := exchange(t, server.URL+tt.path, tt.method, tt.sent)
			if tt.says == "" && len(got) > 0 || tt.says != "" && (len(got) != 1 || !strings.Contains(got[0], tt.says)) {
				t.Errorf("got %q, want a complaint with %q", got, tt.says)
			}
		})
	}
}

func exchange(t *testing.T, url, method, body string) complaints {
	t.Helper()
	contract, err := httpapitest.Read([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	var told complaints
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Transport: contract.Transport(&told, http.DefaultTransport)}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return told
}

func TestAnswersAreCountedOnceSeen(t *testing.T) {
	contract, err := httpapitest.Read([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, a := range contract.Answers() {
		all = append(all, a.String())
		if contract.Seen(a) {
			t.Errorf("%s was never given", a)
		}
	}
	want := "read 200 application/json|read 200 text/event-stream|read 404 no_thing|write 204 "
	if got := strings.Join(all, "|"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
