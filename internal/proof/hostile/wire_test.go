//go:build linux

package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
)

const million = 1_000_000

var (
	ten  = strings.Repeat("x", 10<<20)
	long = strings.Repeat("a", million)
)

// TestOddRequests sends one thing per connection. want is what comes back, or several with a bar
// between them.
func TestOddRequests(t *testing.T) {
	t.Parallel() // it mostly waits
	a := attackInHaste(t)
	start := `{"agent":"nobody","input":"x"}`
	for _, tt := range []struct{ name, text, want string }{
		// Sizes.
		{"a body of 10 MB", post("/v1/runs", ten), "too_large|closed"},
		{"a body of 10 MB in chunks", request("POST", "/v1/runs", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(ten), ten), jsonBody, "Transfer-Encoding: chunked"), "too_large|closed"},
		{"a body of 10 MB that is said to be packed", post("/v1/runs", ten, "Content-Encoding: gzip"), "too_large|closed"},
		{"a packed body that would be 10 MB", post("/v1/runs", packed(ten), "Content-Encoding: gzip"), "malformed_body"},
		{"a body of 10 MB to a read", request("GET", "/v1/runs", ten, "Content-Length: 10485760"), "200|closed"},
		{"a body of 10 MB to nothing", post("/v2/nothing", ten), "not_found|closed"},
		{"a length beyond any number", request("POST", "/v1/runs", "{}", jsonBody, "Content-Length: 99999999999999999999"), "net/http"},
		{"a length below zero", request("POST", "/v1/runs", "{}", jsonBody, "Content-Length: -1"), "net/http"},
		{"a length that is no number", request("POST", "/v1/runs", "{}", jsonBody, "Content-Length: 0x2"), "net/http"},
		{"a chunk with an endless extension", request("POST", "/v1/runs", "2;"+long+"\r\n{}\r\n0\r\n\r\n", jsonBody, "Transfer-Encoding: chunked"), "malformed_body|closed"},
		{"a chunk length beyond any number", request("POST", "/v1/runs", "fffffffffffffffff\r\n{}", jsonBody, "Transfer-Encoding: chunked"), "malformed_body|closed"},
		{"200,000 bytes, one a chunk", request("POST", "/v1/runs", strings.Repeat("1\r\nx\r\n", 200_000), jsonBody, "Transfer-Encoding: chunked"), "malformed_body|closed"},
		{"a trailer of 1 MB", request("POST", "/v1/runs", "1e\r\n"+start+"\r\n0\r\nX: "+long+"\r\n\r\n", jsonBody, "Transfer-Encoding: chunked", "Trailer: X"), "malformed_body|closed"},

		// A million characters.
		{"a million characters in the path", get("/v1/runs/run_" + long), "net/http|closed"},
		{"a million characters in the query", get("/v1/runs?cursor=" + long), "net/http|closed"},
		{"a million characters in a header", get("/v1/runs", "Idempotency-Key: "+long), "net/http|closed"},
		{"a million characters in the name of a header", get("/v1/runs", long+": x"), "net/http|closed"},
		{"a million characters in the body", post("/v1/runs", `{"agent":"`+long+`","input":"x"}`), "agent_not_found"},
		{"a million characters as a member's name", post("/v1/runs", `{"`+long+`":"x"}`), "unknown_field"},
		{"60,000 characters in the path", get("/v1/runs/run_" + long[:60_000]), "run_not_found"},
		{"60,000 characters in the query", get("/v1/runs?cursor=" + long[:60_000]), "bad_cursor"},
		{"60,000 characters as a parameter's name", get("/v1/runs?" + long[:60_000]), "unknown_field"},
		{"60,000 characters as a key", post("/v1/runs", start, "Idempotency-Key: "+long[:60_000]), "invalid_request"},
		{"60,000 characters as a preference", get("/v1/runs/run_x", "Prefer: wait="+strings.Repeat("9", 60_000)), "run_not_found"},
		{"60,000 parameters", get("/v1/runs?" + strings.Repeat("&", 60_000)), "invalid_request"},
		{"a method of 10,000 letters", request(strings.Repeat("M", 10_000), "/v1/runs", ""), "method_not_allowed"},
		{"10,000 headers", get("/v1/runs", strings.TrimSuffix(strings.Repeat("A: b\r\n", 20_000), "\r\n")), "net/http|closed"},
		{"10,000 headers that just fit", get("/v1/runs", strings.TrimSuffix(strings.Repeat("A:\r\n", 10_000), "\r\n")), "200"},
		{"an accept header of 10,000 parts", get("/v1/runs/run_x/events", "Accept: "+strings.Repeat("a/b,", 10_000)), "run_not_found"},

		// Texts that are none.
		{"bytes that are no UTF-8 in the path", get("/v1/runs/\xff\xfe"), "run_not_found"},
		{"the same, escaped", get("/v1/runs/%ff%fe"), "run_not_found"},
		{"bytes that are no UTF-8 in the query", get("/v1/runs?cursor=\xff\xfe"), "bad_cursor"},
		{"the same, escaped, as a name", get("/v1/runs?%ff=%fe"), "unknown_field"},
		{"bytes that are no UTF-8 as a key", post("/v1/runs", start, "Idempotency-Key: \xff\xfe"), "agent_not_found"},
		{"bytes that are no UTF-8 in the body", post("/v1/runs", "{\"agent\":\"\xff\",\"input\":\"x\"}"), "malformed_body"},
		{"bytes that are no UTF-8 as the method", request("\xff\xfe", "/v1/runs", ""), "net/http"},
		{"an escape that is none in the path", get("/v1/runs/%zz"), "net/http"},
		{"an escape that is none in the query", get("/v1/runs?cursor=%zz"), "invalid_request"},
		{"a NUL in the path", get("/v1/runs/\x00"), "net/http"},
		{"a NUL in the path, escaped", get("/v1/runs/run_%00"), "run_not_found"},
		{"a NUL as the name of an agent", get("/v1/agents/%00"), "agent_not_found"},
		{"a NUL in a header", get("/v1/runs", "X: \x00"), "net/http"},

		// Paths.
		{"a slash in an id", get("/v1/runs/..%2f..%2fagents"), "run_not_found"},
		{"a backslash in an id", get(`/v1/runs/..\..\agents`), "run_not_found"},
		{"dot segments", get("/v1/runs/../agents"), "not_found"},
		{"dot segments, escaped", get("/v1/runs/%2e%2e/agents"), "not_found"},
		{"empty segments", get("//v1//runs"), "not_found"},
		{"another host behind two slashes", get("//evil.example/v1/runs"), "not_found"},
		{"a slash at the end", get("/v1/runs/"), "not_found"},
		{"no path", request("GET", "", ""), "net/http"},
		{"a star", request("GET", "*", ""), "not_found"},
		{"options of the star", request("OPTIONS", "*", ""), "not_found"},
		{"a fragment", get("/v1/runs#x"), "not_found"},
		{"an absolute target of another host", request("GET", "http://evil.example/v1/runs", ""), "forbidden"},
		{"an absolute target of this host", request("GET", "http://localhost/v1/runs", ""), "200"},
		{"an absolute target of another scheme", request("GET", "file:///etc/passwd", ""), "not_found"},
		{"an authority for a target", request("GET", "localhost:80", ""), "not_found"},
		{"connect", request("CONNECT", "evil.example:443", ""), "forbidden"},
		{"connect with a path", request("CONNECT", "/v1/runs", ""), "method_not_allowed"},

		// Methods.
		{"head of a list", request("HEAD", "/v1/runs", ""), "200"},
		{"head of nothing", request("HEAD", "/v1/nothing", ""), "404"},
		{"head of what only takes", request("HEAD", "/v1/runs/run_x/cancel", ""), "405"},
		{"options", request("OPTIONS", "/v1/runs", ""), "method_not_allowed"},
		{"options as a browser asks", request("OPTIONS", "/v1/runs", "", "Origin: https://evil.example", "Access-Control-Request-Method: POST"), "forbidden"},
		{"trace", request("TRACE", "/v1/runs", "", "X-Secret: 1"), "method_not_allowed"},
		{"a method in small letters", request("get", "/v1/runs", ""), "method_not_allowed"},
		{"the beginning of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "forbidden"},

		// Versions and garbage.
		{"HTTP/0.9", "GET /v1/runs\r\n", "net/http"},
		{"HTTP/1.0 without a host", "GET /v1/runs HTTP/1.0\r\n\r\n", "forbidden"},
		{"HTTP/1.1 without a host", "GET /v1/runs HTTP/1.1\r\n\r\n", "net/http"},
		{"HTTP/1.2", "GET /v1/runs HTTP/1.2\r\nHost: localhost\r\nConnection: close\r\n\r\n", "200"},
		{"HTTP/9.9", "GET /v1/runs HTTP/9.9\r\nHost: localhost\r\n\r\n", "net/http"},
		{"a greeting of TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x17", 500), "net/http|closed"},
		{"zeros", strings.Repeat("\x00", 100_000), "net/http|closed"},
		{"lines without end", strings.Repeat("\r\n", 100_000), "net/http|closed"},
		{"a line without end", strings.Repeat("G", 10*million), "net/http|closed"},
		{"a header without end", "GET /v1/runs HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("A: b\r\n", million), "net/http|closed"},
		{"nothing", "", "closed"},

		// Hosts.
		{"another host", "GET /v1/runs HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", "forbidden"},
		{"two hosts", get("/v1/runs", "Host: evil.example"), "net/http"},
		{"a host that is none", "GET /v1/runs HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n", "net/http"},
		{"a host with a path", "GET /v1/runs HTTP/1.1\r\nHost: localhost/x\r\nConnection: close\r\n\r\n", "net/http"},

		// Two readers of which could see two things.
		{"two lengths", request("POST", "/v1/runs", "{}", jsonBody, "Content-Length: 2", "Content-Length: 40"), "net/http"},
		{"two lengths in one", request("POST", "/v1/runs", "{}", jsonBody, "Content-Length: 2, 40"), "net/http"},
		{"a length and chunks", request("POST", "/v1/runs", "0\r\n\r\nGET /v1/secret HTTP/1.1\r\n\r\n", jsonBody, "Content-Length: 4", "Transfer-Encoding: chunked"), "malformed_body"},
		{"chunks twice", request("POST", "/v1/runs", "0\r\n\r\n", jsonBody, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "net/http"},
		{"chunks by another name", request("POST", "/v1/runs", "0\r\n\r\n", jsonBody, "Transfer-Encoding: xchunked"), "net/http"},
		{"chunks of another encoding", request("POST", "/v1/runs", "0\r\n\r\n", jsonBody, "Transfer-Encoding: gzip, chunked"), "net/http"},
		{"a blank before the colon", get("/v1/runs", "Content-Length : 0"), "net/http"},
		{"a header over two lines", get("/v1/runs", "X: a\r\n b"), "200"},
		{"a header that begins with a blank", get("/v1/runs", " X: a"), "200"},
		{"lines that end in LF only", strings.ReplaceAll(get("/v1/runs"), "\r\n", "\n"), "200"},
		{"a CR inside of a line", get("/v1/runs", "X: a\rY: b"), "net/http"},
		{"an expectation and no body", request("POST", "/v1/runs", "", jsonBody, "Content-Length: 10", "Expect: 100-continue"), "malformed_body"},
		{"an expectation nobody knows", request("POST", "/v1/runs", "{}", jsonBody, "Content-Length: 2", "Expect: miracles"), "net/http"},
		{"an upgrade", get("/v1/runs", "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABkAAQAAP__"), "200"},
		{"half a body", request("POST", "/v1/runs", `{"agent"`, jsonBody, "Content-Length: 100"), "malformed_body"},

		// Other members of a request.
		{"no media type", request("POST", "/v1/runs", "{}", "Content-Length: 2"), "unsupported_media_type"},
		{"a form", request("POST", "/v1/runs", "a=b", "Content-Type: application/x-www-form-urlencoded", "Content-Length: 3"), "unsupported_media_type"},
		{"a media type that is none", request("POST", "/v1/runs", "{}", "Content-Type: ;;;", "Content-Length: 2"), "unsupported_media_type"},
		{"another charset", request("POST", "/v1/runs", "{}", "Content-Type: application/json; charset=utf-16", "Content-Length: 2"), "invalid_request"},
		{"a limit beyond any number", get("/v1/runs?limit=99999999999999999999"), "invalid_request"},
		{"a limit below zero", get("/v1/runs?limit=-1"), "invalid_request"},
		{"a limit of minus nothing", get("/v1/runs?limit=-0"), "200"},
		{"a limit of a third", get("/v1/runs?limit=1e-1"), "invalid_request"},
		{"a cursor that is none", get("/v1/runs?cursor=e30"), "bad_cursor"},
		{"a status that is none", get("/v1/runs?status=%22"), "invalid_request"},
		{"a place in a stream that is none", get("/v1/runs/run_x/events", "Last-Event-ID: \xff"), "run_not_found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a.during(t, func() { a.odd(t, tt.text, tt.want) })
		})
	}
}

func (a *attacked) odd(t *testing.T, text, want string) {
	t.Helper()
	all, err := a.exchange(t, text)
	if err != nil {
		t.Error(err)
	}
	got, err := a.tally(all)
	if err != nil {
		t.Error(err)
	}
	for one := range strings.SplitSeq(want, "|") {
		if got == one {
			return
		}
	}
	t.Errorf("got %s, want %s; %.300v", got, want, all)
}

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}
