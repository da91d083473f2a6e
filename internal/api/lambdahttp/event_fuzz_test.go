package lambdahttp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/lambdahttp"
)

// FuzzEvents: whatever event comes, there is an answer; and a request that is made of one has no
// Authorization header, a path that a mux can serve, and a caller only if the authorizer named one.
func FuzzEvents(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"rawPath":"/%zz","requestContext":{"stage":"","http":{"method":"G T"}}}`))
	f.Add([]byte(`{"rawPath":"/p/%2e%2e","headers":{"HOST":"a\r\nb","Host":"c"},"cookies":["\n"],"requestContext":{"stage":"p","http":{"method":"GET","sourceIp":"%"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e gatewayEvent
		if json.Unmarshal(raw, &e) != nil {
			return
		}
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v1/runs/{id}", func(http.ResponseWriter, *http.Request) {})
		got, err := lambdahttp.Buffered(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			checkRequest(t, e, r)
			mux.ServeHTTP(w, r)
		}), quiet)(t.Context(), e)
		if err != nil || got.StatusCode < 200 || got.StatusCode > 599 {
			t.Errorf("%v, %+v", err, got)
		}
	})
}

func checkRequest(t *testing.T, e gatewayEvent, r *http.Request) {
	if len(r.Header.Values("Authorization")) > 0 || !strings.HasPrefix(r.URL.Path, "/") || r.URL.Host != "" || r.URL.Scheme != "" {
		t.Errorf("%+v", r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || int64(len(body)) != r.ContentLength || !e.IsBase64Encoded && string(body) != e.Body {
		t.Errorf("the body: %q, %v", body, err)
	}
	caller := lambdahttp.CallerFrom(r.Context())
	if a := e.RequestContext.Authorizer; (a == nil || a.JWT == nil && a.IAM == nil) && (caller.ARN != "" || caller.Claims != nil) {
		t.Errorf("a caller out of nothing: %+v", caller)
	}
	if strings.Count(r.URL.EscapedPath(), "/") != strings.Count(r.RequestURI[:len(r.RequestURI)-len(afterPath(r))], "/") {
		t.Errorf("%q is another path than %q", r.URL.EscapedPath(), r.RequestURI)
	}
}

// afterPath is the query with its mark.
func afterPath(r *http.Request) string {
	if i := strings.IndexByte(r.RequestURI, '?'); i >= 0 {
		return r.RequestURI[i:]
	}
	return ""
}
