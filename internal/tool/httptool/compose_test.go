package httptool

import (
	"strings"
	"testing"
)

func TestArgumentsStandWhereTheFileSays(t *testing.T) {
	tests := []struct{ name, tool, args, uri, body string }{
		{"in the path, as text", look, `{"order":"A-17"}`, "/v1/orders/A-17", ""},
		{"escaped for the path", look, `{"order":"a b?c#d;e&f=ü"}`, "/v1/orders/a%20b%3Fc%23d%3Be&f=%C3%BC", ""},
		{"a number with every digit", look, `{"order":123456789012345678901234567890.10}`, "/v1/orders/123456789012345678901234567890.10", ""},
		{"escaped for the query", look, `{"order":"1","full":"a&b=c d%2f/ü\n"}`, "/v1/orders/1?full=a%26b%3Dc+d%252f%2F%C3%BC%0A", ""},
		{"truth values", look, `{"order":"1","full":true}`, "/v1/orders/1?full=true", ""},
		{"null is left out of the query", look, `{"order":"1","full":null}`, "/v1/orders/1", ""},
		{"a list is repeated in the query", look, `{"order":"1","tags":["a",2]}`, "/v1/orders/1?tag=a&tag=2", ""},
		{"the rest in the body, as it is", pay, `{"order":"1","amount":10.50,"note":{"x":[1e400,"<&>"]}}`, "/v1/pay/1", `{"amount":10.50,"note":{"x":[1e400,"<&>"]}}`},
		{"no rest is an empty object", pay, `{"order":"1"}`, "/v1/pay/1", `{}`},
		{"a query in the URL", `  - {name: q, http: {url: "https://api.example.com/find?v=1%202&q={q}-x"}, parameters: {type: object, properties: {q: {}}}}`,
			`{"q":"a b"}`, "/find?v=1+2&q=a+b-x", ""},
		{"a form", `  - {name: f, http: {method: POST, url: "https://api.example.com/f", body: form}, parameters: {type: object, properties: {a: {}, b: {}}}}`,
			`{"a":"x y","b":[1,2]}`, "/f", "a=x+y&b=1&b=2"},
		{"a template", `  - name: t
    http: {method: PUT, url: "https://api.example.com/t", body: {order: {id: "{id}", note: "for {id} {{ok}}", gone: "{none}"}, list: ["{none}", "{id}", 1.50]}}
    parameters: {type: object, properties: {id: {}, none: {}}}`,
			`{"id":12345678901234567890}`, "/t", `{"list":[12345678901234567890,1.50],"order":{"id":12345678901234567890,"note":"for 12345678901234567890 {ok}"}}`},
		{"no body", `  - {name: d, http: {method: DELETE, url: "https://api.example.com/d/{id}"}, parameters: {type: object, properties: {id: {}}, required: [id]}}`,
			`{"id":"7"}`, "/d/7", ""},
		{"no path", `  - {name: n, http: {url: "https://api.example.com"}, parameters: {type: object}}`, `{}`, "/", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.serve(publicAddress+":443", answering(200, `"ok"`))
			out := w.call(tt.tool, tt.args)
			got := w.requests()
			if out.Failed || len(got) != 1 || got[0].URI != tt.uri || got[0].Body != tt.body {
				t.Errorf("outcome %+v, requests %+v", out, got)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	w := newWorld(t)
	w.secrets["TOKEN"] = "s3cret-value"
	w.serve(publicAddress+":443", answering(200, `"ok"`))
	out := w.call(`  - name: h
    http: {method: POST, url: "https://api.example.com/h", headers: {Authorization: "Bearer {secret:TOKEN}", X-Trace: "t-{trace}", X-None: "{none}", content-type: application/vnd.x+json}}
    parameters: {type: object, properties: {trace: {}, none: {}}}`, `{"trace":12}`)
	got := w.requests()
	if out.Failed || len(got) != 1 {
		t.Fatalf("outcome %+v, requests %+v", out, got)
	}
	for name, want := range map[string]string{"Authorization": "Bearer s3cret-value", "X-Trace": "t-12", "X-None": "", "Content-Type": "application/vnd.x+json",
		"Idempotency-Key": testKey, "User-Agent": "dormouse", "Accept-Encoding": ""} {
		if h := got[0].Header.Values(name); strings.Join(h, "|") != want {
			t.Errorf("header %s is %q, want %q", name, h, want)
		}
	}
}

func TestAGetCarriesNoKey(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", answering(200, `1`))
	w.call(look, `{"order":"1"}`)
	if got := w.requests(); len(got) != 1 || got[0].Header.Values("Idempotency-Key") != nil {
		t.Errorf("%+v", got)
	}
}

func TestNoArgumentLeavesItsPlace(t *testing.T) {
	const segment = `  - {name: s, http: {url: "https://api.example.com/a/{x}/b"}, parameters: {type: object, properties: {x: {}}, required: [x]}}`
	const joined = `  - {name: s, http: {url: "https://api.example.com/a/{x}{y}/b"}, parameters: {type: object, properties: {x: {}, y: {}}, required: [x, y]}}`
	const dotted = `  - {name: s, http: {url: "https://api.example.com/a/.{x}"}, parameters: {type: object, properties: {x: {}}, required: [x]}}`
	const header = `  - {name: s, http: {url: "https://api.example.com/", headers: {X-A: "{x}"}}, parameters: {type: object, properties: {x: {}}}}`
	tests := []struct{ name, tool, args string }{
		{"two dots", segment, `{"x":".."}`}, {"one dot", segment, `{"x":"."}`}, {"nothing", segment, `{"x":""}`},
		{"a slash", segment, `{"x":"c/d"}`}, {"a way up", segment, `{"x":"../../admin"}`}, {"only a slash", segment, `{"x":"/"}`},
		{"an escaped slash", segment, `{"x":"c%2fd"}`}, {"an escaped slash in capitals", segment, `{"x":"..%2F.."}`},
		{"escaped dots", segment, `{"x":"%2e%2e"}`}, {"an escape that is escaped", segment, `{"x":"%252f"}`}, {"a backslash", segment, `{"x":"..\\.."}`},
		{"an escaped backslash", segment, `{"x":"%5c"}`}, {"a line break", segment, `{"x":"a\r\nHost: evil"}`}, {"a NUL", segment, `{"x":"a\u0000"}`},
		{"a mapping in the path", segment, `{"x":{"a":1}}`}, {"a list in the path", segment, `{"x":["a"]}`}, {"null in the path", segment, `{"x":null}`},
		{"missing in the path", segment, `{}`}, {"dots of two arguments", joined, `{"x":".","y":"."}`}, {"dots with the file's", dotted, `{"x":"."}`},
		{"a header with a line break", header, `{"x":"a\r\nX-Evil: 1"}`}, {"a header with a bare line feed", header, `{"x":"a\nb"}`},
		{"a header that is no ASCII", header, `{"x":"ü"}`}, {"a mapping in a header", header, `{"x":{}}`},
		{"a mapping in the query", look, `{"order":"1","full":{"a":1}}`},
		{"a URL without end", look, `{"order":"1","full":"` + strings.Repeat("x", maxURL) + `"}`},
		{"no object", segment, `[1]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.serve(publicAddress+":443", answering(200, `"ok"`))
			out := w.call(tt.tool, tt.args)
			if !out.Failed || !strings.HasPrefix(out.Text, "The call did not run: ") || len(w.requests()) != 0 || len(w.dialled) != 0 {
				t.Errorf("outcome %+v, requests %+v, dialled %v", out, w.requests(), w.dialled)
			}
		})
	}
}
