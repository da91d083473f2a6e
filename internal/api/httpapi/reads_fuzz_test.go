package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

var readSeeds = []struct{ method, target, headers string }{
	{"GET", "/v1/runs/{waiting}", "Prefer: wait=0"},
	{"GET", "/v1/runs/{done}", "Prefer: respond-async, WAIT=\"0\"; x"},
	{"GET", "/v1/runs?status=waiting&agent=desk&limit=2&cursor=eyJsIjoiciIsIm4iOjksInMiOiJydW5fYSJ9", ""},
	{"GET", "/v1/runs?limit=1", ""}, {"GET", "/v1/runs?limit=99999999999999999999", ""}, {"GET", "/v1/runs?status=odd", ""},
	{"GET", "/v1/runs/{waiting}/events?after=MS4xLjE&wait=0&limit=2", "Accept: application/json"},
	{"GET", "/v1/runs/{done}/events?after=MS4tMS4w", "Last-Event-ID: MS4xLjE"},
	{"GET", "/v1/runs/{done}/events?after=MS45MjIzMzcyMDM2ODU0Nzc1ODA3LjA", ""},
	{"GET", "/v1/threads/{thread of done}", ""}, {"GET", "/v1/threads/{thread of done}/messages?limit=1&cursor=MS4xLjE", ""},
	{"GET", "/v1/threads/{thread of done}/runs?status=done", ""}, {"GET", "/v1/approvals?agent=desk&limit=1", ""},
	{"GET", "/v1/approvals?cursor=eyJsIjoiYSIsInMiOiJ4IiwidCI6InkifQ", ""}, {"GET", "/v1/agents", ""}, {"GET", "/v1/agents/desk", ""}, {"GET", "/v1/agents/%00", ""},
	{"GET", "/healthz", "Origin: http://elsewhere"}, {"GET", "/v1/runs/run_%2e%2e_0", ""}, {"GET", "//v1/runs/../x;y?%zz", ""}, {"HEAD", "/v1/runs", ""},
	{"PUT", "/v1/runs/{done}", ""}, {"POST", "/v1/runs/{waiting}/cancel?x=1", "Idempotency-Key: k"}, {"OPTIONS", "*", ""}, {"CONNECT", "localhost:80", ""},
	{"GET", "/v1/events?limit=1&types=call.suspended,decision.recorded", "Accept: application/json"}, {"GET", "/v1/events?after=eyJmIjoiOGUxNzNkIiwiYSI6MTd9", "Accept: application/json"},
	{"GET", "/v1/events?from=tail&wait=0&types=,", "Accept: application/json"}, {"GET", "/v1/events", "Last-Event-ID: e30"},
	{"GET", "/v1/decisions?limit=1&by=anna&via=api&action=resume", ""}, {"GET", "/v1/decisions?limit=1&cursor=eyJkIjoiOWI3MDQzIiwiYSI6MSwiaSI6IjAifQ", ""},
	{"GET", "/v1/decisions?created_after=9999-12-31T23:59:59Z&created_before=0000-01-01T00:00:00Z", ""},
	{"GET", "/v1/runs?b=1&a=1&limit=1&limit=2", ""}, {"POST", "/v1/runs/{waiting}/interrupt", "Sec-Fetch-Site: cross-site"}, {"GET", "http://localhost/v1/runs", "Transfer-Encoding: chunked"},
}

// Whatever path, parameters and headers are, a request is answered, what only reads stores nothing,
// and a cursor that was given out leads on.
func FuzzReads(f *testing.F) {
	d := newDesk(f)
	for _, seed := range readSeeds {
		f.Add(seed.method, seed.target, seed.headers)
	}
	f.Fuzz(func(t *testing.T, method, target, headers string) {
		o := d.open(t)
		head := d.names.Replace(method+" "+target+" HTTP/1.1\r\nHost: localhost\r\n") + strings.ReplaceAll(headers, "\n", "\r\n")
		r, ok := o.read(head, "")
		if !ok {
			return
		}
		answer := o.serve(r)
		if (r.Method == http.MethodGet || answer.Code >= 400) && o.stored() != o.fresh {
			t.Fatalf("%q was answered with %d, and something was stored", head, answer.Code)
		}
		if r, _ := o.read(head, ""); answer.Code >= 400 {
			if again := o.serve(r); again.Code != answer.Code || again.Body.String() != answer.Body.String() {
				t.Fatalf("%q was answered with %d %s, and then with %d %s", head, answer.Code, answer.Body, again.Code, again.Body)
			}
		}
		if r.Method == http.MethodGet && answer.Code == http.StatusOK {
			o.follow(r.URL, answer.Body.Bytes())
		}
	})
}

// follow reads on from where a page says, and meets nothing twice.
func (o opened) follow(u *url.URL, body []byte) {
	o.t.Helper()
	parameter := "cursor"
	if strings.HasSuffix(u.Path, "/events") {
		parameter = "after"
	}
	seen := map[string]bool{}
	for range 40 {
		var page struct {
			Items []json.RawMessage `json:"items"`
			Next  string            `json:"next"`
			Done  bool              `json:"done"`
		}
		if json.Unmarshal(body, &page) != nil {
			return
		}
		for _, item := range page.Items {
			if seen[string(item)] {
				o.t.Fatalf("%s shows %s twice", u, item)
			}
			seen[string(item)] = true
		}
		if page.Next == "" || page.Done || parameter == "after" && len(page.Items) == 0 {
			return
		}
		query := u.Query()
		query.Set(parameter, page.Next)
		r, ok := o.read("GET "+u.EscapedPath()+"?"+query.Encode()+" HTTP/1.1\r\nHost: localhost", "")
		if !ok {
			o.t.Fatalf("%s: the cursor %q cannot be sent", u, page.Next)
		}
		answer := o.serve(r)
		if answer.Code != http.StatusOK {
			o.t.Fatalf("%s: the cursor %q that was given out is answered %d %s", u, page.Next, answer.Code, answer.Body)
		}
		body = answer.Body.Bytes()
	}
	o.t.Fatalf("%s has no end", u)
}
